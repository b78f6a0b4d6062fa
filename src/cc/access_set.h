#pragma once
// Keeps what a transaction remembers of records of this node: read set, node set and write set (Silo 4.4, 4.6;
// write_set.h). The transaction layer (src/txn) fills these sets, and the commit (commit.h) validates and installs by
// them. What is remembered of other nodes is in src/cluster/transaction.

#include <vector>

#include <granary/isolation.h>
#include <granary/outcome.h>

#include "src/cc/drtm/region_run.h"
#include "src/cc/index_node.h"
#include "src/cc/miss_times.h"
#include "src/cc/node_set.h"
#include "src/cc/two_pl/held_locks.h"
#include "src/cc/write_set.h"
#include "src/record/record.h"

namespace granary::cc {

using record::TidWord;

/// Notes one read: a record and the TID word that was seen there. The word is unlocked, except for a read under the
/// transaction's own lock bit (drtm/drtm.h). Under TicToc `rts` is the time until which the version was seen to be
/// valid (src/record/rts.h). A read that found the record absent is an entry, too.
struct ReadEntry {
  Record* record;
  TidWord tid;
  TidWord rts = 0;
};

/// A record that the commit locks, and the write to it.
struct LockEntry {
  Record* record;
  WriteEntry* write;
};

class RemoteCommit;

/// All that one transaction of this node remembers. A context uses it for one transaction after the other.
struct AccessSet {
  Isolation isolation = Isolation::kSerializable;  ///< the open transaction's, set when it begins
  epoch::Epoch epoch = 0;                          ///< e_w of the open transaction, set when it begins
  /// The latest epoch from which a table is sealed that the transaction has read. Reads of sealed tables are in no set
  /// (I31), and all that they saw is of earlier epochs. 0: it has read no sealed table.
  epoch::Epoch sealed_from = 0;
  std::vector<ReadEntry> reads;
  NodeSet<IndexNode> nodes;
  MissTimes::Tables missed_tables = 0;  ///< the tables of the indexes in the node set
  WriteSet writes;
  std::vector<LockEntry> locks;  ///< made by the commit: the writes, sorted by the addresses of their records
  /// Made by the commit: TID words of the records to write, noted before a region (region.h, drtm) or before the claims
  /// (SnapshotHere). They are the transaction's and not its worker's, since a claim may wait, and then another
  /// transaction of the worker may commit.
  std::vector<TidWord> planned_words;

  two_pl::HeldLocks held;  ///< given back by cc::let_go() when the transaction has ended, before clear()
  /// The latest lock was refused because of a transaction of the same worker, which cannot end meanwhile.
  bool refused_by_own_worker = false;
  bool must_let_go = false;        ///< whether cc::let_go() has work at the end, for `held` or for `region_run`
  drtm::RegionRun region_run;      ///< its `claimed` records are given back by cc::let_go(), too
  RemoteCommit* remote = nullptr;  ///< the context's part at other nodes, nullptr without a cluster; clear() keeps it

  void clear() {
    sealed_from = 0;
    reads.clear();
    nodes.clear();
    missed_tables = 0;
    writes.clear();
    locks.clear();
    refused_by_own_worker = false;
  }
};

}  // namespace granary::cc
