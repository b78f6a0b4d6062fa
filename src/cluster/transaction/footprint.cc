#include "src/cluster/transaction/footprint.h"

#include "src/cc/held_records.h"
#include "src/cluster/transaction/why.h"

namespace granary::cluster {

namespace {

/// A node that lives, and of which nothing is known, has come back and will be learnt. A node that is known, but without the table, is of
/// another cluster.
AbortReason why_no_table(rdma::NodeId node, const Reach& reach) {
  return reach.directory.knows(node) || !reach.is_member(node) ? cc::why_unusable(node, reach.worker)
                                                               : why_former(node, reach);
}

}  // namespace

AbortReason Footprint::enter(rdma::NodeId node, const txn::TableCore& table, const KnownTable*& known) {
  known = reach().directory.find(node, table.id());
  return known == nullptr ? why_no_table(node, reach()) : participants.touch(node);
}

AbortReason Footprint::open(const txn::RemoteKey& key, Access*& access) {
  access = accesses.find(key);
  if (access != nullptr) return AbortReason::kNone;
  const KnownTable* table = nullptr;
  const AbortReason reason = enter(key.home, *key.table, table);
  if (reason != AbortReason::kNone) return reason;
  access = &accesses.add({key.table, key.home, trips.arena().copy(key.key)}, table);
  return AbortReason::kNone;
}

void Footprint::clear() {
  accesses.clear();
  participants.clear();
  nodes.clear();
  tables_of_nodes = 0;
  trips.clear();
}

}  // namespace granary::cluster
