#pragma once
// Has the size of a cache line, and the instructions by which the engine prefetches lines and waits.

#include <cstddef>
#include <cstdint>

namespace granary::base {

inline constexpr std::size_t kCacheLine = 64;

/// Brings the line that holds `address` closer. Never faults.
inline void prefetch(const void* address) { __builtin_prefetch(address, 0, 3); }

/// Brings the lines of [address, address + bytes) closer.
inline void prefetch_range(const void* address, std::size_t bytes) {
  const auto* at = static_cast<const char*>(address);
  for (std::size_t offset = 0; offset < bytes; offset += kCacheLine) prefetch(at + offset);
}

/// Brings lines that are about to be written closer, for this core alone.
inline void prefetch_for_write(const void* address, std::size_t bytes) {
  const auto* at = static_cast<const char*>(address);
  for (std::size_t offset = 0; offset < bytes; offset += kCacheLine) __builtin_prefetch(at + offset, 1, 3);
}

/// Tells the processor that this is a spin loop.
inline void spin_pause() { __builtin_ia32_pause(); }

}  // namespace granary::base
