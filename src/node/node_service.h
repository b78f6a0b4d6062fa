#pragma once
// Answers other nodes, by the service's thread, which has a worker of the database, an epoch slot and an endpoint of
// its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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
  /// The parts of the node that the service serves. All of them outlive it.
  struct Node {
    rdma::NodeId id;
    Database& database;
    rdma::Fabric& fabric;
    const cluster::messages::MailboxLayout& layout;
    char* mailboxes;
    std::string data_directory;            ///< "" if the node has none
    std::function<std::string()> control;  ///< answers Control; called by the service's thread
  };

  ~NodeService() { end(); }

  /// Begins to answer. Returns kResourceExhausted if the database has no worker or epoch slot left.
  Status begin(const Node& node);
  /// Ends the service: no node is answered any more.
  void end();

  /// Returns the queue in which procedures that other nodes call wait for a CallWorkers thread. It is there from
  /// begin() on.
  cluster::messages::CallQueue& calls() { return *calls_; }
  /// Returns this node's shared tables, as other nodes are told of them. Called between begin() and end(). It may use
  /// owner_, which is the service's thread's otherwise: descriptions do not change any more, so they are only read.
  cluster::messages::DescribeAnswer description() const { return owner_->description(); }
  /// Takes back what the other node was lent of this node's memory (Service::forget()). Any thread may call it.
  void forget(rdma::NodeId node);
  /// Returns how often a worker of another node was cut off (ClusterStatistics::cut_off). Any thread may call it.
  std::uint64_t cut_off() const;

 private:
  epoch::EpochManager* epochs_ = nullptr;  ///< has slot_
  Worker worker_;
  epoch::Slot* slot_ = nullptr;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::vector<txn::TableCore*> tables_;  ///< all tables of the database by id, for owner_
  std::unique_ptr<cluster::messages::Owner> owner_;
  std::unique_ptr<cluster::messages::CallQueue> calls_;
  std::unique_ptr<LogFiles> log_files_;  ///< nullptr without a directory
  mutable std::mutex mutex_;             ///< guards service_ against cut_off() and forget(), and cut_off_
  std::unique_ptr<cluster::messages::Service> service_;
  std::uint64_t cut_off_ = 0;  ///< the count of a service that has ended
  std::unique_ptr<cluster::messages::ServiceThread> thread_;
};

}  // namespace granary::db
