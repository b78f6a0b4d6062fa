#pragma once
// The part of a transaction that happens at other nodes (DESIGN of `occ`; DrTM+R and FaRM have the same shape): reads are
// one-sided and optimistic, writes are buffered; commit x-locks the records to write, agrees on an epoch, validates, and, once
// the log has it, writes back. What touches several nodes, or several records of one, travels together: each step costs a round
// trip, however many they are.
//
//   execute    one READ a record whose place is known; gets that are asked for together go together
//   lock       CAS, READ of the header, READ of the node's E (I7), one chain a node
//   validate   READ of the headers that were read, and of the versions of leaves and buckets where keys were missed
//   write back two WRITEs a record (I5), which a transaction in a fiber does not wait for
//
// Without a write elsewhere nothing is locked, and E is READ in front of the headers, in the same round. Hash tables are searched
// one-sided, and leaves of ordered tables and indexes are READ where they are known; the rest, and new keys, go through the owner
// (src/cluster/messages).
//
// What the transaction declares is held from then on, and not validated (declared_keys.h).
//
// Its parts work on one footprint.h: reading.h, locks.h, declared_keys.h, commit_elsewhere.h, scan.h; snapshots (snapshot.h) have none.
// Once its memory is warm, a transaction allocates nothing, nor do the owners that it asks.

#include "src/cluster/transaction/commit_elsewhere.h"
#include "src/cluster/transaction/declared_keys.h"
#include "src/cluster/transaction/footprint.h"
#include "src/cluster/transaction/locked_reads.h"
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/reading.h"
#include "src/cluster/transaction/snapshot.h"

namespace granary::cluster {

class RemoteTransaction final : public txn::RemoteAccess {
 public:
  explicit RemoteTransaction(Reach& reach);

  bool used() const override { return !footprint_.participants.empty(); }
  AbortReason get(std::span<txn::RemoteGet> gets) override { return locked_reads_.get(gets); }
  AbortReason declare(std::span<const txn::DeclaredKey> keys) override { return declared_.declare(keys); }
  AbortReason write(const txn::RemoteKey& key, std::string_view value, const txn::WriteRule& rule,
                    granary::Outcome& outcome) override;
  AbortReason scan(const txn::TableCore& table, const txn::TableCore* index, std::uint16_t home, const ScanRange& range,
                   ScanFn visit, ScanResult& result) override;
  void note_lease(std::uint64_t end_us) override { footprint_.lease_wait.note(end_us); }
  bool under_way() override { return locks_.under_way(); }
  bool end(bool over) override;
  void tidy() override;
  cc::RemotePart& part() override { return commit_; }
  txn::RemoteSnapshots& snapshots() override { return snapshots_; }

 private:
  bool untidy() const {
    const Reach& reach = footprint_.reach();
    return footprint_.lease_wait.due() || !reach.undelivered.empty() || reach.scheduler.current() != nullptr;
  }

  Footprint footprint_;
  Reading reading_;
  Locks locks_;
  LockedReads locked_reads_;
  DeclaredKeys declared_;
  CommitElsewhere commit_;
  SnapshotsElsewhere snapshots_;
};

}  // namespace granary::cluster
