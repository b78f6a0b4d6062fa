#pragma once
// Makes this node a participant of a commit at the end of the HTM region in which the whole transaction has run (DrTM's
// COMMIT). The reads were made in the region, so they need no validation. The commit checks what the region has not
// looked at yet: E, the leaves, the leases, and the records that are only written. Then it stores the new values in the
// region and closes it.

#include <optional>
#include <vector>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/commit.h"
#include "src/cc/drtm/drtm.h"
#include "src/cc/here/here.h"
#include "src/cc/participant.h"
#include "src/cc/protocol.h"
#include "src/cc/region/checks_in.h"
#include "src/cc/region/record_in.h"
#include "src/cc/region/region_code.h"
#include "src/cc/worker_state.h"

namespace granary::cc::drtm {

template <Protocol P, bool Writes>
class InOpenRegion {
 public:
  static constexpr bool kWrites = Writes;
  static constexpr bool kStampsFirst = P::kStampsFirst;
  static constexpr CommitPoints points(bool across) {
    CommitPoints points = Here<P>::points(across);
    points.locked = {};
    return points;
  }

  /// `held` has the same meaning as for InRegion. Precondition: the transaction runs in the worker's region.
  InOpenRegion(AccessSet& access, WorkerState& worker, const base::LeaseEnd& held)
      : access_(access),
        worker_(worker),
        held_(held) {}

  static constexpr AbortReason lock() { return AbortReason::kNone; }
  /// Makes the checks. A transaction that only reads also closes the region: at the region's end all of its reads hold.
  AbortReason validate(epoch::Epoch epoch) {
    if (!part([&](auto& memory) { return check_in(memory, epoch); })) return AbortReason::kReadChanged;
    if constexpr (!Writes) return close();
    return AbortReason::kNone;
  }
  AbortReason stamp(epoch::Epoch epoch, TidWord remote_bound) {
    words().resize(writes().size());
    if (!part([&](auto& memory) { return look_at_writes_in(memory); })) return AbortReason::kWriteLocked;
    tid_ = P::stamp(access_, worker_, epoch, remote_bound);
    return tid_ == 0 ? P::reason_for_no_stamp(epoch) : AbortReason::kNone;
  }
  TidWord read_time() const { return tid_; }
  TidWord tid() const { return tid_; }
  AbortReason prepare(epoch::Epoch epoch) {
    const epoch::Epoch period = worker_.shared.epochs.snap(epoch);
    const htm::OwnStores own(&region());
    for (std::size_t i = 0; i < writes().size(); ++i) {
      ++prepared_;
      if (P::prepare_in_place(writes()[i], worker_, period, words()[i])) continue;
      region().abort(give_up(RegionCode::kBeyondRegion));
      return AbortReason::kWriteLocked;
    }
    return AbortReason::kNone;
  }
  AbortReason install(Decision& decision) {
    base::debug_invariant("I15", [&] { return words().size() == writes().size(); });
    const bool stored = part([&](auto& memory) { return store_in(memory, decision); });
    if (const AbortReason no = stored ? close() : AbortReason::kReadChanged; failed(no)) {
      decision.take_back();
      return no;
    }
    decision.published();
    stop_at(points(decision.across_nodes()).logged);  // the region's end has logged and installed
    for (std::size_t i = 0; i < writes().size(); ++i) P::installed_in_region(writes()[i], worker_, words()[i], tid_);
    stop_at(points(decision.across_nodes()).installed);
    return AbortReason::kNone;
  }
  void release() {
    for (std::size_t i = 0; i < prepared_; ++i) P::unprepare(writes()[i], worker_);
  }

 private:
  using Verdict = htm::Verdict;

  htm::OpenRegion& region() { return *worker_.open_region; }
  std::vector<WriteEntry>& writes() { return access_.writes.entries(); }
  std::vector<TidWord>& words() { return access_.planned_words; }

  /// Runs a part in the region. Does nothing if the region has aborted, which returns to the caller in simulations
  /// only.
  template <typename Part>
  bool part(Part&& part) {
    return region().is_open() && region().part(part);
  }
  AbortReason close() {
    if (!region().close()) return AbortReason::kReadChanged;
    worker_.in_open_region = nullptr;
    return AbortReason::kNone;
  }

