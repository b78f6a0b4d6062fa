#pragma once
// A worker of a cluster's node that can wait for other nodes: it sleeps at its endpoint when there is nothing to do.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <granary/database.h>
#include <granary/procedure.h>

#include "rdma/mailbox/sleeper.h"
#include "src/cluster/recovery/settle_all.h"
#include "src/cluster/transaction/remote_worker.h"

namespace granary::db {

/// A worker's number among the node's workers that ask other nodes. Its mailboxes lie at the number's place, and its
/// locks carry it.
class WorkerNumber {
 public:
  /// Calls `give_back` when it is destroyed.
  explicit WorkerNumber(std::uint32_t value, std::function<void(std::uint32_t)> give_back = {})
      : value_(value),
        give_back_(std::move(give_back)) {}
  ~WorkerNumber() {
    if (give_back_) give_back_(value_);
  }
  WorkerNumber(WorkerNumber&& other) noexcept : value_(other.value_), give_back_(std::exchange(other.give_back_, {})) {}
  WorkerNumber(const WorkerNumber&) = delete;
  WorkerNumber& operator=(const WorkerNumber&) = delete;

  std::uint32_t value() const { return value_; }
  /// Keeps the number from being given back.
  void keep() { give_back_ = {}; }

 private:
  const std::uint32_t value_;
  std::function<void(std::uint32_t)> give_back_;
};

/// Used by one thread at a time, like its worker.
class ClusterThread {
 public:
  /// Makes a worker with this number. The number is given back when all else that the worker has is gone; never if it
  /// is destroyed while records are left locked at nodes that live.
  static Result<std::unique_ptr<ClusterThread>> open(Database& database, cluster::NodeParts& node, WorkerNumber number);
  /// Precondition: the worker's transactions have ended.
  ~ClusterThread();
  ClusterThread(const ClusterThread&) = delete;
  ClusterThread& operator=(const ClusterThread&) = delete;

  std::uint32_t number() const { return number_.value(); }
  Worker& worker() { return worker_; }
  cluster::messages::Messenger& messenger() { return remote_->messenger(); }
  const cluster::ReachCounters& counters() const { return remote_->counters(); }
  bool has_left_locks() const { return remote_->has_left_locks(); }
  /// Ends the work at other nodes, and waits a while for nodes at which records were left locked. Precondition: the
  /// worker's transactions have ended. After it only give_back(), give_back_now(), has_left_locks(), counters() and the
  /// destructor may be used, by any thread, one at a time.
  void finish();
  /// Tries once more to give back the records that finish() has left locked, if it is time to. Waits for connections,
  /// and for the homes' answers to messages::NoteRemoved, but not for homes that are `silent`; adds those that do not
  /// answer.
  void give_back(cluster::Undelivered::Silent& silent) { remote_->give_back(silent); }
  /// Does so without regard to when the last try was.
  void give_back_now(cluster::Undelivered::Silent& silent) { remote_->give_back_now(silent); }
  /// Does what ClusterWorker::run_together() promises. Precondition: the count is allowed.
  Status run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body);
  void let_others_run();
  /// Settles what a dead node owes at the nodes that live, between this worker's transactions (cluster::settle_all).
  /// `room` is registered memory.
  Result<cluster::SettleCounts> settle(std::span<const log::Debt> debts, std::span<char> room,
                                       std::function<bool()> may_act);
  /// Sets a function that is called when this ends, while its counters can still be read.
  void on_end(std::function<void(ClusterThread&)> act) { on_end_ = std::move(act); }

 private:
  ClusterThread(Worker worker, WorkerNumber number, cluster::NodeParts& node, std::unique_ptr<rdma::Endpoint> endpoint);

  /// Waits between polls that found nothing.
  class Idle final : public base::Waiter {
   public:
    explicit Idle(ClusterThread& thread) : thread_(thread) {}
    void pause(std::uint32_t turn) override;

   private:
    ClusterThread& thread_;
  };

  /// It is the first member, so that it goes last: the next worker with this number finds worker, endpoint and
  /// mailboxes free.
  WorkerNumber number_;
  Worker worker_;
  Idle idle_{*this};
  rdma::fiber::Scheduler scheduler_;
  std::unique_ptr<cluster::RemoteWorker> remote_;
  std::unique_ptr<rdma::mailbox::Sleeper> sleeper_;
  std::function<void(ClusterThread&)> on_end_;
  bool finished_ = false;
};

}  // namespace granary::db
