#pragma once
// How a key is cut into 8-byte slices, one per layer of the trie, and how entries of one layer are ordered.
//
// A slice is held as a host-order integer (first byte most significant, zero padded), so comparing integers is
// memcmp. Padding loses the length, so a position in a layer is the pair (slice, code): code 0…8 is the number
// of bytes of a key that ends in this slice, 9 stands for all keys that go on. Pairs order as the keys do.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace granary::kvstore::ordered {

inline constexpr std::size_t kSliceBytes = 8;

using KeyCode = std::uint8_t;
/// The key goes on; it is the only one with this slice that does, and its rest lies in a Suffix block.
inline constexpr KeyCode kSuffixed = 9;
/// Keys with this slice that go on are in the layer below; the entry's word is a node of that layer.
inline constexpr KeyCode kLayer = 10;
/// Beyond every key; only in the upper bound of a layer's last leaf.
inline constexpr KeyCode kBeyond = 15;

/// A place in the order of one layer. kLayer never occurs here: it orders as kSuffixed.
struct Position {
  std::uint64_t slice = 0;
  KeyCode code = 0;

  bool operator==(const Position&) const = default;
};

inline bool operator<(const Position& a, const Position& b) {
  return a.slice < b.slice || (a.slice == b.slice && a.code < b.code);
}
inline bool operator<=(const Position& a, const Position& b) { return !(b < a); }

inline constexpr Position kFirstPosition{0, 0};
inline constexpr Position kLastPosition{~std::uint64_t{0}, kSuffixed};
inline constexpr Position kBeyondPosition{~std::uint64_t{0}, kBeyond};

inline KeyCode order_code(KeyCode code) { return code == kLayer ? kSuffixed : code; }

inline std::uint64_t load_slice(std::string_view bytes) {
  std::uint64_t word = 0;
  if (bytes.size() >= kSliceBytes) {
    std::memcpy(&word, bytes.data(), kSliceBytes);
  } else if (!bytes.empty()) {
    std::memcpy(&word, bytes.data(), bytes.size());
  }
  return __builtin_bswap64(word);
}

/// Writes the slice's 8 bytes, first byte first.
inline void store_slice(char* to, std::uint64_t slice) {
  const std::uint64_t word = __builtin_bswap64(slice);
  std::memcpy(to, &word, kSliceBytes);
}

/// Writes the key that a position stands for, and returns it. If the position stands for longer keys, these begin with
/// it. `bytes`: kSliceBytes.
inline std::string_view key_at(Position at, char* bytes) {
  store_slice(bytes, at.slice);
  return {bytes, at.code < kSliceBytes ? std::size_t{at.code} : kSliceBytes};
}

/// What is left of a key in some layer.
struct LayerKey {
  LayerKey() = default;
  explicit LayerKey(std::string_view rest)
      : bytes(rest),
        at{load_slice(rest), rest.size() > kSliceBytes ? kSuffixed : static_cast<KeyCode>(rest.size())} {}

  bool goes_on() const { return at.code == kSuffixed; }
  /// Only if it goes on.
  std::string_view suffix() const { return bytes.substr(kSliceBytes); }
  LayerKey below() const { return LayerKey(suffix()); }

  std::string_view bytes;
  Position at;
};

}  // namespace granary::kvstore::ordered
