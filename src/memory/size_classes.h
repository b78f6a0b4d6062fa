#pragma once
// Says which sizes slabs cut their memory into. It is for the pool and its caches alone; slab.h has what others need.

#include <bit>
#include <cstddef>

#include "src/memory/slab.h"

namespace granary::memory {

// Classes 0…31: multiples of 32 up to 1 KiB. Beyond, each power of two is cut into eight steps.
inline constexpr std::size_t kLinear = 1024 / kSlabGrain;
inline constexpr unsigned kLinearTop = 10;  // log2(1024)
inline constexpr unsigned kStepBits = 3;

constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= 1024) return bytes == 0 ? 0 : (bytes - 1) / kSlabGrain;
  const unsigned power = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes ≤ 2^(power+1)
  const std::size_t step = (bytes - 1 - (std::size_t{1} << power)) >> (power - kStepBits);
  return kLinear + (power - kLinearTop) * (std::size_t{1} << kStepBits) + step;
}

constexpr std::size_t bytes_of(std::size_t index) {
  if (index < kLinear) return (index + 1) * kSlabGrain;
  const std::size_t power = kLinearTop + (index - kLinear) / (std::size_t{1} << kStepBits);
  const std::size_t step = (index - kLinear) % (std::size_t{1} << kStepBits);
  return (std::size_t{1} << power) + ((step + 1) << (power - kStepBits));
}

inline constexpr std::size_t kClasses = class_of(kMaxSlabBytes) + 1;
static_assert(kClasses <= 256, "the class of an extent is one byte");
static_assert(bytes_of(class_of(1024)) == 1024 && bytes_of(class_of(1025)) == 1152);
static_assert(bytes_of(class_of(kMaxSlabBytes)) >= kMaxSlabBytes);

constexpr std::size_t list_of(SlabKind kind, std::size_t class_index) {
  return static_cast<std::size_t>(kind) * kClasses + class_index;
}

}  // namespace granary::memory
