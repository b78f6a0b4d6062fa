#pragma once
// The part of a transaction that happens at other nodes (DESIGN of `occ`; DrTM+R and FaRM have the same shape): reads are
// one-sided and optimistic, writes are buffered; commit x-locks the records to write, agrees on an epoch, validates, and, once
// the log has it, writes back. What touches several nodes, or several records of one, travels together: each step costs a round
// trip, however many they are.
//
//   execute    one READ a record whose place is known; gets that are asked for together go together
//   lock       CAS, READ of the header, READ of the node's E (I7), one chain a node
//   validate   READ of the headers that were read, and of the versions of leaves and buckets where keys were missed
//   write back two WRITEs a record (I5)
//
// Without a write elsewhere nothing is locked, and E is READ in front of the headers, in the same round. Hash tables are searched
// one-sided; ordered tables, indexes, and new keys go through the owner (src/cluster/messages).
//
// What the transaction declares is held from then on, and not validated (declare.cc).

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "src/base/arena.h"
#include "src/cluster/cluster_epoch/epoch_read.h"
#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/lease.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/transaction/access.h"
#include "src/cluster/transaction/reach.h"

namespace granary::cluster {

class RemoteTransaction final : public txn::RemoteAccess {
 public:
  explicit RemoteTransaction(Reach& reach);

  bool used() const override { return !participants_.empty(); }
  AbortReason get(std::span<txn::RemoteGet> gets) override;
  AbortReason declare(std::span<const txn::DeclaredKey> keys) override;
  AbortReason write(const txn::RemoteKey& key, std::string_view value, txn::WriteMode mode,
                    granary::Outcome& outcome) override;
  AbortReason scan(const txn::TableCore& table, const txn::TableCore* index, std::uint16_t home, const ScanRange& range,
                   ScanFn visit, ScanResult& result) override;
  void snapshot_get(epoch::Epoch epoch, std::span<txn::RemoteSnapshotGet> gets) override;
  ScanResult snapshot_scan(epoch::Epoch epoch, const txn::TableCore& table, std::uint16_t home, const ScanRange& range,
                           ScanFn visit) override;
  void note_lease(std::uint64_t end_us) override { lease_in_way_us_ = std::max(lease_in_way_us_, end_us); }
  bool end(bool over) override;
  void tidy() override;

  std::span<const cc::RemoteWrite> writes() override;
  AbortReason lock() override;
  AbortReason agree(epoch::Epoch here, epoch::Epoch& agreed) override;
  AbortReason validate() override;
  base::LeaseEnd held_until() const override;
  record::TidWord greatest_tid() const override;
  AbortReason prepare(epoch::Epoch epoch) override;
  void decide(record::TidWord tid, std::uint64_t log_end) override { record_.decide(tid, log_end); }
  void take_back_decision() override { record_.take_back_decision(); }
  void write_back(record::TidWord tid) override;
  void release() override;

 private:
  struct Participant {
    rdma::NodeId node;
    rdma::RemoteAddress control;  ///< of its control block
    epoch::Epoch epoch = 0;       ///< E there, as READ last
  };
  /// A leaf or bucket without a key that was looked for, or with all there are in a range.
  struct SeenAt {
    rdma::NodeId node;
    messages::SeenNode seen;
  };
  using Step = rdma::fiber::Step;

  /// What an outcome means for the transaction; kNone if it can go on.
  static AbortReason why(Outcome outcome);
  static AbortReason why(const messages::Question& question);
  /// The same of a record at which `state` was found: if that is a dead node's, nobody waits for it any more.
  AbortReason why(Outcome outcome, record::StateWord state) const;

  // Execution (execute.cc).
  AbortReason open(const txn::RemoteKey& key, Access*& access);
  /// Learns what is there of keys of which nothing is known: at hash tables one-sided, at others by asking.
  AbortReason look(std::span<Access* const> accesses);
  enum class Behind : std::uint8_t { kNothing, kEpochs };
  /// One-sided; with E of all participants behind it, if that is asked for.
  AbortReason look_up(std::span<Access* const> accesses, Behind behind = Behind::kNothing);
  AbortReason ask(std::span<Access* const> accesses);
  void take(Access& access, const messages::SeenRecord& seen);
  /// READs the values that came with no answer.
  AbortReason fetch(std::span<Access* const> accesses);
  AbortReason note(rdma::NodeId node, const messages::SeenNode& seen);

