#pragma once
// Holds the state of a transaction at other nodes: keys, participants, node set, and memory. The parts of the
// transaction (reading.h, locks.h, declared_keys.h, scan.h, one_sided_commit.h) share it until the transaction ends.

#include "src/cc/miss_times.h"
#include "src/cluster/transaction/access.h"
#include "src/cluster/transaction/lease_wait.h"
#include "src/cluster/transaction/remote_index_node.h"
#include "src/cluster/transaction/touched_nodes.h"
#include "src/cluster/transaction/trips.h"

namespace granary::txn {
class Context;
}

namespace granary::cluster {

struct Footprint {
  /// Adds it to Reach::footprints. `of`: the context whose transactions have it, one after the other.
  Footprint(Reach& reach, const txn::Context& of) : trips(reach), context(of), touched(trips) {
    reach.footprints.push_back(this);
  }
  ~Footprint() { std::erase(reach().footprints, this); }
  Footprint(const Footprint&) = delete;
  Footprint& operator=(const Footprint&) = delete;

  Reach& reach() { return trips.reach(); }
  const Reach& reach() const { return trips.reach(); }
  /// Makes the node a participant. Sets `known` to what is known of its table, and `sealed` to whether all that is seen
  /// there from now on never changes (I31). A node whose tables have not been learnt does not become a participant: it
  /// may be on its way back, without all of its data, and with an E ahead of the others'. The reasons are those of
  /// open().
  AbortReason enter(rdma::NodeId node, const txn::TableCore& table, const KnownTable*& known, bool& sealed);
  /// Finds the key's entry, or makes it. kNodeUnreachable may also mean that the node has no such table, so it belongs
  /// to another cluster. kNodeRecovering may also mean that the node has not been learnt yet.
  AbortReason open(const txn::RemoteKey& key, Access*& access);
  /// Notes an index node and its version in the node set. kNodeChanged if it was seen with another version before.
  AbortReason note(const txn::TableCore& table, rdma::NodeId node, const messages::SeenNode& seen) {
    missed_tables |= cc::MissTimes::bit_of(table.id());
    return nodes.note_once(index_node_of(node, seen), seen.version) ? AbortReason::kNone : AbortReason::kNodeChanged;
  }
  /// Whether the transaction holds a record by this x-lock, which it has not begun to give back.
  bool holds(record::StateWord word) const {
    return std::any_of(accesses.begin(), accesses.end(),
                       [word](const Access& access) { return access.lock.word == word; });
  }
  /// Whether the transaction may end while the code that runs waits, or is run again: the fiber with the number
  /// `begun_in` (0: none) goes on, or its handle was dropped, so that the worker's next begin() ends it.
  bool goes_on(std::uint64_t begun_in) const;
  /// Returns the entries for which `wanted` is true, in the order of their first use.
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
  const txn::Context& context;
  TouchedNodes touched;
  std::uint64_t fiber = 0;  ///< the number of that in which the first node was touched; 0: outside of fibers
  AccessTable accesses;
  RemoteNodeSet nodes;
  cc::MissTimes::Tables missed_tables = 0;  ///< the tables of the places in the node set
  epoch::Epoch sealed_from = 0;             ///< the same as AccessSet::sealed_from, for tables of other nodes
  LeaseWait lease_wait;                     ///< clear() keeps it, since the worker waits after the transaction's end

 private:
  bool is_sealed(const txn::TableCore& table, const KnownTable& known);
};

}  // namespace granary::cluster
