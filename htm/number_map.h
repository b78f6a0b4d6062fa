#pragma once
// Maps 64-bit numbers to indexes, for one thread. A region asks it at each access, and begins anew with it each time.
//
// It is a hash table with open addressing. A slot belongs to the current round or counts as empty, so clear() does not
// touch the slots.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace granary::htm {

class NumberMap {
 public:
  void clear() {
    ++round_;
    size_ = 0;
  }

  /// Returns the index of `key`; nullptr if it has none.
  std::uint32_t* find(std::uint64_t key) {
    if (size_ == 0) return nullptr;
    Slot& slot = slot_of(key);
    return slot.round == round_ ? &slot.index : nullptr;
  }

  /// Gives `key` this index, unless it has one. Returns the index that it has now; the reference is valid until the
  /// next insert().
  std::uint32_t& insert(std::uint64_t key, std::uint32_t index) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    if (slot.round != round_) {
      slot = {key, round_, index};
      ++size_;
    }
    return slot.index;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint64_t round = 0;  ///< no round has this number
    std::uint32_t index = 0;
  };

  /// Returns the key's slot, or the empty one where it would be. At least half of the slots are empty, so the search
  /// ends.
  Slot& slot_of(std::uint64_t key) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // spreads neighbours over the high bits
    const auto shift = static_cast<unsigned>(64 - std::countr_zero(slots_.size()));
    for (std::size_t at = (key * kGoldenRatio) >> shift;; at = (at + 1) % slots_.size()) {
      Slot& slot = slots_[at];
      if (slot.round != round_ || slot.key == key) return slot;
    }
  }

  void grow() {
    const std::vector<Slot> before = std::move(slots_);
    slots_ = std::vector<Slot>(std::max(kFewest, 2 * before.size()));
    for (const Slot& slot : before) {
      if (slot.round == round_) slot_of(slot.key) = slot;
    }
  }

  static constexpr std::size_t kFewest = 64;
  std::vector<Slot> slots_;  ///< none until the first insert(), then a power of two
  std::uint64_t round_ = 1;
  std::size_t size_ = 0;
};

}  // namespace granary::htm
