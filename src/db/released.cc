#include "src/db/released.h"

#include <chrono>
#include <thread>

namespace granary::db {

epoch::Epoch durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log) {
  if (!epochs.in_cluster()) return log.durable().current();
  return epochs.control().by_leader.durable.load(std::memory_order_acquire);
}

/// Looks again and again where more has to be seen than the log tells: the leader's compare-and-swap comes without a sign, and D moves
/// once an epoch period, of 40 ms. In a cluster this node's own log may wait for an epoch that will not come.
Status wait_durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch,
                               const std::atomic<bool>* cancel) {
  if (!epochs.in_cluster() && cancel == nullptr) return log.durable().wait(epoch);
  while (durable_everywhere(epochs, log) < epoch) {
    if (log.durable().failed()) return log.durable().cause();
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
      return {StatusCode::kUnavailable, "the database closes before that is durable"};
    if (epochs.in_cluster() && epochs.control().by_node.serving.load(std::memory_order_acquire) == 0) {
      return {
          StatusCode::kMembershipLost,
          "this node is no member of its cluster any more; whether the transaction survives, the cluster's recovery "
          "will show"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

}  // namespace granary::db
