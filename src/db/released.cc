#include "src/db/released.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace granary::db {
namespace {

/// Whether the leader has ever admitted this node in this life. That stays true when the node no longer serves.
bool has_served(const epoch::EpochManager& epochs) {
  return epochs.control().by_leader.admitted.load(std::memory_order_acquire) != 0;
}

/// Returns why `epoch` may not be durable yet, by what this node alone knows.
std::string guess(const epoch::EpochManager& epochs, epoch::Epoch epoch, bool by_hand) {
  if (by_hand) {
    return fmt::format(
        "E is {}: nobody calls Database::step(), by which alone E moves on and the log is written with "
        "Background::kManual, or a transaction that stays open holds E back",
        epochs.current());
  }
  if (epochs.in_cluster()) {
    if (!has_served(epochs)) return "this node has not started yet";
    if (epochs.control().by_node.durable.load(std::memory_order_acquire) >= epoch)
      return "this node's device has it, and another node's has not: log_status() there tells more";
  }
  return fmt::format("E is {}: the disk is slow, or a transaction that stays open holds E back", epochs.current());
}

Status not_in_time(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch,
                   const ReleasePatience& patience) {
  const std::string known = patience.obstacle != nullptr && *patience.obstacle ? (*patience.obstacle)() : std::string();
  return {StatusCode::kUnavailable,
          fmt::format("epoch {} is not durable after {:.1f} s, and may become so later; D is {}. The reason: {}", epoch,
                      static_cast<double>(patience.timeout_us) / 1e6, durable_everywhere(epochs, log),
                      known.empty() ? guess(epochs, epoch, patience.by_hand) : known)};
}

}  // namespace

epoch::Epoch durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log) {
  if (!epochs.in_cluster()) return log.durable().current();
  return epochs.control().by_leader.durable.load(std::memory_order_acquire);
}

/// Polls if there is more to see than this node's log can signal. In a cluster D comes by a compare-and-swap of the
/// leader, which wakes nobody, and a wait for this node's own log may be for an epoch that will not come. D moves once
/// in an epoch period, so a look in each millisecond is often enough.
Status wait_durable_everywhere(const epoch::EpochManager& epochs, const log::Log& log, epoch::Epoch epoch,
                               const ReleasePatience& patience) {
  const auto begin = std::chrono::steady_clock::now();
  if (!epochs.in_cluster() && patience.cancel == nullptr) {
    const Status waited = log.durable().wait(epoch, patience.timeout_us);
    return waited.ok() || log.durable().failed() ? waited : not_in_time(epochs, log, epoch, patience);
  }
  while (durable_everywhere(epochs, log) < epoch) {
    if (log.durable().failed()) return log.durable().cause();
    if (patience.cancel != nullptr && patience.cancel->load(std::memory_order_relaxed))
      return {StatusCode::kUnavailable, "the database closes before that is durable"};
    const bool serves = epochs.serves();
    if (!serves && has_served(epochs)) {
      return {
          StatusCode::kMembershipLost,
          "this node is no member of its cluster any more; whether the transaction survives, the cluster's recovery "
          "will show"};
    }
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    if (static_cast<std::uint64_t>(waited.count()) >= patience.timeout_us)
      return not_in_time(epochs, log, epoch, patience);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

}  // namespace granary::db
