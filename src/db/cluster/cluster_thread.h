#pragma once
// A worker of a cluster's node, with what it needs to wait for other nodes: it sleeps at its endpoint when there is nothing to do.

#include <memory>
#include <string>
#include <string_view>

#include <granary/database.h>
#include <granary/procedure.h>

#include "rdma/mailbox/sleeper.h"
#include "src/dist/transaction/remote_worker.h"

namespace granary::db {

/// Used by one thread at a time, as its worker.
class ClusterThread {
 public:
  /// `number`: among the node's workers that ask others.
  static Result<std::unique_ptr<ClusterThread>> open(Database& database, dist::NodeParts& node, std::uint32_t number);
  /// Its transactions have ended.
  ~ClusterThread();
  ClusterThread(const ClusterThread&) = delete;
  ClusterThread& operator=(const ClusterThread&) = delete;

  Worker& worker() { return worker_; }
  dist::messages::Messenger& messenger() { return remote_->messenger(); }
  rdma::fiber::Peers& peers() { return remote_->peers(); }
  const dist::ReachCounters& counters() const { return remote_->counters(); }
  std::uint32_t number() const { return number_; }
  bool has_left_locks() const { return remote_->has_left_locks(); }
  /// Called when it ends.
  void on_end(std::function<void(ClusterThread&)> act) { on_end_ = std::move(act); }

 private:
  ClusterThread(Worker worker, std::uint32_t number, dist::NodeParts& node, std::unique_ptr<rdma::Endpoint> endpoint);

  /// Between polls that found nothing.
  class Idle final : public base::Waiter {
   public:
    explicit Idle(ClusterThread& thread) : thread_(thread) {}
    void pause(std::uint32_t turn) override;

   private:
    ClusterThread& thread_;
  };

  Worker worker_;
  const std::uint32_t number_;
  Idle idle_{*this};
  rdma::fiber::Scheduler scheduler_;
  std::unique_ptr<dist::RemoteWorker> remote_;
  std::unique_ptr<rdma::mailbox::Sleeper> sleeper_;
  std::function<void(ClusterThread&)> on_end_;
};

}  // namespace granary::db
