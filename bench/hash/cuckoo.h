#pragma once
// Pilaf's cuckoo hashing: three hash functions, one slot a bucket, looked at in order.

#include <cstdint>
#include <vector>

#include "bench/hash/place.h"

namespace granary::bench::hash {

class Cuckoo {
 public:
  static constexpr unsigned kFunctions = 3;

  Cuckoo(std::uint64_t slots, std::uint64_t seed) : seed_(seed), slots_(slots, kFree), random_(seed) {}

  /// Inserts a key, which must not be present. Returns false if the table found no place; then a key that was in it may
  /// have lost its own.
  bool insert(std::uint64_t key);
  /// Returns how many slots are looked at until the present key is found.
  unsigned looks(std::uint64_t key) const;
  /// Returns the key in each slot, or kFree.
  const std::vector<std::uint64_t>& slots() const { return slots_; }

  /// Returns the slot in which a key is looked for at the `function`th look.
  static constexpr std::uint64_t place(std::uint64_t key, unsigned function, std::uint64_t seed, std::uint64_t slots) {
    return place_of(key, seed * kFunctions + function, slots);
  }

 private:
  std::uint64_t place(std::uint64_t key, unsigned function) const { return place(key, function, seed_, slots_.size()); }

  const std::uint64_t seed_;
  std::vector<std::uint64_t> slots_;
  base::Random random_;
};

}  // namespace granary::bench::hash
