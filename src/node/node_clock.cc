#include "src/node/node_clock.h"

#include "cluster_config/clock/open_source.h"

namespace granary::db {

NodeClock::NodeClock(std::unique_ptr<cluster_config::clock::TimeSource> source, std::uint64_t longest_lease_us)
    : clock_(std::move(source), base::TscClock::calibrated(), {.longest_lease_us = longest_lease_us}) {}

Result<std::unique_ptr<NodeClock>> NodeClock::open(const cluster_config::ClusterConfig& config) {
  auto source = cluster_config::clock::open_source(config.clock);
  if (!source.ok()) return source.status();
  return std::unique_ptr<NodeClock>(new NodeClock(std::move(source).value(), config.lease_us));
}

}  // namespace granary::db
