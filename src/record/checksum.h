#pragma once
// Computes the checksum of a shared record's version, by which a reader sees that what it READ is of one version (I4).
//
// It goes over the key, the value, the TID word without its lock bit, the size and the incarnation. It is in memory
// only, and nodes whose programs compute it in different ways do not connect (src/node/cluster_protocol.h).
//
// A chain of CRC-32C takes three cycles for each word, however many instructions the processor could do meanwhile. So
// the words of the value are shared out among four chains in turn, which the processor works at together. Their ends
// are added after they have been multiplied with different odd constants. An XOR of them, or a CRC, would not do: CRCs
// are linear, so two equal changes, each in a word of another chain, could cancel out. Counters that are raised
// together are such changes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "src/base/crc32c.h"
#include "src/base/shared_words.h"
#include "src/record/tid.h"

namespace granary::record {

/// Computes the first step of the checksum, over key and value. It takes its time, and can be done before an HTM region
/// or before the TID is known.
inline std::uint32_t checksum_of_content(std::string_view key, std::string_view value) {
  const char* at = value.data();
  std::size_t left = value.size();
  const auto next = [&] {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    at += sizeof word;
    left -= sizeof word;
    return word;
  };
  std::uint64_t a = base::crc32c(0, key.data(), key.size()), b = 0, c = 0, d = 0;
  while (left >= 4 * base::kWord) {
    a = _mm_crc32_u64(a, next());
    b = _mm_crc32_u64(b, next());
    c = _mm_crc32_u64(c, next());
    d = _mm_crc32_u64(d, next());
  }
  if (left >= base::kWord) a = _mm_crc32_u64(a, next());
  if (left >= base::kWord) b = _mm_crc32_u64(b, next());
  if (left >= base::kWord) c = _mm_crc32_u64(c, next());
  d = base::crc32c(static_cast<std::uint32_t>(d), at, left);
  const std::uint64_t sum =
      a * 0x9E3779B97F4A7C15 + b * 0xBF58476D1CE4E5B9 + c * 0x94D049BB133111EB + d * 0xD6E8FEB86659FD93;
  return static_cast<std::uint32_t>(sum >> 32);
}

/// Computes the second step of the checksum, over the TID word, the size and the incarnation.
inline std::uint32_t checksum_with_header(std::uint32_t content, TidWord tid, std::uint64_t size_word) {
  const std::uint64_t words[] = {tid & ~kLocked, size_word};
  return content ^ base::crc32c(0, words, sizeof words);
}

}  // namespace granary::record
