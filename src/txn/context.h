#pragma once
// The life of one transaction or snapshot of a worker, from begin to commit or abort: admits operations, which are executed by
// execution.h and snapshot_context.h, and ends what is open. What a commit does is the protocol's (src/cc).
//
// A context is used again and again; a serial number tells the handle of a finished transaction from the
// next one's. All functions run on the worker's thread; the first thing each does is to check that.

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
#include "src/txn/execution.h"
#include "src/txn/life.h"
#include "src/txn/snapshot_context.h"
#include "src/txn/worker_core.h"

namespace granary::txn {

class Context final : private Life {
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
  /// How it reaches other nodes; nullptr: there are none. While idle.
  void set_remote(std::unique_ptr<RemoteAccess> remote) {
    snapshot_.set_remote(remote.get());
    execution_.set_remote(std::move(remote));
  }
  /// RemoteAccess::tidy(), of a worker that has other nodes.
  void tidy_remote() { execution_.remote()->tidy(); }
  /// Its snapshots: at most one is open, and no transaction then.
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
  ScanResult scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit);
  ScanResult scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit);
  CommitResult commit(std::uint64_t serial);
  void abort(std::uint64_t serial);
  bool open(std::uint64_t serial) const;
  /// Ends at other nodes a transaction that has committed, if it is one whose writes were under way and have arrived.
  bool has_arrived();
  AbortReason doom(std::uint64_t serial) const { return open(serial) ? doom_ : AbortReason::kNone; }

  /// Ends whatever is open without effect.
  void end();

 private:
  Outcome admit(std::uint64_t serial) {
    if (worker_.bound_here() && serial == serial_ && state_ == State::kOpen &&
        !slot_.revoked.load(std::memory_order_relaxed)) [[likely]] {
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
  [[gnu::cold]] Outcome refuse(std::uint64_t serial);

  /// Commits on a node of a cluster. Neither this nor the two functions below are inlined into commit(), so that the way of a transaction
  /// of this node alone stays short.
  [[gnu::noinline]] cc::CommitOutcome commit_in_cluster();
  /// Whether a commit that failed has found memory meanwhile.
  [[gnu::cold]] bool may_try_again(AbortReason reason);
  /// Ends a transaction whose commit failed, and returns the reason that its caller learns.
  [[gnu::cold]] AbortReason give_up(AbortReason reason);
  /// Why a transaction ends that fails for `reason`: nothing is tried again on a node that may not commit.
  AbortReason for_good_if_out(AbortReason reason) const;
  [[gnu::cold]] Outcome doom_with(AbortReason reason) override;
  /// Forgets the access sets and leaves the slot. `over`: RemoteAccess::end().
  void release(bool over);
  void release_here();
  void release_elsewhere(bool over);
  /// The same for a transaction that has committed; if what it wrote elsewhere is under way, has_arrived() ends it there.
  void release_committed();
  /// The same for a transaction that does not commit: registers its placeholders first.
  [[gnu::cold]] void undo(bool over);

  WorkerCore& worker_;
  epoch::Slot& slot_;
  AbortReason doom_ = AbortReason::kNone;
  std::uint64_t configuration_ = 0;  // noted by begin(), in a cluster
  epoch::Epoch epoch_ = 0;           // e_w of the open transaction
  std::uint64_t began_ticks_ = 0;    // when that began, if its time is taken (CommitLatencies::samples)
  Execution execution_;
  SnapshotContext snapshot_;
};

}  // namespace granary::txn
