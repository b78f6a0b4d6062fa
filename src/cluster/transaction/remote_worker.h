#pragma once
// Makes an engine's worker one that reaches other nodes: it gets an endpoint, connections, a messenger, and a
// RemoteTransaction for each of its contexts. src/node makes one for each worker of a cluster's node; simulations make
// them, too.

#include <cstdint>
#include <functional>
#include <memory>

#include "src/cluster/transaction/reach.h"
#include "src/txn/worker_core.h"

namespace granary::cluster {

/// Has the parts of a node that all of its workers use. It outlives them.
struct NodeParts {
  rdma::Fabric& fabric;
  messages::MailboxLayout layout;
  char* mailboxes = nullptr;  ///< this node's region of mailboxes
  const Directory& directory;
  BufferPool& buffers;
  base::Waiter& waiter;                  ///< how a thread waits that has looked many times: it gives the processor away
  const base::SoftTime* time = nullptr;  ///< the cluster's time; nullptr: no leases are taken
  /// How long its taker can rely on a lease. Much longer than a transaction, since a transaction that outlasts its
  /// lease aborts. Much shorter than what users wait for, since writers wait for the end of leases.
  std::uint64_t lease_us = 400;
  bool reads_lease = true;  ///< false: what is declared to be read is x-locked, too
  std::function<std::uint64_t()> now_us;
  std::uint64_t timeout_us = 10'000'000;  ///< how long to wait for an answer of another node, which may be very busy
  std::uint64_t connect_timeout_us = 500'000;  ///< how long to wait for a connection
  /// Whether a node is a living member. Other nodes are not waited for. Thread-safe. Empty: all are.
  std::function<bool(rdma::NodeId)> lives = {};
  /// Whether a node that cannot be used is being recovered, or has begun to come back and does not serve all others
  /// yet. A transaction that needs the node, or a record that it held when it died, then ends with kNodeRecovering.
  /// Thread-safe. Empty: no node comes back while others serve.
  std::function<bool(rdma::NodeId)> comes_back = {};
};

/// One thread uses it, that of its scheduler, whose polling calls poll(). It ends after the worker's transactions, and
/// before the worker's core is given back.
class RemoteWorker {
 public:
  /// `core` has not begun a transaction yet. `number` is the worker's number at its node, less than
  /// NodeParts::layout.workers.
  RemoteWorker(NodeParts& node, txn::WorkerCore& core, std::uint32_t number, rdma::fiber::Scheduler& scheduler,
               std::unique_ptr<rdma::Endpoint> endpoint);
  ~RemoteWorker();
  RemoteWorker(const RemoteWorker&) = delete;
  RemoteWorker& operator=(const RemoteWorker&) = delete;

  /// Ends the worker's transactions, and gives back the records that they have left locked at other nodes. For that it
  /// waits for nodes that live, up to NodeParts::timeout_us. After it only poll() and the functions that give back may
  /// be called.
  void finish();
  /// Tries once more to give these records back, if it is time to. Waits for connections, and for the homes' answers to
  /// messages::NoteRemoved, but not for homes that are `silent`; adds those that do not answer. A record whose home's
  /// life is over is left to recovery.
  void give_back(Undelivered::Silent& silent) { reach_.undelivered.try_again(reach_, silent); }
  /// Does so without regard to when the last try was.
  void give_back_now(Undelivered::Silent& silent) { reach_.undelivered.try_now(reach_, silent); }
  /// Whether records are left locked at nodes that live. Their x-locks have this worker's number, so no other worker
  /// may get that number.
  bool has_left_locks() const { return !reach_.undelivered.empty(); }
  /// Polls the fabric, ends transactions whose writes have arrived, and moves messages on. Called by the scheduler.
  void poll();
  /// Waits until no transaction has writes under way any more (Context::has_arrived).
  void await_arrival();

  messages::Messenger& messenger() { return messenger_; }
  /// Returns the reach, for work of the worker's thread at other nodes between its transactions, while none of them has
  /// writes under way.
  Reach& reach() { return reach_; }
  const ReachCounters& counters() const { return reach_.counters; }

 private:
  /// How the worker waits, in the engine and for other nodes. Each pause lets other fibers run and polls the fabric;
  /// after many pauses the thread gives the processor away, too. A rest lets the thread sleep, unless it has other
  /// fibers: what they wait for comes within microseconds.
  class Waiter final : public base::Waiter {
   public:
    Waiter(rdma::fiber::Scheduler& scheduler, base::Waiter& thread) : scheduler_(scheduler), thread_(thread) {}
    void pause(std::uint32_t turn) override;
    void rest() override;

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
