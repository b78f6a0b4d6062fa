#include "src/db/cluster/node_clock.h"

#include "cluster_config/clock/open_source.h"

namespace granary::db {

NodeClock::NodeClock(std::unique_ptr<cluster_config::clock::TimeSource> source)
    : clock_(std::move(source), base::TscClock::calibrated()) {}

Result<std::unique_ptr<NodeClock>> NodeClock::open(const cluster_config::ClockConfig& config) {
  auto source = cluster_config::clock::open_source(config);
  if (!source.ok()) return source.status();
  return std::unique_ptr<NodeClock>(new NodeClock(std::move(source).value()));
}

}  // namespace granary::db
