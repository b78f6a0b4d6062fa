#pragma once
// The rows that fill the memory with garbage.

#include <cstddef>
#include <cstdint>
#include <string>

#include <granary/granary.h>

namespace granary::tests {

inline constexpr std::size_t kValueBytes = 500;

/// The key of a row.
inline std::string key(std::size_t number) {
  return std::string(encode_key(static_cast<std::uint64_t>(number)).view());
}

}  // namespace granary::tests