  class Scanning;  // scan.cc

  // Declared keys (declare.cc).
  bool may_lease(const txn::RemoteKey& key) const;
  AbortReason await_log_room() const;
  bool know_places(std::span<Access* const> unseen) const;
  AbortReason lock_places(std::span<Access* const> unseen);
  static void take_fetched(Access& access, const XLock& lock);
  void forget_place(const Access& access);
  bool may_all_be_shared(std::span<Access* const> unseen) const;
  AbortReason hold(std::span<Access* const> accesses);
  LeaseTerm lease_term(const base::TimeReading& now) const;
  bool has_to_hold(Access& access) const;
  void lease_until(Access& access, std::uint64_t end_us) const;
  AbortReason take_leased(const std::deque<Lease>& leases, std::span<Access* const> accesses);
  static void take_held(Access& access, record::TidWord tid);
  AbortReason confirm_leases() const;
  AbortReason check_own_leases();
  void forget_what_was_learnt();
  void await_lease_end();

  // Commit (commit.cc).
  AbortReason place_writes();
  AbortReason make_places(std::span<Access* const> accesses);
  AbortReason note_change(rdma::NodeId node, const messages::ChangedNode& change);
  AbortReason lock_all();
  AbortReason take_locks(std::deque<XLock>& locks, std::span<Access* const> accesses,
                         std::span<AccessStep* const> holds);
  AbortReason name(const std::deque<XLock>& locks, std::span<Access* const> accesses);
  bool make_release_room(Access& access, std::size_t value_bytes);
  AbortReason run_before_epochs(Phase phase, std::span<AccessStep* const> holds);
  bool epochs_known() const;
  bool all_held() const;
  AbortReason settle_locks(std::deque<XLock>& locks, std::span<Access* const> accesses);
  AbortReason await_epoch(epoch::Epoch agreed);
  AbortReason validate_behind_epochs();
  AbortReason validate_behind(std::vector<Step*> steps);
  void give_back(Phase phase, record::TidWord tid);
  bool reconnect(rdma::NodeId node);
  template <typename Resumable>
  void go_on(Phase phase, Resumable& step);
  void note_removed(record::TidWord tid);

  /// Makes the node a participant, connected.
  AbortReason touch(rdma::NodeId node);
  /// Runs the steps together, and counts.
  void run(Phase phase, std::span<Step* const> steps);
  void ask_all(std::span<messages::Question* const> questions);
  /// Asks again, for a bounded time, where the owner met a record that somebody holds.
  /// What became of a snapshot's question.
  granary::Outcome told(const messages::Question& question) const;
  void ask_patiently(std::vector<messages::Question*> questions);
  /// Registered memory until the transaction ends; nullptr if the node's is used up.
  void* buffer(std::size_t bytes) { return buffers_.allocate(bytes); }
  /// In the participant's engine memory.
  rdma::RemoteAddress at(rdma::NodeId node, std::uint64_t offset) const;

  Reach& reach_;
  rdma::fiber::Rounds rounds_;
  base::Arena arena_;
  Buffers buffers_;
  log::LockRecord record_;  ///< what it may hold x-locked, for whoever recovers this node
  AccessTable accesses_;
  std::vector<Participant> participants_;
  std::vector<SeenAt> nodes_;
  std::vector<cc::RemoteWrite> writes_;
  std::vector<rdma::NodeId> silent_;          ///< participants that did not take a new connection
  std::deque<Release> undelivered_;           ///< what could not be given back
  bool validated_ = false;                    ///< by agree()
  std::optional<std::uint64_t> lease_jumps_;  ///< of the clock, before the first lease was taken
  std::uint64_t lease_in_way_us_ = 0;         ///< the end of one that kept this transaction from a lock
};

}  // namespace granary::cluster
