#pragma once
// Names a leaf or a bucket of another node's index, as the node set of a transaction has it (src/cc/node_set.h). For
// indexes of this node, cc::IndexNode does that.

#include <functional>

#include "src/cc/node_set.h"
#include "src/cluster/messages/requests.h"

namespace granary::cluster {

struct RemoteIndexNode {
  rdma::NodeId node = 0;
  messages::NodeKind kind = messages::NodeKind::kLeaf;
  std::uint64_t offset = 0;
  bool operator==(const RemoteIndexNode&) const = default;
};

}  // namespace granary::cluster

template <>
struct std::hash<granary::cluster::RemoteIndexNode> {
  /// Offsets tell the index nodes of one node apart. The top bits tell those of several nodes with equal offsets apart.
  std::size_t operator()(const granary::cluster::RemoteIndexNode& at) const {
    return std::hash<std::uint64_t>()(at.offset ^ std::uint64_t{at.node} << 48);
  }
};

namespace granary::cluster {

using RemoteNodeSet = cc::NodeSet<RemoteIndexNode>;

inline RemoteIndexNode index_node_of(rdma::NodeId node, const messages::SeenNode& seen) {
  return {node, seen.kind, seen.offset};
}

/// Converts a change that an owner has made for this transaction, by inserting a placeholder. Buckets are never new.
inline cc::PlaceChange<RemoteIndexNode> change_of(rdma::NodeId node, const messages::ChangedNode& change) {
  return {.place = {node, change.kind, change.offset},
          .before = change.before,
          .after = change.after,
          .split_from = {node, change.kind, change.split_from},
          .made = change.before == 0 && change.kind == messages::NodeKind::kLeaf};
}

}  // namespace granary::cluster
