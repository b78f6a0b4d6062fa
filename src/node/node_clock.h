#pragma once
// Has the clock of a cluster's node, and the thread that keeps it.

#include <memory>

#include <granary/status.h>

#include "cluster_config/clock/clock_thread.h"
#include "cluster_config/config.h"

namespace granary::db {

class NodeClock {
 public:
  static Result<std::unique_ptr<NodeClock>> open(const cluster_config::ClusterConfig& config);

  /// Returns the clock's time, which lives as long as this.
  const base::SoftTime& time() const { return clock_.time(); }
  cluster_config::clock::ClockReport report() const { return clock_.report(); }

 private:
  NodeClock(std::unique_ptr<cluster_config::clock::TimeSource> source, std::uint64_t longest_lease_us);

  cluster_config::clock::Clock clock_;
  const cluster_config::clock::ClockThread thread_{clock_};
};

}  // namespace granary::db
