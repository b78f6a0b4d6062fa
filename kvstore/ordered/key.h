#pragma once
// Cuts a key into 8-byte slices, one for each layer of the trie, and orders the entries of one layer.
//
// A slice is held as an integer in host order (first byte most significant, padded with zeros), so comparing integers
// is memcmp. Padding loses the length. Therefore a position in a layer is the pair (slice, code): code 0…8 is the
// number of bytes of a key that ends in this slice, and 9 stands for all keys that go on. Pairs are ordered as the keys
// are.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace granary::kvstore::ordered {

inline constexpr std::size_t kSliceBytes = 8;

using KeyCode = std::uint8_t;
/// The code of a key that goes on, and is the only one with this slice that does. The rest of it lies in a Suffix
/// block.
inline constexpr KeyCode kSuffixed = 9;
/// The code of keys with this slice that go on in the layer below. The entry's word is a node of that layer.
inline constexpr KeyCode kLayer = 10;
/// The code after every key. It occurs only in the upper bound of a layer's last leaf.
inline constexpr KeyCode kBeyond = 15;

/// A place in the order of one layer. kLayer never occurs here, because it is ordered as kSuffixed.
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

/// Writes the key that a position stands for to `bytes`, which has room for kSliceBytes, and returns it. If the
/// position stands for longer keys, they begin with the returned bytes.
inline std::string_view key_at(Position at, char* bytes) {
  store_slice(bytes, at.slice);
  return {bytes, at.code < kSliceBytes ? std::size_t{at.code} : kSliceBytes};
}

/// The rest of a key in some layer.
struct LayerKey {
  LayerKey() = default;
  explicit LayerKey(std::string_view rest)
      : bytes(rest),
        at{load_slice(rest), rest.size() > kSliceBytes ? kSuffixed : static_cast<KeyCode>(rest.size())} {}

  bool goes_on() const { return at.code == kSuffixed; }
  /// Returns the bytes after this slice. Only for a key that goes on.
  std::string_view suffix() const { return bytes.substr(kSliceBytes); }
  LayerKey below() const { return LayerKey(suffix()); }

  std::string_view bytes;
  Position at;
};

}  // namespace granary::kvstore::ordered
