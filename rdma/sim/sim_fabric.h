#pragma once
// Implements one life of a simulated node.

#include <vector>

#include "rdma/cut_lives.h"
#include "rdma/fabric.h"
#include "rdma/region_table.h"
#include "rdma/sim/sim_network.h"

namespace granary::rdma::sim {

class SimEndpoint;

class SimFabric final : public Fabric {
 public:
  SimFabric(SimNetwork& network, const NodeOptions& node) : network_(network), node_(node) {}
  ~SimFabric() override { network_.forget(this); }

  const NodeOptions& node() const override { return node_; }
  std::string_view provider() const override { return "sim"; }
  Status register_region(const RegionSpec& spec, memory::Region& region) override;
  Status listen() override;
  Result<std::unique_ptr<Endpoint>> open_endpoint() override;
  /// Cuts off at once, as virtual time does not pass inside a call.
  Status cut_off(NodeId node, Generation last) override;

  // The next functions are for this folder.
  SimNetwork& network() { return network_; }
  const LocalRegions& regions() const { return regions_; }
  bool listening() const { return listening_; }
  bool crashed() const { return crashed_; }
  const CutLives& cut_lives() const { return cut_lives_; }
  /// Returns the memory of a region that peers can reach.
  char* base(RegionId region) const;
  /// Takes a peer's ring.
  void ring(BellId bell);
  void crash();
  void forget(SimEndpoint* endpoint) { std::erase(endpoints_, endpoint); }

 private:
  SimNetwork& network_;
  const NodeOptions node_;
  LocalRegions regions_;
  CutLives cut_lives_;
  std::vector<SimEndpoint*> endpoints_;
  BellId bells_ = 0;  ///< how many were given to endpoints so far
  bool listening_ = false;
  bool crashed_ = false;
};

}  // namespace granary::rdma::sim
