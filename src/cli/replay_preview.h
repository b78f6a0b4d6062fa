#pragma once
// What a replay would do, found out by reading everything that it reads and changing nothing.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recovery/replay.h"
#include "src/cli/inspected_database.h"

namespace granary::cli {

struct ReplayPreview {
  std::uint64_t bytes = 0;           ///< of segments and rings
  std::uint64_t transactions = 0;    ///< that would be replayed
  std::uint64_t writes = 0;          ///< of these
  std::uint64_t in_checkpoint = 0;   ///< transactions passed by because the checkpoint holds them
  std::uint64_t dropped = 0;         ///< transactions beyond the cut
  std::vector<std::string> damages;  ///< what replay would refuse: file, offset, cause
};

/// `rings` are those that count; with any, epochs beyond D of the running generation count, too. `salvaged`: what
/// stands behind a fault counts as well. An error is one of reading.
Result<ReplayPreview> preview_replay(const InspectedDatabase& database, const recovery::LogScan& scan,
                                     std::span<const recovery::RingEntries> rings, bool salvaged);

}  // namespace granary::cli
