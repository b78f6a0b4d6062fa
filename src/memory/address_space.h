#pragma once
// Reserves address space that huge pages can back.

#include <cstdint>

namespace granary::memory {

inline constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

/// Reserves so many bytes, whole pages of 4 KiB, of zeroed address space that begins at a multiple of kHugePage. It
/// takes memory page by page when it is written to. Returns nullptr if the kernel refuses it, with the reason in errno.
/// The caller gives it back by munmap().
char* reserve_aligned(std::uint64_t bytes);

}  // namespace granary::memory
