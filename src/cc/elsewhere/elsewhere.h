#pragma once
// Makes the other nodes one participant of a commit (participant.h): `Nowhere` if the transaction has touched this node
// only, and `Elsewhere` around a RemoteCommit if it has touched others.

#include <algorithm>
#include <cstdint>
#include <span>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/elsewhere/remote_commit.h"
#include "src/cc/participant.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_lock.h"

namespace granary::cc {

/// The participant for a transaction that has touched this node only. Its steps do nothing and cost nothing.
struct Nowhere {
  static constexpr bool kNodes = false;

  static constexpr bool list_writes() { return true; }
  static constexpr bool writes_nothing() { return true; }
  static constexpr RemoteCommit* remote_commit() { return nullptr; }
  static constexpr std::span<const RemoteWrite> writes() { return {}; }
  static constexpr AbortReason lock() { return AbortReason::kNone; }
  static constexpr base::LeaseEnd held_until() { return kHeldForever; }
  static constexpr AbortReason agree(epoch::Epoch&, TidWord) { return AbortReason::kNone; }
  static constexpr AbortReason validate(TidWord) { return AbortReason::kNone; }
  static constexpr AbortReason prepare(epoch::Epoch) { return AbortReason::kNone; }
  static constexpr TidWord greatest_tid() { return 0; }
  static constexpr TidWord least_time() { return 0; }
  static constexpr void write_back(TidWord) {}
  static constexpr void release() {}
};

/// Returns when the last of the leases ends that keep the transaction from its writes at this node; 0 if there is none.
inline std::uint64_t blocking_lease_end_us(AccessSet& access, const DatabaseState& shared) {
  std::uint64_t end_us = 0;
  if (shared.settings.stamps_reads) return end_us;
  for (const WriteEntry& write : access.writes.entries()) {
    if (!record::is_shared(write.record)) continue;
    const record::StateWord state = record::shared_of(*write.record).state();
    if (record::is_leased(state, shared.time)) end_us = std::max(end_us, record::lease_end_us(state));
  }
  return end_us;
}

/// The participant for a transaction that has touched other nodes: their RemoteCommit, and what this node adds to its
/// steps.
class Elsewhere {
 public:
  static constexpr bool kNodes = true;

  Elsewhere(RemoteCommit& commit, AccessSet& access, WorkerState& worker)
      : commit_(commit),
        access_(access),
        worker_(worker) {}

  bool list_writes() { return commit_.list_writes(); }
  bool writes_nothing() const { return commit_.writes().empty(); }
  RemoteCommit* remote_commit() const { return &commit_; }
  std::span<const RemoteWrite> writes() const { return commit_.writes(); }

  /// Locks records at other nodes. First it looks for leases on records that the transaction will write at this node:
  /// such a lease would make the commit fail later, after it has locked records at other nodes for nothing.
  AbortReason lock() {
    if (blocking_lease_end_us(access_, worker_.shared) != 0) return AbortReason::kRemotelyLocked;
    const AbortReason reason = commit_.lock();
    if (!failed(reason)) base::sync_point("across.locked");
    return reason;
  }
  base::LeaseEnd held_until() const { return commit_.held_until(); }
  /// Agrees on the transaction's epoch, and waits until E of all participants, this node among them, is at least that
  /// (I7). Only then anything is validated or written.
  AbortReason agree(epoch::Epoch& epoch, TidWord early_stamp) {
    const AbortReason reason = commit_.agree(epoch, early_stamp, epoch);
    const AbortReason waited = failed(reason) ? reason : await_epoch(epoch);
    base::debug_invariant("I7", [&] { return failed(waited) || worker_.shared.epochs.current() >= epoch; });
    base::sync_point("across.agreed");
    return waited;
  }
  AbortReason validate(TidWord stamp) { return commit_.validate(stamp); }
  AbortReason prepare(epoch::Epoch epoch) { return commit_.prepare(epoch); }
  TidWord greatest_tid() const { return commit_.greatest_tid(); }
  TidWord least_time() const { return commit_.least_time(); }
  void write_back(TidWord tid) { commit_.write_back(tid); }
  void release() { commit_.release(); }

 private:
  /// So many pauses are long enough for the leader of epochs to reach all nodes. E of two nodes differs by one for a
  /// few round trips.
  static constexpr std::uint32_t kMostEpochPauses = 1 << 20;

  AbortReason await_epoch(epoch::Epoch agreed) const {
    for (std::uint32_t turn = 0; worker_.shared.epochs.current() < agreed; ++turn) {
      if (turn == kMostEpochPauses || may_not_commit(worker_.shared)) return AbortReason::kEpochsApart;
      worker_.waiter->pause(turn);
    }
    return AbortReason::kNone;
  }

  RemoteCommit& commit_;
  AccessSet& access_;
  WorkerState& worker_;
};

}  // namespace granary::cc
