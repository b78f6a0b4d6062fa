#pragma once
// Finds out how much memory the process's control groups leave it: its own group and all groups around that, by the
// files of version 2 and of version 1. A service of systemd with MemoryMax= has its limit in its own group, a container
// often at the root of what it sees.

#include <cstdint>
#include <limits>
#include <string>

namespace granary::base {

/// Holds what the groups allow. Both numbers are the greatest ones where no group has a limit.
struct GroupMemory {
  std::uint64_t limit_bytes = std::numeric_limits<std::uint64_t>::max();  ///< the least limit
  std::uint64_t left_bytes = std::numeric_limits<std::uint64_t>::max();   ///< the least that a limit leaves unused
};

/// Returns what the groups allow now. `root` stands before all paths, for tests. A file that cannot be read counts as
/// no limit. Any thread may call it.
GroupMemory group_memory(const std::string& root = {});

}  // namespace granary::base
