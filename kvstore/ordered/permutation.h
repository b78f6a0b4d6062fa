#pragma once
// Keeps the order of a leaf's entries in one word (Masstree 4.6.2): storing it publishes or hides an entry.
//
//   63                     8 7      4 3     0
//  +------+-- … --+---------+--------+-------+
//  | 15th |       |   2nd   |  1st   | count |   each a slot number of 4 bits
//  +------+-- … --+---------+--------+-------+
//
// The slots after the count are the free ones. The word always names all 15 slots, also in narrower leaves.

#include <bit>
#include <cstdint>

namespace granary::kvstore::ordered {

class Permutation {
 public:
  static constexpr unsigned kMaxWidth = 15;

  constexpr explicit Permutation(std::uint64_t word) : word_(word) {}
  /// Returns the slots in ascending order, of which the first `count` are in use.
  static constexpr Permutation ascending(unsigned count) { return Permutation(0xedcba98765432100u | count); }

  constexpr std::uint64_t word() const { return word_; }
  constexpr unsigned count() const { return static_cast<unsigned>(word_ & 15); }
  constexpr unsigned slot(unsigned rank) const { return static_cast<unsigned>(word_ >> shift(rank)) & 15; }
  /// Returns the slot that the next insert takes.
  constexpr unsigned free_slot() const { return slot(count()); }

  /// Returns the place of a slot in the order. It is ≥ count() if the slot is free.
  constexpr unsigned rank_of(unsigned slot_number) const {
    // This finds the lowest zero nibble of the difference, exactly: borrows only travel upwards from a zero.
    const std::uint64_t difference = (word_ >> 4) ^ (kEach * slot_number);
    const std::uint64_t zero = (difference - kEach) & ~difference & (kEach << 3);
    return static_cast<unsigned>(std::countr_zero(zero)) / 4;
  }
  constexpr bool holds(unsigned slot_number) const { return rank_of(slot_number) < count(); }

  /// Moves the free slot to `rank`. The slots from there on move up.
  constexpr Permutation with_insert(unsigned rank) const {
    const std::uint64_t taken = free_slot();
    const std::uint64_t moving = word_ & between(rank, count());
    const std::uint64_t rest = word_ & ~between(rank, count() + 1);
    return Permutation((rest | (moving << 4) | (taken << shift(rank))) + 1);
  }
  /// Makes the slot at `rank` the first free one. The slots after it move down.
  constexpr Permutation with_remove(unsigned rank) const {
    const std::uint64_t freed = slot(rank);
    const std::uint64_t moving = word_ & between(rank + 1, count());
    const std::uint64_t rest = word_ & ~between(rank, count());
    return Permutation((rest | (moving >> 4) | (freed << shift(count() - 1))) - 1);
  }
  /// Keeps only the first `count` entries.
  constexpr Permutation with_count(unsigned count) const { return Permutation((word_ & ~std::uint64_t{15}) | count); }

  /// Whether every slot number occurs once.
  constexpr bool valid() const {
    unsigned seen = 0;
    for (unsigned rank = 0; rank < kMaxWidth; ++rank) seen |= 1u << slot(rank);
    return seen == (1u << kMaxWidth) - 1;
  }

 private:
  static constexpr std::uint64_t kEach = 0x0111111111111111;
  static constexpr unsigned shift(unsigned rank) { return 4 + 4 * rank; }
  /// Returns a mask of the bits of ranks [from, to).
  static constexpr std::uint64_t between(unsigned from, unsigned to) { return below(to) & ~below(from); }
  static constexpr std::uint64_t below(unsigned rank) {
    return rank >= kMaxWidth ? ~std::uint64_t{0} : (std::uint64_t{1} << shift(rank)) - 1;
  }

  std::uint64_t word_;
};

static_assert(Permutation::ascending(3).valid() && Permutation::ascending(15).count() == 15);
static_assert(Permutation::ascending(15).rank_of(14) == 14 && Permutation::ascending(2).rank_of(0) == 0);
static_assert(Permutation::ascending(3).with_insert(1).slot(1) == 3);
static_assert(Permutation::ascending(14).with_insert(0).with_remove(0).word() == Permutation::ascending(14).word());

}  // namespace granary::kvstore::ordered
