#pragma once
// FaRM's hopscotch hashing: a key lies in one of the eight slots from its home on, its neighbourhood.

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/hash/place.h"

namespace granary::bench::hash {

class Hopscotch {
 public:
  static constexpr std::uint64_t kNeighbourhood = 8;

  Hopscotch(std::uint64_t slots, std::uint64_t seed) : seed_(seed), slots_(slots, kFree) {}

  /// Inserts a key, which must not be present. Returns false if the key gets no slot: it goes to the chain of its home,
  /// which is not stored here.
  bool insert(std::uint64_t key);
  /// Whether the key is in a slot of its neighbourhood.
  bool in_neighbourhood(std::uint64_t key) const;
  /// Returns the key in each slot, or kFree. The neighbourhoods of the last slots go on with the first ones.
  const std::vector<std::uint64_t>& slots() const { return slots_; }

  static constexpr std::uint64_t home(std::uint64_t key, std::uint64_t seed, std::uint64_t slots) {
    return place_of(key, seed, slots);
  }

 private:
  std::uint64_t home(std::uint64_t key) const { return home(key, seed_, slots_.size()); }
  std::uint64_t distance(std::uint64_t from, std::uint64_t to) const {
    return (to + slots_.size() - from) % slots_.size();
  }
  std::optional<std::uint64_t> free_slot_from(std::uint64_t start) const;
  std::optional<std::uint64_t> hop(std::uint64_t free);

  const std::uint64_t seed_;
  std::vector<std::uint64_t> slots_;
};

}  // namespace granary::bench::hash
