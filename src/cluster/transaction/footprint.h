#pragma once
// The state of a transaction at other nodes, which its parts (reading, locks, declared keys, commit) share until it ends.

#include "src/cc/node_times.h"
#include "src/cluster/transaction/access.h"
#include "src/cluster/transaction/lease_wait.h"
#include "src/cluster/transaction/participants.h"
#include "src/cluster/transaction/remote_place.h"
#include "src/cluster/transaction/trips.h"

namespace granary::cluster {

struct Footprint {
  explicit Footprint(Reach& reach) : trips(reach), participants(trips) {}

  Reach& reach() { return trips.reach(); }
  const Reach& reach() const { return trips.reach(); }
  /// Makes the node a participant and finds what is known of its table, and whether what is looked at there from now on never changes (I31).
  /// A node whose tables have not been learnt does not become one, since it may be on its way back, without all of its data and epochs ahead
  /// of the others. The reasons are those of open().
  AbortReason enter(rdma::NodeId node, const txn::TableCore& table, const KnownTable*& known, bool& sealed);
  /// Finds the key's entry, or makes it. kNodeUnreachable also means that the node has no such table, so it is of another cluster, and
  /// kNodeRecovering that it has not been learnt yet.
  AbortReason open(const txn::RemoteKey& key, Access*& access);
  /// Notes in the node set what was seen of a place; kNodeChanged if the place was seen at another version before.
  AbortReason note(const txn::TableCore& table, rdma::NodeId node, const messages::SeenNode& seen) {
    tables_of_nodes |= cc::NodeTimes::bit_of(table.id());
    return nodes.note_once(place_of(node, seen), seen.version) ? AbortReason::kNone : AbortReason::kNodeChanged;
  }
  /// Returns the entries that are `wanted`, in the order of their first use.
  template <typename Wanted>
  Batch<Access*> all(Wanted&& wanted) {
    Batch<Access*> some = trips.batch<Access*>(accesses.size());
    for (Access& access : accesses) {
      if (wanted(access)) some.push_back(&access);
    }
    return some;
  }
  void clear();

  Trips trips;
  Participants participants;
  AccessTable accesses;
  RemoteNodeSet nodes;
  cc::NodeTimes::Tables tables_of_nodes = 0;  ///< of the node set
  epoch::Epoch sealed_from = 0;               ///< as AccessSet::sealed_from
  LeaseWait lease_wait;                       ///< not cleared: the worker waits when the transaction has ended

 private:
  bool is_sealed(const txn::TableCore& table, const KnownTable& known);
};

}  // namespace granary::cluster
