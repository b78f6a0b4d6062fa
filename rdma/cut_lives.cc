#include "rdma/cut_lives.h"

#include <algorithm>

#include <fmt/format.h>

namespace granary::rdma {

Status CutLives::add(const NodeOptions& self, NodeId node, Generation last) {
  if (node == self.node && last >= self.generation) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("node {} lives in generation {} and cannot cut itself off up to generation {}", node,
                              self.generation, last));
  }
  const std::lock_guard lock(mutex_);
  Generation& known = last_[node];
  known = std::max(known, last);
  return {};
}

bool CutLives::contains(NodeId node, Generation generation) const {
  const std::lock_guard lock(mutex_);
  const auto found = last_.find(node);
  return found != last_.end() && generation <= found->second;
}

Status CutLives::answered(NodeId node, Generation generation) {
  return Status(StatusCode::kUnavailable,
                fmt::format("generation {} of node {} answers, which this node has cut off; start node {} anew",
                            generation, node, node));
}

Status CutLives::refused(const NodeOptions& self, NodeId by) {
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("node {} refuses: it has cut off generation {} of node {}, which is this process; end it "
                            "and start node {} anew",
                            by, self.generation, self.node, self.node));
}

}  // namespace granary::rdma
