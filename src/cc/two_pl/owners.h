#pragma once
// Keeps the owners of locks under two-phase locking, and which of them waits for which (the waits-for graph of
// DL_DETECT; Yu et al., VLDB 2014).
//
// An owner is one of 38 bits. A transaction's context takes one with its first lock and keeps it for its later
// transactions. So a record's lock can name all of its holders (record_lock.h), and an owner can say in one word for
// whom it waits.

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "src/base/cache_line.h"

namespace granary::cc::two_pl {

/// A set of owners, often of one: bit i is owner i.
using OwnerSet = std::uint64_t;

inline constexpr std::uint32_t kOwners = 38;

class Owners {
 public:
  /// Takes an owner that no other context has. Returns 0 if all are taken. Thread-safe.
  OwnerSet take() {
    OwnerSet taken = taken_.load(std::memory_order_relaxed);
    for (;;) {
      const OwnerSet free = ~taken & kAll;
      if (free == 0) return 0;
      const OwnerSet one = free & (~free + 1);
      // Acquire: pairs with give_back(), so what the former user of this owner has stored in its word comes before.
      if (taken_.compare_exchange_weak(taken, taken | one, std::memory_order_acq_rel, std::memory_order_relaxed))
        return one;
    }
  }
  /// Returns whether no owner is left to take, as far as this thread sees.
  bool all_taken() const { return taken_.load(std::memory_order_relaxed) == kAll; }
  /// Gives back an owner that holds nothing.
  void give_back(OwnerSet owner) { taken_.fetch_and(~owner, std::memory_order_acq_rel); }

  /// Notes that the owner's transaction takes its first lock now.
  void begins(OwnerSet owner) { began(owner).store(__builtin_ia32_rdtsc(), std::memory_order_relaxed); }

  /// Notes that the owner waits for `holders`, and returns whether it must abort. It must if a cycle of waits leads
  /// back to it, and it began last of all owners in that cycle. So one owner of a cycle aborts: the youngest, which has
  /// done the least.
  ///
  /// Order: each word is written by its owner and read by all owners, with seq_cst, so in one total order. An owner
  /// stores its word and then loads those of others, again and again while it waits. So of the owners that close a
  /// cycle the last one to store sees the cycle, and the others see it at their next look. A word may have become old
  /// while others are loaded. Then it can only show a cycle that has just been broken, and an owner aborts without
  /// need.
  bool must_abort(OwnerSet owner, OwnerSet holders) {
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
    std::atomic<std::uint64_t> began{0};  // a time stamp; it only has to be fair, so it is stored and loaded relaxed
  };
  /// Returns these owners and all for which they wait, directly or over others.
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

  // The owners that are taken. Contexts take and give back owners by read-modify-writes (acq_rel, see take()), and read
  // the word relaxed where an old value does no harm.
  alignas(base::kCacheLine) std::atomic<OwnerSet> taken_{0};
  std::array<Word, kOwners> words_;
};

}  // namespace granary::cc::two_pl
