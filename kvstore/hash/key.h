#pragma once
// Turns keys into the 64-bit words of slots, and words into places.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "kvstore/hash/bucket.h"

namespace granary::kvstore::hash {

/// Returns XXH3 with 64 bits and seed 0. It is the same in every build and version, because nodes look for each other's
/// keys by it.
std::uint64_t fingerprint(std::string_view bytes);

/// A key as a slot has it. A key of 8 bytes is its own word. Any other key has its fingerprint as word, and its bytes
/// are compared as well.
struct HashedKey {
  explicit HashedKey(std::string_view key) : bytes(key) {
    if (key.size() == sizeof word) [[likely]] {
      std::memcpy(&word, key.data(), sizeof word);
    } else {
      word = fingerprint(key);
    }
  }
  EntryType type() const { return bytes.size() == sizeof word ? EntryType::kRecord : EntryType::kNamed; }

  std::string_view bytes;
  std::uint64_t word = 0;
};

/// A key that is not 8 bytes long, and the value that it leads to. The entry of its slot points to it. The key never
/// changes; the value changes only while the chain's versions are odd.
struct Name {
  std::uint64_t value;
  std::uint64_t size;
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), size}; }
};

/// Mixes all bits of a word into all bits (the finalizer of splitmix64).
constexpr std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

/// The place where a key belongs: its bucket of the main header, and the line of a bucket that is tried first, so that
/// a hit mostly touches one line. The number of buckets need not be a power of two.
struct Home {
  Home(std::uint64_t word, std::uint64_t buckets) {
    const unsigned __int128 product = static_cast<unsigned __int128>(mix(word)) * buckets;
    bucket = static_cast<std::uint64_t>(product >> 64);
    line = static_cast<unsigned>((static_cast<unsigned __int128>(static_cast<std::uint64_t>(product)) * kLines) >> 64);
  }
  std::uint64_t bucket;
  unsigned line;
};

/// Returns the lines in the order in which a key tries them.
constexpr unsigned line_at(unsigned home, unsigned step) {
  return home + step < kLines ? home + step : home + step - kLines;
}

}  // namespace granary::kvstore::hash
