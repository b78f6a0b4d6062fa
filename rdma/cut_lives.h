#pragma once
// Keeps which lives of other nodes a node has cut off (Fabric::cut_off), and the messages of all providers about them.

#include <map>
#include <mutex>

#include <granary/status.h>

#include "rdma/fabric.h"

namespace granary::rdma {

/// The lives that one node has cut off. A life that is cut off stays cut off. Thread-safe.
class CutLives {
 public:
  /// Notes that `self` has cut off the lives of `node` up to `last`. Returns kInvalidArgument if `self` is among them.
  Status add(const NodeOptions& self, NodeId node, Generation last);
  bool contains(NodeId node, Generation generation) const;

  /// Returns the error of a connect() that was answered by a life of `node` which this node has cut off. It is
  /// kUnavailable, since a later life may answer the next time.
  static Status answered(NodeId node, Generation generation);
  /// Returns the error of a connect() of the life `self` that node `by` refuses because it has cut `self` off. It is
  /// kFailedPrecondition, since no later attempt of this life can succeed.
  static Status refused(const NodeOptions& self, NodeId by);

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, Generation> last_;  ///< the greatest generation that is cut off
};

}  // namespace granary::rdma
