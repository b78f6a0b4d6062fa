#pragma once
// The owners of locks of two-phase locking, and which of them waits for which.
//
// An owner is one of 38 bits, which a transaction's context takes for its first lock and keeps for those that follow. So a record's lock
// names its holders (record_lock.h), and who waits can say for whom, in one word.

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "src/base/cache_line.h"

namespace granary::cc::two_pl {

/// A set of owners, or one: bit i is owner i.
using OwnerSet = std::uint64_t;

inline constexpr std::uint32_t kOwners = 38;

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

  /// Notes when the owner's transaction takes its first lock.
  void begins(OwnerSet owner) { began(owner).store(__builtin_ia32_rdtsc(), std::memory_order_relaxed); }

  /// Says for whom the owner waits, and tells whether it must give way: if one of these waits, over however many others, for the owner
  /// itself, and the owner began last of all that are in that circle. So of a circle one gives way, and when it has come again it is the
  /// older one.
  ///
  /// Each word is written by its owner and read by all, in one total order (seq_cst), and its owner looks at the others behind its own
  /// store, again and again while it waits. So of those who close a circle the last one to store sees it. A word that has become old
  /// meanwhile can only show a circle that has just been broken; then somebody aborts who need not have.
  bool gives_way(OwnerSet owner, OwnerSet holders) {
    word_of(owner).store(holders, std::memory_order_seq_cst);
    const OwnerSet reached = reached_from(holders);
    if ((reached & owner) == 0) return false;
    for (OwnerSet others = reached & ~owner; others != 0; others &= others - 1) {
      const OwnerSet one = others & (~others + 1);
      if (is_later(one, owner) && (reached_from(one) & owner) != 0) return false;
    }
    return true;
  }
  void waits_no_more(OwnerSet owner) { word_of(owner).store(0, std::memory_order_release); }

 private:
  static constexpr OwnerSet kAll = (OwnerSet{1} << kOwners) - 1;
  struct alignas(base::kCacheLine) Word {
    std::atomic<OwnerSet> waits_for{0};
    std::atomic<std::uint64_t> began{0};  // by the time stamp counter: an order that is fair is enough, so relaxed
  };
  /// These, and all that they wait for, over however many others.
  OwnerSet reached_from(OwnerSet owners) {
    OwnerSet reached = 0;
    for (OwnerSet next = owners; next != 0; next &= ~reached) {
      const OwnerSet one = next & (~next + 1);
      reached |= one;
      next |= word_of(one).load(std::memory_order_seq_cst);
    }
    return reached;
  }
  bool is_later(OwnerSet one, OwnerSet other) {
    const std::uint64_t its = began(one).load(std::memory_order_relaxed);
    const std::uint64_t others = began(other).load(std::memory_order_relaxed);
    return its > others || (its == others && one > other);
  }
  std::atomic<std::uint64_t>& began(OwnerSet owner) {
    return words_[static_cast<std::size_t>(std::countr_zero(owner))].began;
  }
  std::atomic<OwnerSet>& word_of(OwnerSet owner) {
    return words_[static_cast<std::size_t>(std::countr_zero(owner))].waits_for;
  }

  alignas(base::kCacheLine) std::atomic<OwnerSet> taken_{0};
  std::array<Word, kOwners> words_;
};

}  // namespace granary::cc::two_pl
