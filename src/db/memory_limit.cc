#include "src/db/memory_limit.h"

#include <unistd.h>

#include <algorithm>

#include "src/base/group_memory.h"
#include "src/memory/slab.h"

namespace granary::db {

std::uint64_t available_memory_bytes() {
  const auto machine =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  return std::min(machine, base::group_memory().limit_bytes);
}

std::uint64_t scan_memory_bytes() {
  constexpr std::uint64_t kShare = 8;
  return available_memory_bytes() / kShare;
}

std::uint64_t reserve_of_loading(std::uint64_t limit_bytes) {
  constexpr std::uint64_t kShare = 256, kMostOfSmallLimit = 128;
  return std::max(limit_bytes / kShare,
                  std::min<std::uint64_t>(2 * memory::SlabPool::kExtentBytes, limit_bytes / kMostOfSmallLimit));
}

}  // namespace granary::db
