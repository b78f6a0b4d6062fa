#pragma once
// Computes CRC-32C (Castagnoli) by the processor's own instruction (SSE 4.2, which every machine of ours has).

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace granary::base {

/// Extends `crc` (0 to begin) over more bytes: crc32c(crc32c(0, a), b) is the CRC of a followed by b.
inline std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t state = ~crc;
  for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  if ((bytes & 4) != 0) {
    std::uint32_t half;
    std::memcpy(&half, at, sizeof half);
    narrow = _mm_crc32_u32(narrow, half);
    at += sizeof half;
  }
  for (std::size_t left = bytes % 4; left != 0; --left, ++at) narrow = _mm_crc32_u8(narrow, *at);
  return ~narrow;
}

}  // namespace granary::base
