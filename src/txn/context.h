#pragma once
// Leads one transaction or snapshot of a worker through its life, from begin to commit or abort. A context admits
// operations, which execution.h and snapshot_context.h execute, and ends what is open. src/cc does the commit.
//
// Transaction and Snapshot (include/granary) are handles of a context. A worker uses its contexts again and again, so a
// serial number tells the handle of a finished transaction from that of the next one. All functions run on the worker's
// thread but note_dropped(), and those with a serial check that first.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <granary/isolation.h>
#include <granary/outcome.h>
#include <granary/transaction.h>

#include "src/cc/participant.h"
#include "src/epoch/epoch.h"
#include "src/txn/dropped_handle.h"
#include "src/txn/execution.h"
#include "src/txn/transaction_state.h"
#include "src/txn/snapshot_context.h"
#include "src/txn/worker_core.h"

namespace granary::txn {

class Context final : private TransactionState {
 public:
  Context(WorkerCore& worker, epoch::Slot& slot)
      : worker_(worker),
        slot_(slot),
        execution_(worker, *this),
        snapshot_(worker, slot) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  epoch::Slot& slot() { return slot_; }
  bool idle() const { return state_ == State::kIdle && !snapshot_.open(); }
  /// Sets how it reaches other nodes; nullptr: there are no other nodes. The context is idle.
  void set_remote(std::unique_ptr<RemoteAccess> remote) {
    snapshot_.set_remote(remote.get());
    execution_.set_remote(std::move(remote));
  }
  /// Returns the owner of the open transaction's locks under two-phase locking; 0 if none is open, or it has none.
  cc::two_pl::OwnerSet lock_owner() { return idle() ? 0 : execution_.local().sets().held.owner; }
  /// Returns what the open transaction remembers.
  const cc::AccessSet& sets() { return execution_.local().sets(); }
  /// Returns the seat in which the context has begun a transaction last, of all that it began while bodies ran in
  /// turns.
  std::uint32_t seat() const { return seat_; }
  /// Calls RemoteAccess::tidy(). Precondition: the context reaches other nodes.
  void tidy_remote() { execution_.remote()->tidy(); }
  /// The context's snapshots. At most one is open, and then no transaction is.
  SnapshotContext& snapshot() { return snapshot_; }

