#include "src/db/released.h"

#include <chrono>
#include <thread>

namespace granary::db {

epoch::Epoch durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log) {
  if (!epochs.in_cluster()) return log.durable().current();
  return epochs.control().by_leader.durable.load(std::memory_order_acquire);
}

Status wait_durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch) {
  if (const Status here = log.durable().wait(epoch); !here.ok() || !epochs.in_cluster()) return here;
  // The leader's compare-and-swap comes without a sign. D moves once an epoch period, of 40 ms.
  while (durable_everywhere(epochs, log) < epoch) {
    if (log.durable().failed()) return log.durable().cause();
    if (epochs.control().by_node.serving.load(std::memory_order_acquire) == 0) {
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
