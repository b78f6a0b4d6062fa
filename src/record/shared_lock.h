#pragma once
// Keeps the owner's side of I2. The owner's CPU, which takes the lock bit of the TID word, or another node, which takes
// the state word, may change a shared record. Neither ever makes an atomic change of the other's word; each takes its
// own and then looks at the other's.

#include <cstdint>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/record/shared_record.h"

namespace granary::record {

/// Whether a lease is there that has expired for every node (I9).
inline bool has_expired(StateWord state, const base::TimeReading& now) {
  const bool expired = is_lease(state) && (now.expired(lease_end_us(state)) || base::injected("owner-ignores-lease"));
  base::debug_invariant("I9", [&] { return !expired || !now.valid(lease_end_us(state)); });
  return expired;
}

/// The states of a shared record in which its owner may change it. An x-lock excludes the owner, and so does a lease
/// that somebody may still rely on.
class OwnerRule {
 public:
  /// `time` is the cluster's; nullptr: there is none, and no lease ever ends.
  static constexpr OwnerRule with_leases(const base::SoftTime* time) { return {true, time}; }
  /// The rule under TicToc: a state word that is no x-lock is an rts, which excludes nobody.
  static constexpr OwnerRule without_leases() { return {false, nullptr}; }

  bool allows(StateWord state) const {
    if (!leases_) return !is_x_locked(state);
    if (state == kFree) [[likely]]
      return true;
    return time_ != nullptr && is_lease(state) && has_expired(state, time_->read());
  }
  /// Returns the same as allows(), for code inside an HTM region.
  template <typename Memory>
  bool allows_in(Memory& memory, StateWord state) const {
    if (!leases_) return !is_x_locked(state);
    return state == kFree || (time_ != nullptr && has_expired(state, time_->read_in(memory)));
  }

 private:
  constexpr OwnerRule(bool leases, const base::SoftTime* time) : leases_(leases), time_(time) {}

  bool leases_;
  const base::SoftTime* time_;
};

/// Whether the owner has to wait for a lease that somebody may still rely on.
inline bool is_leased(StateWord state, const base::SoftTime* time) {
  return is_lease(state) && !OwnerRule::with_leases(time).allows(state);
}

/// State and TID word, for whoever judges by both. The state is loaded first (I4): a holder stores the new TID before
/// it frees the state, so a state that is free again comes with the new TID. The other way round both could look
/// untouched.
struct SharedHeader {
  StateWord state;
  TidWord tid;
};
inline SharedHeader load_header(const SharedRecord& record) {
  SharedHeader header;
  if (base::injected("owner-tid-before-state")) {
    header.tid = record.head.tid();
    base::sync_point("header.half");
    header.state = record.state();
    return header;
  }
  header.state = record.state();
  base::sync_point("header.half");
  header.tid = record.head.tid();
  return header;
}

enum class OwnerLock : std::uint8_t {
  kTaken,
  kChanged,       ///< the TID word is not the expected one, or not any more
  kHeldRemotely,  ///< another node holds the record
};

/// The owner's rule of I2: CAS the lock bit into the TID word, which is a full fence on x86-64; then the state must be
/// free; then the TID word must still be what the CAS stored, as a holder that was there before may have written back
/// in between and wiped the bit. Otherwise the owner takes its lock bit back by a CAS, which fails harmlessly after
/// such a write-back. Another node that takes the state while the bit is set sees it, and waits until the bit is clear
/// or gives the state back.
///
/// A lease that expires between the two looks is as good as none. A node that replaces an expired lease by its own does
/// so by CAS, and sees the bit under the new one.
///
/// `is_free` says what OwnerRule::allows() says of the state.
template <typename IsFree>
OwnerLock lock_as_owner(SharedRecord& record, TidWord expected, const IsFree& is_free) {
  const auto held = [&] { return !is_free(record.state()) && !base::injected("owner-ignores-state"); };
  if (held()) return OwnerLock::kHeldRemotely;  // spares the holder a lock bit that it would have to wait for
  base::sync_point("owner.looked");
  if (!record.head.try_lock(expected)) return OwnerLock::kChanged;
  base::sync_point("owner.locked");
  if (held()) {
    base::compare_exchange_word(&record.head.tid_word, expected | kLocked, expected);
    return OwnerLock::kHeldRemotely;
  }
  const bool lost = record.head.tid() != (expected | kLocked) && !base::injected("owner-looks-once");
  return lost ? OwnerLock::kChanged : OwnerLock::kTaken;
}
inline OwnerLock lock_as_owner(SharedRecord& record, TidWord expected, const OwnerRule& rule) {
  return lock_as_owner(record, expected, [&rule](StateWord state) { return rule.allows(state); });
}

}  // namespace granary::record
