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

AbortReason Footprint::open(const txn::RemoteKey& key, Access*& access) {
  access = accesses.find(key);
  if (access != nullptr) return AbortReason::kNone;
  const AbortReason reason = participants.touch(key.home);
  if (reason != AbortReason::kNone) return reason;
  const KnownTable* const table = reach().directory.find(key.home, key.table->id());
  if (table == nullptr) return why_no_table(key.home, reach());
  access = &accesses.add({key.table, key.home, trips.arena().copy(key.key)}, table);
  return AbortReason::kNone;
}

void Footprint::clear() {
  accesses.clear();
  participants.clear();
  nodes.clear();
  trips.clear();
}

}  // namespace granary::cluster
