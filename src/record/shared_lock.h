#pragma once
// Keeps the owner's side of I2. A shared record is changed by the owner's CPU, which takes the lock bit of the TID
// word, or by another node, which takes the state word. Neither ever makes an atomic change of the other's word: each
// takes its own and then looks at the other's.

#include <cstdint>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/soft_time.h"
#include "src/base/test_hooks.h"
#include "src/record/shared_record.h"

namespace granary::record {

/// Whether the state is a lease that has expired for every node (I9).
inline bool has_expired(StateWord state, const base::TimeReading& now) {
  const bool expired = is_lease(state) && (now.expired(lease_end_us(state)) || base::injected("owner-ignores-lease"));
  base::debug_invariant("I9", [&] { return !expired || !now.valid(lease_end_us(state)); });
  return expired;
}

/// Says in which states of a shared record its owner may change it. An x-lock excludes the owner, and so does a lease
/// that somebody may still rely on.
class OwnerRule {
 public:
  /// Returns the rule under which leases exclude the owner. `time` is the cluster's; without one (nullptr) no lease
  /// ever ends.
  static constexpr OwnerRule with_leases(const base::SoftTime* time) { return {true, time}; }
  /// Returns the rule of TicToc: a state word that is no x-lock is an rts, which excludes nobody.
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

/// The state and the TID word of a record, as load_header() loads them.
struct SharedHeader {
  StateWord state;
  TidWord tid;
};
/// Loads the state and then the TID word (I4). A holder stores the new TID before it frees the state, so a state that
/// is free again comes with the new TID. In the other order both could look untouched.
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
  kChanged,       ///< the TID word is not the expected one, or is no longer
  kHeldRemotely,  ///< another node holds the record
};

/// Locks a record by the owner's rule of I2. First it sets the lock bit in the TID word by a CAS, which is a full fence
/// on x86-64. Then the state must be free; if it is not, the owner takes its lock bit back by another CAS. Then the TID
/// word must still be what the first CAS stored, because a holder that was there before may have written back in
/// between and wiped the bit. The CAS that takes the bit back fails harmlessly after such a write-back. Another node
/// that takes the state while the bit is set sees the bit, and waits until it is clear or gives the state back.
///
/// A lease that expires between the two looks at the state is as good as none. A node that replaces an expired lease by
/// its own does so by CAS, and then sees the lock bit.
///
/// `is_free` answers for a state as OwnerRule::allows() does.
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
