#pragma once
// Runs the part of a transaction that happens at other nodes: it implements txn::RemoteAccess. Each context of a
// RemoteWorker has one.
//
// This is the protocol `occ`; DrTM+R and FaRM have the same shape. Reads are one-sided and optimistic, and writes are
// buffered. The commit x-locks the records to write, agrees on an epoch, validates, and writes back when the log has
// the transaction. Operations on several nodes, or on several records of one node, go out together: each step costs one
// round trip, however many they are.
//
//   execute     one READ for each record whose place is known; keys that are asked for together are READ together
//   lock        a CAS and a READ of each header, and a READ of the node's E behind them (I7), in one chain for each
//               node
//   validate    a READ of each header that was only read, and of the versions of leaves and buckets where keys were
//               missed
//   write back  two WRITEs for each record (I5), for which a transaction in a fiber does not wait
//
// A transaction that writes nothing at other nodes locks nothing there. It READs E in front of the headers, in the same
// round. Hash tables are searched one-sided. Leaves of ordered tables and indexes are READ if their places are
// remembered. The owner is asked about all other keys, and makes the records of new keys (src/cluster/messages).
//
// Records that the transaction declares are held from then on, and not validated (declared_keys.h).
//
// The parts gets.h, reading.h, locks.h, locked_reads.h, declared_keys.h, one_sided_commit.h and scan.h work on one
// Footprint (footprint.h). Snapshots (snapshot.h) have none. When its memory is warm, a transaction allocates nothing,
// and neither do the owners that it asks.

#include "src/cluster/transaction/one_sided_commit.h"
#include "src/cluster/transaction/declared_keys.h"
#include "src/cluster/transaction/footprint.h"
#include "src/cluster/transaction/locked_reads.h"
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/reading.h"
#include "src/cluster/transaction/snapshot.h"

namespace granary::cluster {

class RemoteTransaction final : public txn::RemoteAccess {
 public:
  RemoteTransaction(Reach& reach, const txn::Context& context);

  bool used() const override { return !footprint_.touched.empty(); }
  AbortReason get(std::span<txn::RemoteGet> gets) override;
  AbortReason declare(std::span<const txn::DeclaredKey> keys) override { return declared_.declare(keys); }
  AbortReason write(const txn::RemoteKey& key, std::string_view value, const txn::WriteRule& rule,
                    Outcome& outcome) override;
  AbortReason scan(const txn::TableCore& table, const txn::TableCore* index, std::uint16_t home, const ScanRange& range,
                   ScanFn visit, ScanResult& result) override;
  void note_lease(std::uint64_t end_us) override { footprint_.lease_wait.note(end_us); }
  bool under_way() noexcept override { return locks_.under_way(); }
  bool end(txn::Ending ending) noexcept override;
  void tidy() override;
  cc::RemoteCommit& remote_commit() override { return commit_; }
  txn::RemoteSnapshots& snapshots() override { return snapshots_; }

 private:
  /// Whether tidy() has something to do.
  bool untidy() const {
    const Reach& reach = footprint_.reach();
    return footprint_.lease_wait.due() || !reach.undelivered.empty() || reach.scheduler.current() != nullptr;
  }

  Footprint footprint_;
  Reading reading_;
  Locks locks_;
  LockedReads locked_reads_;
  DeclaredKeys declared_;
  OneSidedCommit commit_;
  RemoteSnapshotReads snapshots_;
};

}  // namespace granary::cluster
