#include "src/db/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

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

}  // namespace granary::db