  // --- inside the region; I6: loads and stores, nothing else ---

  template <typename Memory>
  Verdict check_in(Memory& memory, epoch::Epoch epoch) {
    if (!is_epoch_in(memory, worker_, epoch)) return retry(RegionCode::kPlanOutdated);
    // A transaction that writes looks at the leases as late as possible (store_in): from that look on its region
    // conflicts with the thread that updates softtime.
    if (!Writes && !leases_hold(memory)) return give_up(RegionCode::kLeaseOver);
    // The region has not read the placeholders that this transaction has put into indexes. If another transaction has
    // written such a record since, only this check finds it.
    for (const ReadEntry& read : access_.reads) {
      if (read.tid != record::kUnborn) continue;
      if (const Verdict unborn = P::check_read_in(memory, read, {.epoch = epoch}, worker_); !unborn.is_done())
        return unborn;
    }
    return check_nodes_in(memory, access_);
  }
  template <typename Memory>
  bool leases_hold(Memory& memory) const {
    return leases_valid_in(memory, worker_, held_) || base::injected("drtm-skips-lease-check");
  }
  template <typename Memory>
  Verdict look_at_writes_in(Memory& memory) {
    for (std::size_t i = 0; i < writes().size(); ++i) {
      const WriteEntry& write = writes()[i];
      const TidWord word = memory.load(&write.record->tid_word);
      if (!record::is_latest(word)) return give_up(RegionCode::kBeyondRegion);
      const record::OwnerRule rule = record::OwnerRule::with_leases(worker_.shared.time);
      if (!free_for_owner_in(memory, write.record, rule)) return retry(RegionCode::kHeldElsewhere);
      if (record::is_locked(word) && !base::injected("drtm-ignores-lock-bit")) return retry(RegionCode::kWriteLocked);
      words()[i] = record::unlocked(word);
      const Verdict free = P::check_planned_in(memory, write, words()[i], {}, worker_);  // it has no stamp yet
      if (!free.is_done()) return free;
    }
    return Verdict::done();
  }
  /// Makes all stores of the commit that others can see. The log comes first (I8): if this process dies in a simulated
  /// region, others may find a part of these stores.
  template <typename Memory>
  Verdict store_in(Memory& memory, Decision& decision) {
    if (!leases_hold(memory)) return give_up(RegionCode::kLeaseOver);
    if (base::injected("wait-in-region")) worker_.waiter->pause(0);
    decision.publish_in(memory);
    for (std::size_t i = 0; i < writes().size(); ++i) P::install_in(memory, writes()[i], words()[i], tid_);
    base::debug_invariant("I15", [&] { return memory.load(worker_.shared.epochs.word()) == record::epoch_of(tid_); });
    return Verdict::done();
  }

  AccessSet& access_;
  WorkerState& worker_;
  const base::LeaseEnd held_;
  TidWord tid_ = 0;
  std::size_t prepared_ = 0;  // how many writes prepare() has come to
};

/// Commits a transaction that runs in the worker's open region (drtm/), at the region's end. Returns nothing if there
/// is no region, or none any more; then the caller commits with locks.
template <RunsInRegion P, bool Writes, RemoteParticipant Remote, typename Right>
[[gnu::noinline]] std::optional<CommitOutcome> commit_in_open_region(AccessSet& access, WorkerState& worker,
                                                                     Remote& there, const Right& right) {
  if (P::enter(access, worker)) {
    const base::LeaseEnd held = there.held_until();
    if (held.end_us == 0) leave_region(worker);
    const LoggedWrites writes{access.writes.entries(), there.writes()};
    InOpenRegion<P, Writes> here(access, worker, held);
    const CommitOutcome outcome = take_steps(here, there, writes, worker, right);
    // The outcome counts if the region has committed, or if it is still open because something else failed. Otherwise
    // the region has aborted, and enter() has decided how the transaction goes on.
    if (worker.in_open_region != &access || P::enter(access, worker)) return outcome;
  }
  if (access.region_run.way == RegionRun::Way::kAgain) return CommitOutcome{.reason = access.region_run.reason};
  return std::nullopt;
}

}  // namespace granary::cc::drtm
