#pragma once
// Keeps the connections of a fabric's endpoints to its peers, so that another thread than an endpoint's can break those
// to a life that is cut off.

#include <mutex>
#include <set>

#include "rdma/cut_lives.h"
#include "rdma/fabric.h"

namespace granary::rdma::verbs {

class Connection;

/// The connections of one fabric. Thread-safe.
class OpenConnections {
 public:
  /// `cut_lives` must outlive this object.
  explicit OpenConnections(const CutLives& cut_lives) : cut_lives_(cut_lives) {}

  /// Adds a connection until remove(). Returns false if its peer's life is cut off.
  [[nodiscard]] bool add(Connection& connection);
  /// Removes a connection, which need not have been added. After that no other thread touches it.
  void remove(Connection& connection);
  /// Breaks the connections to lives of `node` up to `last`, which are noted in `cut_lives` already.
  void cut_off(NodeId node, Generation last);

 private:
  const CutLives& cut_lives_;
  std::mutex mutex_;
  std::set<Connection*> connections_;
};

}  // namespace granary::rdma::verbs
