#pragma once
// Has the only way to touch memory that other threads, or other nodes, may be writing.
//
// Optimistic readers copy records while writers change them and check a version word afterwards. Each 8-byte word moves
// through std::atomic_ref with acquire loads and release stores. So the copy is made of whole words, no load passes the
// version check after it, and ThreadSanitizer sees no race. On x86-64 these are plain MOVs. All memory given is 8-byte
// aligned and padded to whole words.
//
// Runs of words move two at a time. C++ has no vector loads and stores of atomics. On x86-64 each aligned 8-byte half
// of such an access is whole, loads stay in program order, and so do stores. Only the compiler could change the order:
// acquire_loads() keeps it from moving later loads up, and a release store after the run from moving the run down.
// ThreadSanitizer, which cannot see any of this, gets single words. So does a simulated HTM, which has to see each word
// (line_table.h).

#include <emmintrin.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/line_table.h"
#include "src/base/sanitizers.h"

namespace granary::base {

inline constexpr std::size_t kWord = sizeof(std::uint64_t);

inline constexpr std::size_t round_up_to_word(std::size_t bytes) { return (bytes + kWord - 1) & ~(kWord - 1); }

inline std::uint64_t load_word(const std::uint64_t* word, std::memory_order order = std::memory_order_acquire) {
  lines::before_load(word);
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(order);
}

inline void store_word(std::uint64_t* word, std::uint64_t value) {
  const lines::Store seen(word);
  std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_release);
}

/// Stores one byte of a word of which others may store other bytes at the same time. Whoever looks at it loads the
/// word.
inline void store_byte(std::uint8_t* byte, std::uint8_t value) {
  const lines::Store seen(byte);
  std::atomic_ref<std::uint8_t>(*byte).store(value, std::memory_order_release);
}

/// Stores `desired` if the word is `expected`, and returns whether it did. Acquire and release if it did (a full fence
/// on x86-64), relaxed if not.
inline bool compare_exchange_word(std::uint64_t* word, std::uint64_t expected, std::uint64_t desired) {
  const lines::Store seen(word);
  return std::atomic_ref<std::uint64_t>(*word).compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                                       std::memory_order_relaxed);
}

/// Sets bits, and returns the word as it was. Sequentially consistent, so that compilers keep the full fence on x86-64
/// even where no bit is set and the result is not used (tictoc::RegionSteps::plan).
inline std::uint64_t fetch_or_word(std::uint64_t* word, std::uint64_t bits) {
  const lines::Store seen(word);
  return std::atomic_ref<std::uint64_t>(*word).fetch_or(bits, std::memory_order_seq_cst);
}

/// Keeps only these bits. Release (a full fence on x86-64).
inline void fetch_and_word(std::uint64_t* word, std::uint64_t bits) {
  const lines::Store seen(word);
  std::atomic_ref<std::uint64_t>(*word).fetch_and(bits, std::memory_order_acq_rel);
}

/// Loads two neighbouring words. acquire_loads() must follow before anything that depends on their order. Not for use
/// under ThreadSanitizer.
inline __m128i load_two_words(const void* words) { return _mm_loadu_si128(static_cast<const __m128i*>(words)); }
/// Stores two neighbouring words. A release store must follow. Not for use under ThreadSanitizer.
inline void store_two_words(void* words, __m128i both) { _mm_storeu_si128(static_cast<__m128i*>(words), both); }
/// Makes the loads so far acquire loads. It takes no instruction.
inline void acquire_loads() { std::atomic_thread_fence(std::memory_order_acquire); }

/// Keeps the loads and stores so far before those that follow. On x86-64 it takes no instruction. Not for use under
/// ThreadSanitizer.
inline void keep_order() { std::atomic_thread_fence(std::memory_order_acq_rel); }

/// Whether runs of words move two at a time, because no observer has to see single ones.
inline bool in_twos() { return !kThreadSanitizer && !lines::watched(); }

/// Copies the first `bytes` < 8 of a word, without a call.
inline void copy_tail(char* to, std::uint64_t word, std::size_t bytes) {
  for (std::size_t part = kWord / 2; part != 0; part /= 2) {
    if ((bytes & part) == 0) continue;
    for (std::size_t i = 0; i < part; ++i) to[i] = static_cast<char>(word >> (8 * i));
    to += part;
    word >>= 8 * part;
  }
}

/// Copies `bytes` from shared words to private memory of at least that size.
inline void copy_from_shared(void* to, const std::uint64_t* from, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  if (in_twos()) {
    for (; bytes >= 2 * kWord; bytes -= 2 * kWord, out += 2 * kWord, from += 2)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), load_two_words(from));
    acquire_loads();
  }
  for (; bytes >= kWord; bytes -= kWord, out += kWord, ++from) {
    const std::uint64_t word = load_word(from);
    std::memcpy(out, &word, kWord);
  }
  if (bytes != 0) copy_tail(out, load_word(from), bytes);
}

/// Copies `bytes` of private memory into shared words. The tail of the last word becomes zero. The caller holds the
/// lock of these bytes and publishes by a release store afterwards, which on x86-64 no earlier store passes.
inline void copy_to_shared(std::uint64_t* to, const void* from, std::size_t bytes) {
  const auto* in = static_cast<const char*>(from);
  if (in_twos()) {
    for (; bytes >= 2 * kWord; bytes -= 2 * kWord, in += 2 * kWord, to += 2)
      store_two_words(to, _mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
  }
  for (; bytes >= kWord; bytes -= kWord, in += kWord, ++to) {
    std::uint64_t word;
    std::memcpy(&word, in, kWord);
    store_word(to, word);
  }
  if (bytes != 0) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; ++i) word |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
    store_word(to, word);
  }
}

}  // namespace granary::base
