#include "bench/fabric/nodes.h"

#include "bench/fabric/bench_provider.h"

namespace granary::bench::fabric {
namespace {

using namespace rdma;

constexpr NodeId kHere = 1;
constexpr NodeId kThere = 2;
constexpr RegionId kReached = 1;
constexpr RegionId kBuffers = 2;
constexpr std::uint64_t kTimeout_us = 5'000'000;

Result<std::unique_ptr<memory::Region>> map(std::uint64_t bytes) {
  return memory::Region::map({.reserve_bytes = bytes, .prefault_bytes = bytes, .shared = true});
}

Status offer(Fabric& fabric, memory::Region& region) {
  if (Status status = fabric.register_region({.id = kReached}, region); !status.ok()) return status;
  return fabric.listen();
}

Status open_fabrics(Nodes& nodes, cluster_config::Provider provider, const std::string& run_directory) {
  const bool one_node = traits(provider).loopback;
  if (!one_node) {
    auto target = open_bench_fabric(provider, kThere, run_directory);
    if (!target.ok()) return target.status();
    nodes.target = std::move(target).value();
    if (Status status = offer(*nodes.target, *nodes.there); !status.ok()) return status;
  }
  auto fabric = open_bench_fabric(provider, one_node ? kThere : kHere, run_directory);
  if (!fabric.ok()) return fabric.status();
  nodes.fabric = std::move(fabric).value();
  const RegionSpec buffers{.id = kBuffers, .access = Access::kLocal};
  if (Status status = nodes.fabric->register_region(buffers, *nodes.here); !status.ok()) return status;
  return one_node ? offer(*nodes.fabric, *nodes.there) : nodes.fabric->listen();
}

Status connect(Nodes& nodes) {
  auto endpoint = nodes.fabric->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  nodes.endpoint = std::move(endpoint).value();
  const Result<ConnectionId> connection = nodes.endpoint->connect(kThere, kTimeout_us);
  if (!connection.ok()) return connection.status();
  nodes.connection = *connection;
  nodes.first = {
      .node = kThere, .region = kReached, .generation = nodes.endpoint->peer_generation(*connection), .offset = 0};
  Fabric& target = nodes.target != nullptr ? *nodes.target : *nodes.fabric;
  auto answerer = target.open_endpoint();
  if (!answerer.ok()) return answerer.status();
  nodes.answerer = std::move(answerer).value();
  const Result<ConnectionId> back = nodes.answerer->connect(nodes.fabric->node().node, kTimeout_us);
  if (!back.ok()) return back.status();
  nodes.back = *back;
  return {};
}

}  // namespace

Result<Nodes> open_nodes(cluster_config::Provider provider, std::uint64_t region_bytes, std::uint64_t buffer_bytes,
                         const std::string& run_directory) {
  auto there = map(region_bytes);
  if (!there.ok()) return there.status();
  auto here = map(buffer_bytes);
  if (!here.ok()) return here.status();
  Nodes nodes;
  nodes.there = std::move(there).value();
  nodes.here = std::move(here).value();
  if (Status status = open_fabrics(nodes, provider, run_directory); !status.ok()) return status;
  if (Status status = connect(nodes); !status.ok()) return status;
  return nodes;
}

}  // namespace granary::bench::fabric