  /// Opens a transaction and returns its serial.
  std::uint64_t begin(const TransactionOptions& options);
  /// `will_write`: MultiGet::will_write.
  GetResult get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer,
                bool will_write = false) {
    const Outcome admitted = admit(serial, table, key);
    if (admitted != Outcome::kOk) [[unlikely]]
      return {admitted, 0};
    return execution_.get(*table, key, buffer, will_write);
  }
  Outcome get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value);
  GetResult get_part(std::uint64_t serial, TableCore* table, std::string_view key, std::size_t from,
                     std::span<char> buffer);
  Outcome write_part(std::uint64_t serial, TableCore* table, std::string_view key, std::size_t from,
                     std::string_view bytes);
  Outcome multi_get(std::uint64_t serial, std::span<MultiGet> gets);
  Outcome declare(std::uint64_t serial, std::span<const Declared> keys);
  void prefetch(std::uint64_t serial, TableCore* table, std::string_view key);
  Outcome write(std::uint64_t serial, TableCore* table, std::string_view key, std::string_view value,
                const WriteRule& rule);
  Outcome multi_put(std::uint64_t serial, std::span<MultiPut> puts);
  ScanResult scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit);
  ScanResult scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit);
  cc::CommitOutcome commit(std::uint64_t serial);
  void abort(std::uint64_t serial);
  /// Notes that another thread than the worker's, or another body than that which has begun it, has dropped the handle
  /// of the transaction. Called by that thread.
  void note_dropped(std::uint64_t serial) {
    if (dropped_.note(serial)) worker_.note_dropped();
  }
  /// Whether the handle of the open transaction was dropped so, and the worker's next begin() will end it.
  bool is_dropped() const { return dropped_.serial() == serial_; }
  /// Ends the open transaction or snapshot if its handle was dropped so. The body that runs takes it over for that,
  /// whichever has begun it: nobody has a handle by which to use it.
  void end_dropped() {
    if (is_dropped()) body_ = worker_.body();
    abort(dropped_.serial());
    snapshot_.end_dropped();
  }
  bool open(std::uint64_t serial) const;
  /// If a committed transaction's writes to other nodes were under way and have arrived, ends the transaction there,
  /// makes the context idle, and returns true.
  bool has_arrived();
  /// Returns why the open transaction is doomed; kNone if it is not.
  AbortReason doom(std::uint64_t serial) const { return open(serial) ? doom_ : AbortReason::kNone; }

  /// Aborts the transaction or ends the snapshot that is open. A committed transaction whose writes are under way is
  /// waited for.
  void end();

 private:
  /// Returns kOk if an operation of the transaction with this serial may go on now.
  Outcome admit(std::uint64_t serial) {
    if (worker_.bound_here() && worker_.body() == body_ && serial == serial_ && state_ == State::kOpen &&
        slot_.revoked.load(std::memory_order_relaxed) != epoch_) [[likely]] {
      return Outcome::kOk;
    }
    return refuse(serial);
  }
  Outcome admit(std::uint64_t serial, const TableCore* table, std::string_view key) {
    const Outcome outcome = admit(serial);
    if (outcome != Outcome::kOk) [[unlikely]]
      return outcome;
    return check_target(table, key, worker_.shared());
  }
  /// Returns why admit() does not say yes at once, or kOk if it may. A transaction that has held its epoch for too long
  /// is doomed first.
  [[gnu::cold]] Outcome refuse(std::uint64_t serial);
  /// Whether the calling code may use the transaction with this serial, which is open or doomed.
  bool usable(std::uint64_t serial) const {
    return worker_.bound_here() && serial == serial_ && (state_ == State::kOpen || state_ == State::kDoomed) &&
           worker_.may_use(body_);
  }

  /// Commits on a node of a cluster. This function and the next two are not inlined into commit(), so that the code for
  /// a database without a cluster stays short.
  [[gnu::noinline]] cc::CommitOutcome commit_in_cluster();
  /// Whether to try a failed commit once more: it failed for lack of memory, and freeing garbage has made room.
  [[gnu::cold]] bool may_try_again(AbortReason reason);
  /// Ends a transaction whose commit has failed, and returns the reason that its caller is given.
  [[gnu::cold]] AbortReason give_up(AbortReason reason);
  /// Returns the reason that the caller is given instead of `reason`: kMembershipLost if the node may not commit now,
  /// since it would be of no use to try again at once.
  AbortReason reason_for_caller(AbortReason reason) const;
  [[gnu::cold]] Outcome doom_with(AbortReason reason) override;
  template <typename Write>
  Outcome or_out_of_memory(Write&& write);
  /// Gives back what the transaction holds at this node, and forgets its access sets.
  void end_here();
  /// Gives back what it holds at other nodes, and leaves the slot.
  void end_elsewhere(Ending ending);
  /// Ends a transaction that has committed. If its writes to other nodes are under way, the slot stays entered until
  /// has_arrived().
  void end_committed();
  /// Ends a transaction that has not committed, and registers its placeholders as garbage. The caller sets the state
  /// that follows.
  [[gnu::cold]] void undo(Ending ending);

  WorkerCore& worker_;
  epoch::Slot& slot_;
  AbortReason doom_ = AbortReason::kNone;
  std::uint64_t configuration_ = 0;  // the number of the membership when the transaction began; in a cluster only
  epoch::Epoch epoch_ = 0;           // e_w of the open transaction
  std::uint64_t began_ticks_ = 0;    // when the transaction began, if it is sampled (CommitLatencies::samples)
  std::uint64_t body_ = 0;           // in which the transaction began (WorkerCore::may_use)
  std::uint32_t seat_ = 0;           // where it began, if bodies ran in turns then (Together::current)
  DroppedHandle dropped_;
  Execution execution_;
  SnapshotContext snapshot_;
};

}  // namespace granary::txn
