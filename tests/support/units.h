#pragma once
// Units of sizes in bytes.

#include <cstdint>

namespace granary::tests {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;

}  // namespace granary::tests
