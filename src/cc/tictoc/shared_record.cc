#include "src/cc/tictoc/shared_record.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/claim_shared.h"
#include "src/cc/tictoc/tictoc.h"

namespace granary::cc::tictoc {
namespace {

using record::SharedRecord;
using record::StableRead;
using record::StateWord;

/// Raises the word to `rts`, unless it is there already. The raiser then looks at the other side's lock. The
/// compare-and-swap is a full fence on x86-64, so that look comes after the raise. If the word is there already, others
/// have raised it before this load, and the look comes after the load.
void raise(std::uint64_t* word, TidWord rts) {
  TidWord seen = base::load_word(word);
  while (seen < rts && !base::compare_exchange_word(word, seen, rts)) seen = base::load_word(word);
}

/// Returns kNone if the record still has the TID that was read and no transaction holds it. It loads the state before
/// the TID word (I4).
AbortReason look(const SharedRecord& record, TidWord tid) {
  const record::SharedHeader header = record::load_header(record);
  if (record::unlocked(header.tid) != tid) return AbortReason::kReadChanged;
  const bool locked = record::is_locked(header.tid) || record::is_x_locked(header.state);
  return locked ? AbortReason::kReadLocked : AbortReason::kNone;
}

}  // namespace

/// The order is: TID word, state, the owner's rts, E, and then the stable read. If that state is not x-locked and the
/// stable read finds the same TID, unlocked and not x-locked, both rts are those of this version. Under an x-lock they
/// may be those of the version before: the holder writes the new TID before it clears the owner's rts, and a reader of
/// the old version may have raised that without relying on it. Whatever they say, the version is valid until (E, 0): a
/// writer that takes the record later reads E of this node after its lock, and its time is at least (E, 1).
StableRead read_shared(const SharedRecord& record, std::size_t key_bytes, std::span<char> buffer, bool copy,
                       const WorkerState& worker, TidWord& rts) {
  const TidWord before = record.head.tid();
  const StateWord state = record.state();
  const TidWord by_owner = base::load_word(&record.owner_rts_word);
  const TidWord now = record::make_tid(worker.shared.epochs.current(), 0);
  const StableRead seen = copy ? record::read_shared(record, key_bytes, buffer.data(), buffer.size(), *worker.waiter)
                               : record::read_shared_tid(record, *worker.waiter);
  rts = record::tid_of(seen.tid);
  if (seen.tid != before) return seen;
  rts = std::max(rts, now);
  if (!record::is_x_locked(state) || base::injected("tictoc-believes-rts-under-x-lock"))
    rts = std::max({rts, rts_of_state(state), by_owner});
  return seen;
}

/// `is_free` is called for the last time after the lock bit was set. A reader at another node that raises the state
/// word later finds the lock bit, and does not rely on what it has raised.
AbortReason claim_shared(SharedRecord& record, const WorkerState& worker, std::uint32_t turns) {
  TidWord by_others = 0;
  const auto is_free = [&by_others](StateWord state) {
    by_others = rts_of_state(state);
    return record::OwnerRule::without_leases().allows(state);
  };
  const AbortReason reason = cc::claim_shared(record, worker, turns, is_free);
  if (reason == AbortReason::kNone && !base::injected("tictoc-forgets-others-rts"))
    raise(&record.owner_rts_word, by_others);
  return reason;
}

/// Order: this reader raises the owner's rts, and then loads the state and the TID word. A holder at another node takes
/// the state before it READs the owner's rts, and a transaction here takes the lock bit before it loads the owner's
/// rts. So either the writer finds the raised rts, or this reader finds its lock.
AbortReason make_shared_valid(const ReadEntry& read, const Claims& claims, const Moment& moment,
                              const WorkerState& worker) {
  SharedRecord& record = record::shared_of(*read.record);
  if (claims.has(read.record))
    return record::unlocked(read.record->tid()) == read.tid ? AbortReason::kNone : AbortReason::kReadChanged;
  // No writer gets a time before (E, 1), and E is at least the moment's epoch, so a moment up to (epoch, 0) needs no
  // rts.
  const bool by_epoch = moment.stamp <= record::make_tid(moment.epoch, 0);
  base::debug_invariant("I28", [&] { return worker.shared.epochs.current() >= moment.epoch; });
  if (!by_epoch && !base::injected("tictoc-owner-raises-late")) {
    base::sync_point("tictoc.extending");
    raise(&record.owner_rts_word, moment.stamp);
  }
  const AbortReason reason = look(record, read.tid);
  if (reason == AbortReason::kNone && !by_epoch && base::injected("tictoc-owner-raises-late"))
    raise(&record.owner_rts_word, moment.stamp);
  return reason;
}

/// The caller has set the lock bit before this loads the state. So a reader at another node that raises the state word
/// later finds the bit, and does not rely on the absence.
bool shared_may_leave_index(const SharedRecord& record, const WorkerState& worker) {
  const StateWord state = record.state();
  if (record::is_x_locked(state)) return false;  // only the holder knows the rts then
  const TidWord rts = std::max(rts_of_state(state), base::load_word(&record.owner_rts_word));
  return record::epoch_of(rts) < worker.shared.epochs.current() || base::injected("tictoc-forgets-absence");
}

}  // namespace granary::cc::tictoc
