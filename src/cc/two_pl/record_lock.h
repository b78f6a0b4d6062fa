#pragma once
// Implements the lock of two-phase locking. It lies in the size word of a local record:
//
//    63     62     61             24 23      0
//  +-------+--------+---------------+---------+
//  | alone | wanted |  owners (38)  |  size   |
//  +-------+--------+---------------+---------+
//
// `owners` are the holders. `alone` makes the lock exclusive; if it is set without an owner, the record leaves its
// index. `wanted` says that an owner waits for the exclusive lock. Then no other owner gets the lock shared, since
// readers that come and go would keep the writer away for ever.
//
// While the lock is exclusive, only its holder changes the word, so the holder may store the size with a plain release
// store (Record::set_size). Otherwise the word changes by atomic instructions only. Taking the lock is an acquire, and
// giving it back is a release. So the next holder sees all that the former one has stored.

#include <cstdint>

#include "src/base/shared_words.h"
#include "src/cc/two_pl/owners.h"
#include "src/record/record.h"

namespace granary::cc::two_pl {

inline constexpr std::uint64_t kAlone = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kWanted = std::uint64_t{1} << 62;
static_assert(record::kSizeBits + kOwners == 62);

enum class Kind : std::uint8_t { kShared, kExclusive };

constexpr std::uint64_t bits_of(OwnerSet owners) { return owners << record::kSizeBits; }
constexpr OwnerSet holders_of(std::uint64_t word) { return (word & ~(kAlone | kWanted)) >> record::kSizeBits; }

/// Whether the owner already holds the lock in the kind that it wants.
constexpr bool holds(std::uint64_t word, OwnerSet owner, Kind wanted) {
  return (holders_of(word) & owner) != 0 && (wanted == Kind::kShared || (word & kAlone) != 0);
}

/// Returns the holders that must give the lock back before the owner can have what it wants. An owner that is kept away
/// by kWanted waits for the same holders as the owner that wants the exclusive lock.
constexpr OwnerSet in_the_way(std::uint64_t word, OwnerSet owner) { return holders_of(word) & ~owner; }

/// Whether the owner may have what it wants now. Precondition: it does not hold it yet.
constexpr bool may_have(std::uint64_t word, OwnerSet owner, Kind wanted) {
  if (wanted == Kind::kShared) return (word & (kAlone | kWanted)) == 0;
  return in_the_way(word, owner) == 0 && ((word & kAlone) == 0 || (holders_of(word) & owner) != 0);
}

/// Returns the word with the lock given to the owner. Precondition: may_have().
constexpr std::uint64_t taken_by(std::uint64_t word, OwnerSet owner, Kind wanted) {
  return wanted == Kind::kShared ? word | bits_of(owner) : (word & ~kWanted) | bits_of(owner) | kAlone;
}

/// Whether the record has left its index, or is about to: its lock is exclusive and has no owner.
constexpr bool is_closed(std::uint64_t word) { return (word & kAlone) != 0 && holders_of(word) == 0; }

/// Sets or clears kWanted, unless the lock is exclusive. An owner sets it again at each turn of its wait, and clears it
/// when it gives up, since a bit that stayed would keep all readers away. If another owner still waits, it sets the bit
/// again.
inline void set_wanted(record::Record& record, bool wanted) {
  for (;;) {
    const std::uint64_t word = base::load_word(&record.size_word);
    if ((word & kAlone) != 0 || ((word & kWanted) != 0) == wanted) return;
    if (base::compare_exchange_word(&record.size_word, word, word ^ kWanted)) return;
  }
}

/// Gives back the owner's lock on the record.
inline void let_go(record::Record& record, OwnerSet owner) {
  const std::uint64_t word = base::load_word(&record.size_word);
  if ((word & kAlone) != 0) {
    base::store_word(&record.size_word, word & record::kSizeMask);
  } else {
    base::fetch_and_word(&record.size_word, ~bits_of(owner));
  }
}

}  // namespace granary::cc::two_pl
