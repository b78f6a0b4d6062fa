#pragma once
// Runs steps in rounds. The operations of all steps are posted before anything is waited for, in as few chains as there
// are nodes to reach. So a round costs one round trip, to however many nodes.

#include <span>
#include <vector>

#include "rdma/fiber/fabric_wait.h"
#include "rdma/fiber/peers.h"
#include "rdma/fiber/step.h"
#include "src/base/waiter.h"

namespace granary::rdma::fiber {

/// Counts the operations that have been posted so far.
struct Traffic {
  std::uint64_t rounds = 0;  ///< each one is a round trip, to however many nodes
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t writes = 0;
  std::uint64_t compare_swaps = 0;  ///< fetch-adds, too
};

/// Runs many steps at once. One fiber, or one thread outside of fibers, calls it.
class Rounds {
 public:
  Rounds(Scheduler& scheduler, FiberEndpoint& endpoint, const Peers& peers, base::Waiter& waiter)
      : scheduler_(scheduler),
        endpoint_(endpoint),
        peers_(peers),
        waiter_(waiter) {}

  /// Runs the steps until all have ended. Operations of steps to one node take effect in the order of the steps
  /// (rdma/fabric.h).
  void run(std::span<Step* const> steps);
  /// Posts the first round of all steps, and waits for nothing. Steps that could not be posted have failed when it
  /// returns. For the others, the caller calls interpret() or fail() when `chains` is not under way any more.
  void start(std::span<Step* const> steps, Chains& chains);
  const Traffic& traffic() const { return traffic_; }
  void run(Step& step) {
    Step* const one = &step;
    run({&one, 1});
  }

 private:
  void round(std::span<Step*> open);
  static std::span<Step*> take_one_node(std::span<Step*> open);
  void post(std::span<Step*> steps, Chains& chains);
  void count(std::span<const Operation> chain);
  void post_parts(ConnectionId connection, Chains& chains);

  Scheduler& scheduler_;
  FiberEndpoint& endpoint_;
  const Peers& peers_;
  base::Waiter& waiter_;
  // Used by run(). These are members only so that their memory is used again.
  std::vector<Step*> open_;  ///< nullptr if the step has ended in this round
  std::vector<Operation> chain_;
  struct Part {
    Step** step;
    std::size_t end;  ///< the end of its operations in chain_
  };
  std::vector<Part> parts_;  ///< parts of chain_ that are not posted yet
  bool pause_ = false;       ///< whether a step wants a pause
  Traffic traffic_;
};

}  // namespace granary::rdma::fiber
