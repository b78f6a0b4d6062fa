#pragma once
// Gives a worker its reach: endpoint, connections, messages, and transactions that go to other nodes.

#include <cstdint>
#include <functional>
#include <memory>

#include "src/cluster/transaction/reach.h"
#include "src/txn/worker_core.h"

namespace granary::cluster {

/// What a node has for all of its workers; outlives them.
struct NodeParts {
  rdma::Fabric& fabric;
  messages::MailboxLayout layout;
  char* mailboxes = nullptr;  ///< this node's region of mailboxes
  const Directory& directory;
  BufferPool& buffers;
  base::Waiter& waiter;                  ///< of threads that have looked in vain for long: gives the processor away
  const base::SoftTime* time = nullptr;  ///< the cluster's; none: no leases are taken
  /// For how long a lease can be relied on by whoever takes it: long beside a transaction, as one that takes longer is in vain;
  /// short beside patience, as writers wait for its end.
  std::uint64_t lease_us = 400;
  bool reads_lease = true;  ///< false: what is declared to be read is x-locked, too
  std::function<std::uint64_t()> now_us;
  std::uint64_t timeout_us = 10'000'000;       ///< of a question to another node, which may be very busy
  std::uint64_t connect_timeout_us = 500'000;  ///< for a node that does not answer
  /// Whether a node is a member that lives: others are not waited for. Thread-safe. Empty: all are.
  std::function<bool(rdma::NodeId)> lives = {};
  /// Whether a node that cannot be used is being recovered, or has begun to come back and does not serve all others yet. What needs it,
  /// or what it held when it died, then ends as kNodeRecovering. Thread-safe. Empty: nodes do not come back while others serve.
  std::function<bool(rdma::NodeId)> comes_back = {};
};

/// Of one thread, that of its scheduler, which calls poll(). Dies after the worker's transactions have ended, before its core is
/// given back.
class RemoteWorker {
 public:
  /// `core` has not begun a transaction yet. `number`: the worker's among the node's, below NodeParts::layout.workers.
  RemoteWorker(NodeParts& node, txn::WorkerCore& core, std::uint32_t number, rdma::fiber::Scheduler& scheduler,
               std::unique_ptr<rdma::Endpoint> endpoint);
  ~RemoteWorker();
  RemoteWorker(const RemoteWorker&) = delete;
  RemoteWorker& operator=(const RemoteWorker&) = delete;

  /// Ends the worker's transactions, and gives back what they have left locked elsewhere: waits for nodes that live, as long as for
  /// an answer. The last call but poll() before this object dies.
  void finish();
  /// Whether it has left records locked at nodes that live. Its words are there, so no other worker may have its number.
  bool has_left_locks() const { return !reach_.undelivered.empty(); }
  /// What the scheduler's poll has to do.
  void poll();
  /// Returns when nothing that transactions have written is under way any more (Context::has_arrived).
  void await_arrival();

  messages::Messenger& messenger() { return messenger_; }
  /// For what the worker's thread does at other nodes between its transactions, while they have nothing under way.
  Reach& reach() { return reach_; }
  const ReachCounters& counters() const { return reach_.counters; }

 private:
  /// How the worker waits in the engine and between looks: lets fibers run and the fabric go on, and in time the thread rest.
  class Waiter final : public base::Waiter {
   public:
    Waiter(rdma::fiber::Scheduler& scheduler, base::Waiter& thread) : scheduler_(scheduler), thread_(thread) {}
    void pause(std::uint32_t turn) override;

   private:
    rdma::fiber::Scheduler& scheduler_;
    base::Waiter& thread_;
  };

  txn::WorkerCore& core_;
  const std::unique_ptr<rdma::Endpoint> endpoint_;
  rdma::fiber::Peers peers_;
  messages::Messenger messenger_;
  rdma::fiber::FiberEndpoint fibers_;
  Waiter waiter_;
  const LeaseExpired lease_expired_;
  Reach reach_;
  const std::uint64_t patience_us_;
};

}  // namespace granary::cluster
