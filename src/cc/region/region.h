#pragma once
// This node as a participant of a commit, in one HTM region. Everything that can be done before is: the TID, the log entry, copies of old
// versions, all for the epoch and the TID words that are there now. The region then finds them unchanged and unlocked, checks what was
// read, and stores. It sees whoever holds a lock bit, and whoever takes one while it runs makes it abort; so the two kinds of commit mix.

#include <utility>
#include <vector>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/participant.h"
#include "src/cc/protocol.h"
#include "src/cc/region/checks_in.h"
#include "src/cc/region/verdicts.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

template <CommitsInRegion P>
class Region {
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

  /// `held`: until when all that the transaction has read and will write elsewhere is held.
  Region(AccessSet& access, WorkerState& worker, const base::LeaseEnd& held)
      : access_(access),
        worker_(worker),
        held_(held) {}

  /// Whether the transaction has to go on with locks, for what waiting, memory or another try may mend. Nothing has happened then.
  bool in_vain() const { return in_vain_; }

  static constexpr AbortReason lock() { return AbortReason::kNone; }
  static constexpr AbortReason validate(epoch::Epoch) { return AbortReason::kNone; }  // in the region
  /// Notes the words of what will be overwritten first. If one is locked or was replaced, then to wait, or the reason to abort, is the
  /// business of the commit with locks.
  AbortReason stamp(epoch::Epoch epoch, TidWord elsewhere) {
    words().clear();
    for (const WriteEntry& write : writes()) {
      TidWord word = 0;
      if (!P::plan(write, worker_, word)) return with_locks();
      words().push_back(word);
    }
    tid_ = P::stamp(access_, worker_, epoch, elsewhere);
    return tid_ == 0 ? with_locks() : AbortReason::kNone;
  }
  TidWord stamped() const { return tid_; }
  TidWord tid() const { return tid_; }
  /// The records are not locked: should one change, its TID word does, and the region sees it.
  AbortReason prepare(epoch::Epoch epoch) {
    const epoch::Epoch period = worker_.shared.epochs.snap(epoch);
    for (std::size_t i = 0; i < writes().size(); ++i) {
      ++prepared_;
      if (!P::prepare_in_place(writes()[i], worker_, period, words()[i])) return with_locks();
    }
    return AbortReason::kNone;
  }
  /// The region's end is the serialization point: E is still the TID's epoch there.
  AbortReason install(Decision& decision) {
    base::sync_point("region.planned");
    base::debug_invariant("I15", [&] { return words().size() == writes().size(); });
    const htm::Ending ending = worker_.region->run([&](auto& memory) { return body(memory, decision); });
    if (ending.committed) {
      decision.published();
      for (std::size_t i = 0; i < writes().size(); ++i) P::installed_in_region(writes()[i], worker_, words()[i], tid_);
      base::sync_point("region.committed");
      return AbortReason::kNone;
    }
    decision.take_back();
    const AbortReason reason = reason_of(ending);
    return failed(reason) ? reason : with_locks();
  }
  void release() {
    for (std::size_t i = 0; i < prepared_; ++i) P::unprepare(writes()[i], worker_);
  }

 private:
  using Verdict = htm::Verdict;

  std::vector<WriteEntry>& writes() { return access_.writes.entries(); }
  std::vector<TidWord>& words() { return worker_.planned_words; }

  AbortReason with_locks() {
    in_vain_ = true;
    worker_.region->count_fallback();
    return AbortReason::kWriteLocked;
  }

  // --- inside the region; I6: loads and stores, nothing else ---

  /// All of the commit that others can see.
  template <typename Memory>
  Verdict body(Memory& memory, Decision& decision) {
    if (!is_epoch_in(memory, worker_, record::epoch_of(tid_))) return Verdict::give_up(kPlanOutdated);
    if (!leases_valid_in(memory, worker_, held_)) return Verdict::give_up(kLeaseOver);
    if (const Verdict reads = check_reads(memory); !reads.is_done()) return reads;
    for (std::size_t i = 0; i < writes().size(); ++i) {
      const Verdict unchanged = P::check_planned_in(memory, writes()[i], words()[i], worker_);
      if (!unchanged.is_done()) return unchanged;
    }
    if (base::injected("wait-in-region")) worker_.waiter->pause(0);
    base::sync_point("region.checked");
    // The log first (I8): other processes may see these stores one by one, should this one die meanwhile.
    decision.publish_in(memory);
    for (std::size_t i = 0; i < writes().size(); ++i) P::install_in(memory, writes()[i], words()[i], tid_);
    base::debug_invariant("I15", [&] { return memory.load(worker_.shared.epochs.word()) == record::epoch_of(tid_); });
    base::sync_point("region.stored");
    return Verdict::done();
  }

  template <typename Memory>
  Verdict check_reads(Memory& memory) const {
    for (const ReadEntry& read : access_.reads) {
      if (const Verdict unchanged = P::check_read_in(memory, read); !unchanged.is_done()) [[unlikely]]
        return unchanged;
    }
    return check_nodes_in(memory, access_);
  }

  AccessSet& access_;
  WorkerState& worker_;
  const base::LeaseEnd held_;
  TidWord tid_ = 0;
  std::size_t prepared_ = 0;  // writes
  bool in_vain_ = false;
};

}  // namespace granary::cc
