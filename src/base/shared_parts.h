#pragma once
// Copies a part of the bytes in shared words, from any byte on. As in shared_words.h every word moves whole, so the
// part's first and last word are loaded, or merged and stored, with the bytes beside it.

#include <algorithm>

#include "src/base/shared_words.h"

namespace granary::base {

/// Copies `bytes` to private memory. They begin `skip` bytes after the start of the first word.
inline void copy_part_from_shared(void* to, const std::uint64_t* from, std::size_t skip, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  from += skip / kWord;
  if (const std::size_t within = skip % kWord; within != 0 && bytes != 0) {
    const std::size_t head = std::min(kWord - within, bytes);
    copy_tail(out, load_word(from++) >> (8 * within), head);
    out += head;
    bytes -= head;
  }
  copy_from_shared(out, from, bytes);
}

/// Stores `count` < 8 bytes into a word, `within` bytes after its beginning, and leaves the others as they are.
inline void merge_into_word(std::uint64_t* to, std::size_t within, const char* from, std::size_t count) {
  std::uint64_t word = load_word(to, std::memory_order_relaxed);
  std::memcpy(reinterpret_cast<char*>(&word) + within, from, count);
  store_word(to, word);
}

/// Copies `bytes` of private memory over as many of the shared words, from `skip` bytes after the start of the first
/// word on. The caller holds the lock of these bytes, so no other thread stores to the words at the edges meanwhile,
/// and publishes by a release store afterwards.
inline void copy_part_to_shared(std::uint64_t* to, std::size_t skip, const void* from, std::size_t bytes) {
  const auto* in = static_cast<const char*>(from);
  to += skip / kWord;
  if (const std::size_t within = skip % kWord; within != 0 && bytes != 0) {
    const std::size_t head = std::min(kWord - within, bytes);
    merge_into_word(to++, within, in, head);
    in += head;
    bytes -= head;
  }
  const std::size_t rest = bytes % kWord;
  copy_to_shared(to, in, bytes - rest);
  if (rest != 0) merge_into_word(to + bytes / kWord, 0, in + (bytes - rest), rest);
}

}  // namespace granary::base
