#pragma once
// What a log directory says, decoded from the format's description alone, so that a mistake that the engine's writer
// and reader share shows. Slow, and strict where recovery may be: it tells everything that should not be.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/epoch/epoch.h"
#include "src/log/format.h"

namespace granary::tests {

struct DecodedTransaction {
  std::uint64_t tid = 0;
  std::string body;
};

struct DecodedLogger {
  epoch::Epoch complete = 0;           ///< of the last marker
  epoch::Epoch durable_elsewhere = 0;  ///< greatest that a marker says of all loggers
  std::uint64_t markers = 0;
  std::uint64_t packed = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t segments = 0;
  std::optional<std::uint64_t> continued_in;  ///< of the last segment
  std::optional<epoch::Epoch> begins_with;    ///< the first marker of the last segment
  std::vector<DecodedTransaction> transactions;
};

struct DecodedLog {
  epoch::Epoch durable = 0;  ///< least of the loggers' `complete`
  std::vector<DecodedLogger> loggers;
  std::vector<std::string> mistakes;  ///< what no crash explains

  /// Bodies by TID of all that counts: epoch ≤ durable.
  std::map<std::uint64_t, std::string> replayed() const;
};

/// The generation's log in `directory`; logger l has at least `first` (what was durable before the generation).
DecodedLog decode_log(base::FileSystem& files, const std::string& directory, const log::DatabaseId& database,
                      std::uint64_t generation, std::uint32_t loggers, epoch::Epoch first);

}  // namespace granary::tests
