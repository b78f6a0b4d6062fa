#pragma once
// A record of a local table is a 24-byte header, followed by the value, which is padded to 8 bytes.
//
//   word 0  previous version   owner CPU: the lock holder writes, snapshot readers follow
//   word 1  TID word           CAS by lockers, release store by the lock holder (src/record/tid.h)
//   word 2  size 24 (low bits) | 40 bits of the kind    the lock holder writes; see below who else does
//   word 3… value
//
// The 40 bits are the incarnation of a shared record (shared_record.h), TicToc's rts (rts.h), or the lock of two-phase
// locking (src/cc/two_pl/record_lock.h); else 0. Readers, too, raise an rts and take such a lock, by compare-and-swap.
//
// Slabs hand out multiples of 32 bytes, so a header never straddles a cache line. The holder of the lock bit may write
// every word, word 2 as set_size() says. All others read with the seqlock of stable_read.h.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/record/tid.h"

namespace granary::record {

inline constexpr unsigned kSizeBits = 24;
inline constexpr std::uint64_t kSizeMask = (std::uint64_t{1} << kSizeBits) - 1;

struct Record {
  std::uint64_t previous_word;  // Record* of the next older version, 0 if none; for snapshots
  std::uint64_t tid_word;
  std::uint64_t size_word;

  std::uint64_t* value_words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  const std::uint64_t* value_words() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }

  /// Returns the TID word. The acquire load pairs with the release stores and the acquire-release CAS of lock holders.
  TidWord tid(std::memory_order order = std::memory_order_acquire) const { return base::load_word(&tid_word, order); }
  void store_tid(TidWord word) { base::store_word(&tid_word, word); }

  std::size_t size() const { return static_cast<std::size_t>(base::load_word(&size_word) & kSizeMask); }
  Record* previous() const { return reinterpret_cast<Record*>(base::load_word(&previous_word)); }
  void set_previous(Record* version) { base::store_word(&previous_word, reinterpret_cast<std::uint64_t>(version)); }
  /// Sets the size and keeps the bits above it. Only the lock holder of a local record calls it, or the thread that
  /// makes a record which nobody knows yet. Nobody else changes these bits between its load and its store. Under TicToc
  /// a reader that would raise the rts loads the TID word next, finds the lock bit, and does not change the word. Under
  /// two-phase locking the writer has the exclusive lock, and then nobody else changes the word.
  void set_size(std::size_t bytes) { base::store_word(&size_word, (base::load_word(&size_word) & ~kSizeMask) | bytes); }

  /// Takes the lock bit if the word is still `expected` (unlocked). The CAS acquires, so that all that the previous
  /// holder wrote is visible. It need not release, since nobody who sees the bit relies on an earlier store of this
  /// thread. But it is a full fence on x86, and the commit's phase 1 relies on the order lock → read of E (Silo 4.4).
  bool try_lock(TidWord expected) {
    base::debug_invariant("I2", [&] { return !is_locked(expected); });
    return base::compare_exchange_word(&tid_word, expected, expected | kLocked);
  }
  /// Gives the lock back without a change. Only the lock holder calls it.
  void unlock_unchanged() {
    base::debug_invariant("I2", [&] { return is_locked(tid(std::memory_order_relaxed)); });
    store_tid(tid(std::memory_order_relaxed) & ~kLocked);
  }
};

static_assert(sizeof(Record) == 24, "local header: previous version, TID word, size and incarnation");

/// Returns the record that an index keeps as this value, which is its address; nullptr for 0.
inline Record* record_of(std::uint64_t value) { return reinterpret_cast<Record*>(value); }
inline std::uint64_t value_of(const Record* record) { return reinterpret_cast<std::uint64_t>(record); }

/// Returns the bytes of memory that a record with a value of this size occupies, before slabs round them up.
constexpr std::size_t record_bytes(std::size_t value_bytes) {
  return sizeof(Record) + base::round_up_to_word(value_bytes);
}

}  // namespace granary::record
