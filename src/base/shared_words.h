#pragma once
// The only way to touch memory that other threads (later: other nodes) may be writing.
//
// Optimistic readers copy records while writers change them and check a version word afterwards. Each
// 8-byte word moves through std::atomic_ref with acquire loads and release stores, so the copy is made
// of whole words, no load passes the version check behind it, and ThreadSanitizer sees no race. On
// x86-64 these are plain MOVs. Memory handed in is 8-byte aligned and padded to whole words.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace granary::base {

inline constexpr std::size_t kWord = sizeof(std::uint64_t);

inline constexpr std::size_t round_up_to_word(std::size_t bytes) { return (bytes + kWord - 1) & ~(kWord - 1); }

inline std::uint64_t load_word(const std::uint64_t* word) {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

inline void store_word(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_release);
}

/// Copies `bytes` from shared words to private memory of at least that size, ascending.
inline void copy_from_shared(void* to, const std::uint64_t* from, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  for (; bytes >= kWord; bytes -= kWord, out += kWord, ++from) {
    const std::uint64_t word = load_word(from);
    std::memcpy(out, &word, kWord);
  }
  if (bytes != 0) {
    const std::uint64_t word = load_word(from);
    std::memcpy(out, &word, bytes);
  }
}

/// Copies `bytes` of private memory into shared words, ascending; the tail of the last word becomes zero.
inline void copy_to_shared(std::uint64_t* to, const void* from, std::size_t bytes) {
  const auto* in = static_cast<const char*>(from);
  for (; bytes >= kWord; bytes -= kWord, in += kWord, ++to) {
    std::uint64_t word;
    std::memcpy(&word, in, kWord);
    store_word(to, word);
  }
  if (bytes != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, in, bytes);
    store_word(to, word);
  }
}

}  // namespace granary::base
