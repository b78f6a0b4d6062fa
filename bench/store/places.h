#pragma once
// Remembers where a transaction has found rows, so that reading and then writing one searches the index once, as in
// Granary's engine.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace granary::bench::store {

/// A key of at most eight bytes, and which index it is in. Keys of one index have one length, so their padded bytes
/// tell them apart.
struct PlaceKey {
  PlaceKey() = default;
  PlaceKey(const void* in, std::string_view key) : index(in) { std::memcpy(&word, key.data(), key.size()); }
  bool operator==(const PlaceKey&) const = default;

  const void* index = nullptr;
  std::uint64_t word = 0;
};

template <typename Found>
class Places {
 public:
  /// Returns what was remembered of the key since the last forget_all(), or nullptr.
  Found* find(const PlaceKey& key) {
    const Place& known = place(key);
    return known.generation == generation_ && known.key == key ? known.found : nullptr;
  }
  void remember(const PlaceKey& key, Found* found) { place(key) = {key, found, generation_}; }
  void forget(const PlaceKey& key) { place(key).generation = 0; }
  /// Forgets all places, which a transaction does when it ends.
  void forget_all() { ++generation_; }

 private:
  struct Place {
    PlaceKey key;
    Found* found = nullptr;
    std::uint64_t generation = 0;
  };
  static constexpr unsigned kBits = 7;

  Place& place(const PlaceKey& key) {
    const std::uint64_t mixed = (key.word ^ reinterpret_cast<std::uintptr_t>(key.index)) * 0x9E3779B97F4A7C15ull;
    return places_[mixed >> (64 - kBits)];
  }

  std::uint64_t generation_ = 1;
  std::array<Place, std::size_t{1} << kBits> places_{};
};

}  // namespace granary::bench::store
