#pragma once
// Who may hold locks of two-phase locking, and who waits for whom.
//
// An owner is one of 39 bits, which a transaction's context takes for its first lock and keeps for those that follow. So a record's lock
// names its holders (record_lock.h), and who waits can say for whom, in one word.

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "src/base/cache_line.h"

namespace granary::cc::two_pl {

/// A set of owners, or one: bit i is owner i.
using OwnerSet = std::uint64_t;

inline constexpr std::uint32_t kOwners = 39;

class Owners {
 public:
  /// Returns an owner that nobody else is; 0 if all are taken. Thread-safe.
  OwnerSet take() {
    OwnerSet taken = taken_.load(std::memory_order_relaxed);
    for (;;) {
      const OwnerSet free = ~taken & kAll;
      if (free == 0) return 0;
      const OwnerSet one = free & (~free + 1);
      // Acquire: what the owner before has waited for is over.
      if (taken_.compare_exchange_weak(taken, taken | one, std::memory_order_acq_rel, std::memory_order_relaxed))
        return one;
    }
  }
  /// Gives back an owner that holds nothing.
  void give_back(OwnerSet owner) { taken_.fetch_and(~owner, std::memory_order_acq_rel); }

  /// Says for whom the owner waits, and tells whether one of these waits, over however many others, for the owner itself.
  ///
  /// Each word is written by its owner and read by all, in one total order (seq_cst), and its owner looks at the others behind its own
  /// store, again and again while it waits. So of those who close a circle the last one to store sees it. A word that has become old
  /// meanwhile can only show a circle that has just been broken; then somebody aborts who need not have.
  bool waits_in_circle(OwnerSet owner, OwnerSet holders) {
    word_of(owner).store(holders, std::memory_order_seq_cst);
    OwnerSet seen = 0, next = holders;
    while (next != 0) {
      const OwnerSet one = next & (~next + 1);
      seen |= one;
      const OwnerSet its = word_of(one).load(std::memory_order_seq_cst);
      if ((its & owner) != 0) return true;
      next = (next | its) & ~seen;
    }
    return false;
  }
  void waits_no_more(OwnerSet owner) { word_of(owner).store(0, std::memory_order_release); }

 private:
  static constexpr OwnerSet kAll = (OwnerSet{1} << kOwners) - 1;
  struct alignas(base::kCacheLine) Word {
    std::atomic<OwnerSet> waits_for{0};
  };
  std::atomic<OwnerSet>& word_of(OwnerSet owner) {
    return words_[static_cast<std::size_t>(std::countr_zero(owner))].waits_for;
  }

  alignas(base::kCacheLine) std::atomic<OwnerSet> taken_{0};
  std::array<Word, kOwners> words_;
};

}  // namespace granary::cc::two_pl
