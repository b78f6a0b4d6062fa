#pragma once
// Makes this node a participant of a commit that takes effect in one HTM region (I15), without lock bits.
//
// Before the region the commit does all that it can: it chooses the TID, writes the log entry without publishing it,
// and copies old versions, all for the E and the TID words that are there now. In the region it checks that E and these
// words are unchanged and unlocked and that the reads hold, publishes the log entry, and stores values and TIDs.
//
// A protocol that stamps first chooses its time before the region, too, since the log entry has it. It looks at rts
// there without freezing them, so the region looks again: if an rts has reached the time meanwhile, the commit goes on
// with locks.
//
// Commits with locks may run at the same time. A region that finds a lock bit set does not commit. A transaction that
// takes a lock bit which a region has read changes that cache line, and so makes the region abort.

#include <utility>
#include <vector>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/participant.h"
#include "src/cc/protocol.h"
#include "src/cc/region/checks_in.h"
#include "src/cc/region/region_code.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

template <CommitsInRegion P>
class InRegion {
  static_assert(StampsInRegion<P> || !StampsReads<P>);

 public:
  static constexpr bool kWrites = true;
  static constexpr bool kStampsFirst = P::kStampsFirst;
  static constexpr CommitPoints points(bool /*across*/) {
    return {.locked = "",
            .validated = "",
            .prepared = "region.prepared",
            .logged = "",
            .installed = "",
            .written_back = ""};
  }

  /// `held` is the time until which all that the transaction has read and will write at other nodes is held
  /// (RemoteCommit::held_until).
  InRegion(AccessSet& access, WorkerState& worker, const base::LeaseEnd& held)
      : access_(access),
        worker_(worker),
        held_(held) {}

  /// Whether the commit is to be tried again with locks after a step has failed, because waiting, memory or the locks
  /// themselves may help. Nothing has happened at this node then.
  bool needs_locks() const { return needs_locks_; }

  static constexpr AbortReason lock() { return AbortReason::kNone; }
  static constexpr AbortReason validate(epoch::Epoch) { return AbortReason::kNone; }  // install() does it in the region
  /// Notes the TID words of the records to write, and chooses the TID. If a record is locked or was replaced, the
  /// commit goes on with locks, which can wait and knows the reason to abort. A protocol that stamps first may try this
  /// in vain before the nodes agree on an epoch, and then call it again, so it begins anew.
  AbortReason stamp(epoch::Epoch epoch, TidWord remote_bound) {
    needs_locks_ = false;
    words().clear();
    for (const WriteEntry& write : writes()) {
      TidWord word = 0;
      if (!P::plan(write, worker_, word, remote_bound)) return with_locks();
      words().push_back(word);
    }
    tid_ = P::stamp(access_, worker_, epoch, remote_bound);
    return tid_ == 0 ? with_locks() : AbortReason::kNone;
  }
  TidWord read_time() const { return tid_; }
  TidWord tid() const { return tid_; }
  /// The records are not locked while this copies old versions. If one changes, its TID word changes, and the region
  /// sees it.
  AbortReason prepare(epoch::Epoch epoch) {
    const epoch::Epoch period = worker_.shared.epochs.snap(epoch);
    for (std::size_t i = 0; i < writes().size(); ++i) {
      ++prepared_;
      if (!P::prepare_in_place(writes()[i], worker_, period, words()[i])) return with_locks();
    }
    return AbortReason::kNone;
  }
  /// Runs the region. Its end is the serialization point, as E is still the epoch of the TID there. Times of missed
  /// keys are announced before it, since a region that wrote such a line would conflict with all transactions that
  /// read it. The order of miss_times.h stays: the region looks at the leaves afterwards.
  AbortReason install(Decision& decision) {
    base::sync_point("region.planned");
    base::debug_invariant("I15", [&] { return words().size() == writes().size(); });
    if constexpr (StampsReads<P>) {
      if (!access_.nodes.empty()) P::announce_miss_time(access_, worker_, moment());
    }
    const htm::Attempt last = worker_.region->run([&](auto& memory) { return body(memory, decision); });
    if (last.committed) {
      decision.published();
      for (std::size_t i = 0; i < writes().size(); ++i) P::installed_in_region(writes()[i], worker_, words()[i], tid_);
      base::sync_point("region.committed");
      return AbortReason::kNone;
    }
    decision.take_back();
    const AbortReason reason = reason_of(last);
    return failed(reason) ? reason : with_locks();
  }
  void release() {
    for (std::size_t i = 0; i < prepared_; ++i) P::unprepare(writes()[i], worker_);
  }

 private:
  using Verdict = htm::Verdict;

  std::vector<WriteEntry>& writes() { return access_.writes.entries(); }
  std::vector<TidWord>& words() { return access_.planned_words; }

  /// The time at which the commit takes effect. Its epoch is E at the region's end.
  Moment moment() const { return {.epoch = record::epoch_of(tid_), .stamp = tid_}; }

  AbortReason with_locks() {
    needs_locks_ = true;
    return AbortReason::kWriteLocked;
  }

  // --- inside the region; I6: loads and stores, nothing else ---

  /// Makes all checks, and all stores of the commit that others can see.
  template <typename Memory>
  Verdict body(Memory& memory, Decision& decision) {
    if (!is_epoch_in(memory, worker_, record::epoch_of(tid_))) return give_up(RegionCode::kPlanOutdated);
    if (!leases_valid_in(memory, worker_, held_)) return give_up(RegionCode::kLeaseOver);
    if (const Verdict reads = check_reads(memory); !reads.is_done()) return reads;
    for (std::size_t i = 0; i < writes().size(); ++i) {
      const Verdict unchanged = P::check_planned_in(memory, writes()[i], words()[i], moment(), worker_);
      if (!unchanged.is_done()) return unchanged;
    }
    if (base::injected("wait-in-region")) worker_.waiter->pause(0);
    base::sync_point("region.checked");
    // The log comes first (I8): if this process dies in a simulated region, others may find a part of these stores.
    decision.publish_in(memory);
    if constexpr (StampsInRegion<P>) {
      for (const ReadEntry& read : access_.reads) P::make_valid_in(memory, read, moment());
    }
    for (std::size_t i = 0; i < writes().size(); ++i) P::install_in(memory, writes()[i], words()[i], tid_);
    base::debug_invariant("I15", [&] { return memory.load(worker_.shared.epochs.word()) == record::epoch_of(tid_); });
    base::sync_point("region.stored");
    return Verdict::done();
  }

  template <typename Memory>
  Verdict check_reads(Memory& memory) const {
    for (const ReadEntry& read : access_.reads) {
      if (const Verdict unchanged = P::check_read_in(memory, read, moment(), worker_); !unchanged.is_done())
          [[unlikely]]
        return unchanged;
    }
    return check_nodes_in(memory, access_);
  }

  AccessSet& access_;
  WorkerState& worker_;
  const base::LeaseEnd held_;
  TidWord tid_ = 0;
  std::size_t prepared_ = 0;  // how many writes prepare() has come to
  bool needs_locks_ = false;
};

}  // namespace granary::cc
