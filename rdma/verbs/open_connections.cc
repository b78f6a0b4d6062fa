#include "rdma/verbs/open_connections.h"

#include "rdma/verbs/connection.h"

namespace granary::rdma::verbs {

/// Adds a connection. The life is looked up under the lock: if it is cut off after that, cut_off() finds the
/// connection.
bool OpenConnections::add(Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (cut_lives_.contains(connection.peer, connection.regions().generation())) return false;
  connections_.insert(&connection);
  return true;
}

void OpenConnections::remove(Connection& connection) {
  const std::lock_guard lock(mutex_);
  connections_.erase(&connection);
}

void OpenConnections::cut_off(NodeId node, Generation last) {
  const std::lock_guard lock(mutex_);
  for (Connection* connection : connections_) {
    if (connection->peer == node && connection->regions().generation() <= last) connection->cut_off();
  }
}

}  // namespace granary::rdma::verbs
