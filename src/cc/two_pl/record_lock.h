#pragma once
// The lock of two-phase locking, in the size word of a local record: 24 bits of size, one bit for each owner that holds it, one that says
// that its only holder may write, and one that says that somebody waits to be that holder. While that waits, nobody new gets the lock to
// read: else readers that come and go would keep the writer away for good.
//
// While the lock is exclusive, only its holder changes the word, so it may store the size without an atomic instruction (install.cc).
// Otherwise the word changes by atomic instructions alone. Taking the lock is an acquire, and giving it back a release: who holds it next
// sees what the holder before has done.

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

/// Whether the owner has what it wants already.
constexpr bool holds(std::uint64_t word, OwnerSet owner, Kind wanted) {
  return (holders_of(word) & owner) != 0 && (wanted == Kind::kShared || (word & kAlone) != 0);
}

/// Returns the holders that must give the lock back before the owner, which does not hold what it wants, can have it. An owner that is kept
/// away by kWanted waits for the same holders as the one that wants to be alone.
constexpr OwnerSet in_the_way(std::uint64_t word, OwnerSet owner) { return holders_of(word) & ~owner; }

/// Whether the owner, which does not hold what it wants, may have it now.
constexpr bool may_have(std::uint64_t word, OwnerSet owner, Kind wanted) {
  if (wanted == Kind::kShared) return (word & (kAlone | kWanted)) == 0;
  return in_the_way(word, owner) == 0 && ((word & kAlone) == 0 || (holders_of(word) & owner) != 0);
}

/// The word with the lock given to the owner, too. Precondition: it may have it.
constexpr std::uint64_t taken_by(std::uint64_t word, OwnerSet owner, Kind wanted) {
  return wanted == Kind::kShared ? word | bits_of(owner) : (word & ~kWanted) | bits_of(owner) | kAlone;
}

/// Whether the lock is that of a record that leaves its index: exclusive, and nobody's.
constexpr bool is_closed(std::uint64_t word) { return (word & kAlone) != 0 && holders_of(word) == 0; }

/// Says that an owner waits to be alone, or that it does not any more, unless somebody is alone. Others that wait say it again; but if
/// nobody did, and the bit stayed, no reader would ever come in.
inline void set_wanted(record::Record& record, bool wanted) {
  for (;;) {
    const std::uint64_t word = base::load_word(&record.size_word);
    if ((word & kAlone) != 0 || ((word & kWanted) != 0) == wanted) return;
    if (base::compare_exchange_word(&record.size_word, word, word ^ kWanted)) return;
  }
}

/// Gives back what the owner holds.
inline void let_go(record::Record& record, OwnerSet owner) {
  const std::uint64_t word = base::load_word(&record.size_word);
  if ((word & kAlone) != 0) {
    base::store_word(&record.size_word, word & record::kSizeMask);
  } else {
    base::fetch_and_word(&record.size_word, ~bits_of(owner));
  }
}

}  // namespace granary::cc::two_pl
