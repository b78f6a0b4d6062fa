#pragma once
// Implements the endpoint of a simulated node. Nothing happens in its calls but sleep(), as time passes only in
// SimNetwork::step().

#include <memory>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/sim/connection.h"
#include "rdma/sim/sim_fabric.h"

namespace granary::rdma::sim {

class SimEndpoint final : public Endpoint {
 public:
  SimEndpoint(SimFabric& fabric, BellId bell) : fabric_(fabric), bell_(bell) {}
  ~SimEndpoint() override;

  const Limits& limits() const override;
  /// Succeeds or fails at once, as virtual time does not pass inside a call.
  Result<ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) override;
  void disconnect(ConnectionId connection) override { at(connection).break_now("disconnected here"); }
  Status status(ConnectionId connection) const override;
  Generation peer_generation(ConnectionId connection) const override {
    return connections_[connection].given_up ? 0 : at(connection).regions().generation();
  }
  std::uint64_t peer_region_bytes(ConnectionId connection, RegionId region) const override;
  PostResult post(ConnectionId connection, std::span<const Operation> chain, Signal signal, std::uint64_t tag) override;
  std::size_t poll(std::span<Completion> completions) override;
  BellId bell() const override { return bell_; }
  PostResult ring(ConnectionId connection, BellId bell) override;
  /// Lets virtual time pass (SimNetwork::set_wait).
  bool sleep(std::uint64_t timeout_us) override;
  void rouse() override { rung_ = true; }

  /// Is called when its node has crashed.
  void crash();
  void hear_ring() { rung_ = true; }

 private:
  Connection& at(ConnectionId connection) const { return *connections_[connection].queue_pair; }
  Status refusal(NodeId peer) const;
  /// Whether something has happened since the last call of this function.
  bool roused();

  struct Numbered {
    std::shared_ptr<Connection> queue_pair;
    std::uint32_t outstanding = 0;
    bool breakage_noticed = false;  ///< whether a sleep has ended because of it
    bool given_up = false;          ///< whether it was broken, and another connect() was tried
  };

  SimFabric& fabric_;
  const BellId bell_;
  bool rung_ = false;
  std::vector<Numbered> connections_;  ///< by ConnectionId
};

}  // namespace granary::rdma::sim
