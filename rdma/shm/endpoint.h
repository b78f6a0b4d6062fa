#pragma once
// Implements the endpoint of shm: post() does the operations on the spot, and poll() only reports them.

#include <functional>
#include <memory>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/region_table.h"
#include "rdma/shm/execute.h"
#include "rdma/shm/peer.h"

namespace granary::rdma::shm {

class ShmEndpoint final : public Endpoint {
 public:
  /// Finds the living peer, and greets it if need be.
  using FindPeer = std::function<Result<std::shared_ptr<Peer>>(NodeId node, std::uint64_t timeout_us)>;

  /// `local` must outlive the endpoint and does not change.
  ShmEndpoint(const LocalRegions& local, OwnBells::Taken bell, FindPeer find_peer)
      : local_(local),
        bell_(std::move(bell)),
        heard_(bell_.bell().rings()),
        find_peer_(std::move(find_peer)) {}

  const Limits& limits() const override;
  Result<ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) override;
  void disconnect(ConnectionId connection) override { connections_[connection]->disconnected = true; }
  Status status(ConnectionId connection) const override;
  Generation peer_generation(ConnectionId connection) const override;
  std::uint64_t peer_region_bytes(ConnectionId connection, RegionId region) const override;
  PostResult post(ConnectionId connection, std::span<const Operation> chain, Signal signal, std::uint64_t tag) override;
  std::size_t poll(std::span<Completion> completions) override;
  BellId bell() const override { return bell_.id(); }
  PostResult ring(ConnectionId connection, BellId bell) override;
  bool sleep(std::uint64_t timeout_us) override;
  void rouse() override { bell_.bell().ring(); }

 private:
  struct Connection {
    explicit Connection(std::shared_ptr<Peer> to) : node(to->regions().node()), peer(std::move(to)) {}
    bool broken() const { return disconnected || peer == nullptr || peer->dead(); }
    std::string why_broken() const;
    /// Lets go of the memory of a peer that is not reached any more. The system gets it back when all endpoints have
    /// done so.
    void give_up();

    const NodeId node;
    std::shared_ptr<Peer> peer;  ///< nullptr once it was given up
    std::string why_given_up;
    std::uint32_t outstanding = 0;  ///< operations whose chains poll() has not seen yet
    bool disconnected = false;
    StoreOrder order;
  };
  /// The completion of a chain that was done and is to be reported.
  struct Done {
    std::uint64_t tag;
    ConnectionId connection;
    std::uint32_t operations;
    Signal signal;
  };

  static void execute_all(std::span<const Operation> chain, Connection& at);
  void give_up_broken();

  const LocalRegions& local_;
  const OwnBells::Taken bell_;
  std::uint32_t heard_;  ///< the bell's count when the last sleep ended
  const FindPeer find_peer_;
  std::vector<std::unique_ptr<Connection>> connections_;
  static constexpr std::size_t kMostSeenKept = 1024;
  std::vector<Done> done_;  ///< poll() has seen those before next_done_, and drops them together, mostly all of them
  std::size_t next_done_ = 0;
};

}  // namespace granary::rdma::shm
