#include "bench/remote/nodes.h"

#include "rdma/shm/shm_fabric.h"
#include "rdma/verbs/verbs_fabric.h"

namespace granary::bench::remote {
namespace {

constexpr rdma::NodeId kReader = 2;
constexpr rdma::RegionId kBuffers = 2;

Status open_shm(Nodes& nodes, const Data& data, const std::string& run_directory) {
  auto process = OwnerProcess::start(data, run_directory);
  if (!process.ok()) return process.status();
  nodes.process = std::move(process).value();
  nodes.table = nodes.process->table();
  auto fabric = rdma::shm::open_shm_fabric({.node = {.node = kReader}, .run_directory = run_directory});
  if (fabric.ok()) nodes.fabric = std::move(fabric).value();
  return fabric.status();
}

Status open_verbs(Nodes& nodes, const Data& data) {
  auto own = OwnedTable::make(data);
  if (!own.ok()) return own.status();
  nodes.own = std::move(own).value();
  nodes.table = nodes.own->table();
  rdma::verbs::VerbsOptions options;
  options.node.node = kOwner;
  options.tolerate_swap_stores = true;  // nothing is raced here
  auto fabric = rdma::verbs::open_verbs_fabric(options);
  if (!fabric.ok()) return fabric.status();
  nodes.fabric = std::move(fabric).value();
  return nodes.fabric->register_region({.id = kTableRegion}, nodes.own->region());
}

}  // namespace

Result<Nodes> open_nodes(const std::string& provider, const Data& data, const std::string& run_directory) {
  Nodes nodes;
  Status status = provider == "shm" ? open_shm(nodes, data, run_directory) : open_verbs(nodes, data);
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
