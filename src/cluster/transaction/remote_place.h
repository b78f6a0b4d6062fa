#pragma once
// Names a leaf or a bucket of another node's index, as the node set of a transaction has it (src/cc/node_set.h;
// cc::Place is the same for indexes of this node).

#include <functional>

#include "src/cc/node_set.h"
#include "src/cluster/messages/requests.h"

namespace granary::cluster {

struct RemotePlace {
  rdma::NodeId node = 0;
  messages::NodeKind kind = messages::NodeKind::kLeaf;
  std::uint64_t offset = 0;
  bool operator==(const RemotePlace&) const = default;
};

}  // namespace granary::cluster

template <>
struct std::hash<granary::cluster::RemotePlace> {
  /// Offsets of one node's region tell most places apart; equal ones of several nodes are told apart by the top bits.
  std::size_t operator()(const granary::cluster::RemotePlace& place) const {
    return std::hash<std::uint64_t>()(place.offset ^ std::uint64_t{place.node} << 48);
  }
};

namespace granary::cluster {

using RemoteNodeSet = cc::NodeSet<RemotePlace>;

inline RemotePlace place_of(rdma::NodeId node, const messages::SeenNode& seen) {
  return {node, seen.kind, seen.offset};
}

/// Converts a change that an owner has made for this transaction, by inserting a placeholder. Buckets are never new.
inline cc::PlaceChange<RemotePlace> change_of(rdma::NodeId node, const messages::ChangedNode& change) {
  return {.place = {node, change.kind, change.offset},
          .before = change.before,
          .after = change.after,
          .split_from = {node, change.kind, change.split_from},
          .made = change.before == 0 && change.kind == messages::NodeKind::kLeaf};
}

}  // namespace granary::cluster
