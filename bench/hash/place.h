#pragma once
// Places keys for the tables that are compared: one of several independent functions chooses a slot.

#include <cstdint>

#include "src/base/random.h"

namespace granary::bench::hash {

/// The value of a slot without a key, which is no key.
inline constexpr std::uint64_t kFree = ~std::uint64_t{0};

constexpr std::uint64_t place_of(std::uint64_t key, std::uint64_t function, std::uint64_t slots) {
  std::uint64_t state = key ^ ((function + 1) * 0xd1342543de82ef95u);
  base::splitmix64(state);
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(base::splitmix64(state)) * slots) >> 64);
}

}  // namespace granary::bench::hash
