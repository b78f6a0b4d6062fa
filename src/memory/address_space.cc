#include "src/memory/address_space.h"

#include <sys/mman.h>

namespace granary::memory {

char* reserve_aligned(std::uint64_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const raw = static_cast<char*>(mapped);
  const std::uint64_t behind = reinterpret_cast<std::uintptr_t>(raw) % kHugePage;
  char* const aligned = behind == 0 ? raw : raw + (kHugePage - behind);
  if (aligned != raw) ::munmap(raw, static_cast<std::size_t>(aligned - raw));
  if (const auto tail = static_cast<std::size_t>(raw + kHugePage - aligned); tail != 0) ::munmap(aligned + bytes, tail);
  return aligned;
}

}  // namespace granary::memory
