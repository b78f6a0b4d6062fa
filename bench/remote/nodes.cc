#include "bench/remote/nodes.h"

#include "bench/fabric/bench_provider.h"

namespace granary::bench::remote {
namespace {

constexpr rdma::NodeId kReader = 2;
constexpr rdma::RegionId kBuffers = 2;

/// Opens the reader and, in a process of its own, the owner.
Status open_apart(Nodes& nodes, cluster_config::Provider provider, const Data& data, const std::string& run_directory) {
  auto process = OwnerProcess::start(provider, data, run_directory);
  if (!process.ok()) return process.status();
  nodes.process = std::move(process).value();
  nodes.tables = nodes.process->tables();
  auto fabric = bench::fabric::open_bench_fabric(provider, kReader, run_directory);
  if (fabric.ok()) nodes.fabric = std::move(fabric).value();
  return fabric.status();
}

/// Opens a reader that is the owner, too.
Status open_one(Nodes& nodes, cluster_config::Provider provider, const Data& data, const std::string& run_directory) {
  auto own = OwnedTable::make(data);
  if (!own.ok()) return own.status();
  nodes.own = std::move(own).value();
  nodes.tables = nodes.own->tables();
  auto fabric = bench::fabric::open_bench_fabric(provider, kOwner, run_directory);
  if (!fabric.ok()) return fabric.status();
  nodes.fabric = std::move(fabric).value();
  return nodes.fabric->register_region({.id = kTableRegion}, nodes.own->region());
}

}  // namespace

Result<Nodes> open_nodes(cluster_config::Provider provider, const Data& data, const std::string& run_directory) {
  Nodes nodes;
  Status status = traits(provider).loopback ? open_one(nodes, provider, data, run_directory)
                                            : open_apart(nodes, provider, data, run_directory);
  if (!status.ok()) return status;
  return nodes;
}

Status listen(Nodes& nodes, std::uint64_t buffer_bytes) {
  auto buffers = memory::Region::map({.reserve_bytes = buffer_bytes, .prefault_bytes = buffer_bytes, .shared = true});
  if (!buffers.ok()) return buffers.status();
  nodes.buffers = std::move(buffers).value();
  const rdma::RegionSpec local{.id = kBuffers, .access = rdma::Access::kLocal};
  if (Status status = nodes.fabric->register_region(local, *nodes.buffers); !status.ok()) return status;
  if (Status status = nodes.fabric->listen(); !status.ok()) return status;
  auto endpoint = nodes.fabric->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  nodes.endpoint = std::move(endpoint).value();
  return {};
}

}  // namespace granary::bench::remote
