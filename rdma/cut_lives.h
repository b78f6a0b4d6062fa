#pragma once
// The lives of other nodes that a node has cut off (Fabric::cut_off), and the messages of all providers about them.

#include <map>
#include <mutex>

#include <granary/status.h>

#include "rdma/fabric.h"

namespace granary::rdma {

/// Thread-safe. A life that is cut off stays cut off.
class CutLives {
 public:
  /// Notes that the lives of `node` up to `last` are cut off by `self`. kInvalidArgument if `self` is among them.
  Status add(const NodeOptions& self, NodeId node, Generation last);
  bool contains(NodeId node, Generation generation) const;

  /// The error of a connect() that a life of `node` answered which this node has cut off: kUnavailable, since a later
  /// life may answer the next time.
  static Status answered(NodeId node, Generation generation);
  /// The error of a connect() of the life `self` that node `by` refuses, since it has cut `self` off:
  /// kFailedPrecondition, since no later attempt of this life can succeed.
  static Status refused(const NodeOptions& self, NodeId by);

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, Generation> last_;  ///< the greatest generation that is cut off
};

}  // namespace granary::rdma
