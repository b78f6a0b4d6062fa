#include "src/db/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "src/memory/slab.h"

namespace granary::db {

std::uint64_t available_memory_bytes() {
  std::uint64_t bytes =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::uint64_t limit = 0;
    if (file >> limit && limit != 0) bytes = std::min(bytes, limit);  // "max" does not parse: no limit
  }
  return bytes;
}

std::uint64_t reserve_of_loading(std::uint64_t limit_bytes) {
  constexpr std::uint64_t kShare = 256, kMostOfSmallLimit = 128;
  return std::max(limit_bytes / kShare,
                  std::min<std::uint64_t>(2 * memory::SlabPool::kExtentBytes, limit_bytes / kMostOfSmallLimit));
}

}  // namespace granary::db
