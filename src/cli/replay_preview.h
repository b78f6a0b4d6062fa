#pragma once
// Finds out what a replay would do, by reading all that a replay reads and changing nothing.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recovery/replay.h"
#include "src/cli/inspected_database.h"

namespace granary::cli {

struct ReplayPreview {
  std::uint64_t bytes = 0;          ///< read from segments and rings
  std::uint64_t transactions = 0;   ///< that would be replayed
  std::uint64_t writes = 0;         ///< the writes of these transactions
  std::uint64_t in_checkpoint = 0;  ///< transactions that are skipped because the checkpoint holds them
  std::uint64_t dropped = 0;        ///< transactions beyond the cut
  /// Faults that replay would refuse: file, offset, cause. Of those with the same cause and table, the first one and
  /// how many more there are.
  std::vector<std::string> damages;
};

/// Previews the replay. `rings` are those that count; if there are any, epochs beyond D of the running generation
/// count, too. If `salvaged`, what follows a fault counts as well. An error means that the log could not be read.
Result<ReplayPreview> preview_replay(const InspectedDatabase& database, const recovery::LogScan& scan,
                                     std::span<const recovery::RingEntries> rings, bool salvaged);

}  // namespace granary::cli
