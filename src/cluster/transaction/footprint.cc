#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

AbortReason Footprint::open(const txn::RemoteKey& key, Access*& access) {
  access = accesses.find(key);
  if (access != nullptr) return AbortReason::kNone;
  const AbortReason reason = participants.touch(key.home);
  if (reason != AbortReason::kNone) return reason;
  const KnownTable* const table = reach().directory.find(key.home, key.table->id());
  if (table == nullptr) return AbortReason::kNodeUnreachable;
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
