#pragma once
// What answers other nodes here: the service's thread, with a worker of the database, an epoch slot and an endpoint of
// its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <granary/database.h>

#include "rdma/fabric.h"
#include "src/cluster/messages/call_queue.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/messages/owner.h"
#include "src/cluster/messages/service.h"
#include "src/cluster/messages/service_thread.h"
#include "src/node/log_files.h"

namespace granary::db {

class NodeService {
 public:
  /// What the service serves, all of which outlives it.
  struct Node {
    rdma::NodeId id;
    Database& database;
    rdma::Fabric& fabric;
    const cluster::messages::MailboxLayout& layout;
    char* mailboxes;
    std::string data_directory;            ///< "": none
    std::function<std::string()> control;  ///< answers Control; called by the service's thread
  };

  ~NodeService() { end(); }

  /// kResourceExhausted if the database has no worker or epoch slot left.
  Status begin(const Node& node);
  /// Nobody is answered any more.
  void end();

  /// Procedures that other nodes call here wait in it for who runs them. From begin() on.
  cluster::messages::CallQueue& calls() { return *calls_; }
  /// Returns this node's shared tables, as other nodes are told of them; none if that cannot be told. From begin() to
  /// end().
  std::optional<cluster::messages::DescribeAnswer> description() const;
  /// Has what the node was lent of this node's memory taken back: Service::forget(). Any thread.
  void forget(rdma::NodeId node);
  /// Returns how often a worker of another node was cut off (ClusterStatistics::cut_off). Any thread.
  std::uint64_t cut_off() const;

 private:
  epoch::EpochManager* epochs_ = nullptr;  ///< of slot_
  Worker worker_;
  epoch::Slot* slot_ = nullptr;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::vector<txn::TableCore*> tables_;  ///< all of the database's by id, for the owner
  std::unique_ptr<cluster::messages::Owner> owner_;
  std::unique_ptr<cluster::messages::CallQueue> calls_;
  std::unique_ptr<LogFiles> log_files_;  ///< none without a directory
  mutable std::mutex mutex_;             ///< guards service_ against cut_off() and forget(), and cut_off_
  std::unique_ptr<cluster::messages::Service> service_;
  std::uint64_t cut_off_ = 0;  ///< by a service that has ended
  std::unique_ptr<cluster::messages::ServiceThread> thread_;
};

}  // namespace granary::db
