#pragma once
// Joins the segments of one logger in one generation into a row, and finds where the row is broken.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <granary/status.h>

#include "recovery/log_scan.h"
#include "recovery/manifest.h"
#include "src/epoch/epoch.h"

namespace granary::recovery {

/// A place where the bytes of a logger's log are not those that were written.
struct Break {
  std::string path;
  std::uint64_t offset = 0, bytes = 0;
  std::string cause;
  epoch::Epoch before = 0;            ///< everything up to this epoch stands before it
  std::optional<epoch::Epoch> after;  ///< the `complete` of the next marker
  bool may_be_tail = false;           ///< in the last segment, so it may never have been synced
  bool in_the_middle = false;         ///< valid entries follow in the same segment
  bool behind_last = false;           ///< a segment that the last one names is missing
};

/// The segments of one logger in one generation.
struct Chain {
  std::uint32_t logger = 0;
  std::vector<LogSegment*> segments;
  std::vector<Break> breaks;
  epoch::Epoch complete = 0;      ///< up to the first break, by markers or by the checkpoint
  epoch::Epoch complete_any = 0;  ///< by the last marker
  std::string last_path;
};

/// Returns the chain of the logger's segments, which are among the scanned ones, with every place where files are
/// missing or their contents are not as written.
Result<Chain> chain_of(const Manifest& manifest, const Generation& generation, std::uint32_t logger,
                       std::span<LogSegment> segments);

/// Returns the place up to which a log can be read, without regard to what counts.
ReadableEnd readable_end(const Generation& generation, const Chain& chain);

}  // namespace granary::recovery
