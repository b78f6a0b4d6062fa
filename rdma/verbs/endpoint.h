#pragma once
// Implements the endpoint of verbs: it has one completion queue for all its connections.
//
// A broken connection is buried: its queue pair is destroyed, the completion queue is emptied before and after that,
// and all chains that are not known to be done then are reported as broken. So the queue has no completion of it any
// more. As the queue has a place for each operation of each living connection, it cannot overflow.

#include <atomic>
#include <memory>
#include <vector>

#include "rdma/verbs/connection.h"
#include "rdma/verbs/device_context.h"
#include "rdma/verbs/options.h"
#include "rdma/verbs/own_region.h"
#include "rdma/verbs/reports.h"

namespace granary::rdma::verbs {

class VerbsEndpoint final : public Endpoint {
 public:
  /// Opens an endpoint. `options`, `device`, `bells`, `open_connections` and `events`, the channel of a running
  /// EventThread, must outlive it. `number` is its own in this life of the node.
  static Result<std::unique_ptr<Endpoint>> open(const VerbsOptions& options, const DeviceContext& device,
                                                OwnRegion& own, Bells& bells, OpenConnections& open_connections,
                                                rdma_event_channel* events, std::uint32_t number);
  ~VerbsEndpoint() override { bells_.remove(number_); }

  const Limits& limits() const override { return device_.limits(); }
  Result<ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) override;
  void disconnect(ConnectionId connection) override;
  Status status(ConnectionId connection) const override;
  Generation peer_generation(ConnectionId connection) const override;
  std::uint64_t peer_region_bytes(ConnectionId connection, RegionId region) const override;
  PostResult post(ConnectionId connection, std::span<const Operation> chain, Signal signal, std::uint64_t tag) override;
  std::size_t poll(std::span<Completion> completions) override;
  BellId bell() const override { return number_; }
  PostResult ring(ConnectionId connection, BellId bell) override;
  bool sleep(std::uint64_t timeout_us) override;
  void rouse() override { alarm_.raise(); }

 private:
  VerbsEndpoint(const VerbsOptions& options, const DeviceContext& device, OwnRegion::Word word, Alarm alarm,
                Bells& bells, OpenConnections& open_connections, rdma_event_channel* events, std::uint32_t number)
      : options_(options),
        device_(device),
        word_(std::move(word)),
        bells_(bells),
        open_connections_(open_connections),
        events_(events),
        number_(number),
        alarm_(std::move(alarm)) {
    bells_.add(number_, alarm_);
  }

  /// Returns the connection with this id; nullptr if it was given up.
  Connection* find(ConnectionId id) const;
  Result<NodeAddress> address_of(NodeId peer) const;
  /// Returns OK if there may be another connection, to this peer. A broken connection to it is given up.
  Status make_way(NodeId peer);
  std::unique_ptr<Connection> new_connection(NodeId peer, const NodeAddress& address);

  /// Waits until the peer knows that the connection is made, so that its kernel would tell of its death (acceptor.h).
  Status await_welcome(Connection& connection, std::uint16_t place, std::uint64_t deadline_us);
  /// Posts a READ of one word and waits for it. poll() does not report it.
  Status read_word(Connection& connection, RemoteAddress from, std::uint64_t deadline_us);

  /// Takes all completions from the queue. Returns whether there were any.
  bool collect();
  bool await_notice(std::uint64_t timeout_us);
  void settle(const ibv_wc& done);
  void report(Connection& connection, std::uint64_t tag, CompletionStatus status);
  /// Buries the connections that have broken since the last time.
  void attend_alarms();
  void bury(Connection& connection);
  void retire(Connection& connection);

  const VerbsOptions& options_;
  const DeviceContext& device_;
  const OwnRegion::Word word_;  ///< where connect() READs to
  Bells& bells_;
  OpenConnections& open_connections_;
  rdma_event_channel* const events_;
  const std::uint32_t number_;
  const Alarm alarm_;  ///< other threads raise it when a ring has come, or a connection has broken
  CompletionChannel notices_;
  CompletionQueue completions_;
  /// Raised by this or another thread when it breaks a connection. Acquire pairs with its release.
  std::atomic<std::uint32_t> alarms_{0};
  std::uint32_t attended_ = 0;
  std::uint32_t serial_ = 0;                         ///< how often it tried to connect
  std::vector<std::unique_ptr<Connection>> places_;  ///< by the lower half of the id; the upper half counts the uses
  std::vector<std::uint16_t> uses_;
  Reports reports_;
};

}  // namespace granary::rdma::verbs
