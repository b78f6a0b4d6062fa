#pragma once
// An endpoint that hands everything on to another one, and counts the calls. What behaves otherwise is derived from it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "rdma/fabric.h"

namespace granary::rdma::test {

class ForwardingEndpoint : public Endpoint {
 public:
  explicit ForwardingEndpoint(std::unique_ptr<Endpoint> own) : own_(std::move(own)) {}

  /// How often somebody has asked this endpoint for something.
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

  const Limits& limits() const override { return counted().limits(); }
  Result<ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) override {
    return counted().connect(peer, timeout_us);
  }
  void disconnect(ConnectionId connection) override { counted().disconnect(connection); }
  Status status(ConnectionId connection) const override { return counted().status(connection); }
  Generation peer_generation(ConnectionId connection) const override { return counted().peer_generation(connection); }
  std::uint64_t peer_region_bytes(ConnectionId connection, RegionId region) const override {
    return counted().peer_region_bytes(connection, region);
  }
  PostResult post(ConnectionId connection, std::span<const Operation> chain, Signal signal,
                  std::uint64_t tag) override {
    return counted().post(connection, chain, signal, tag);
  }
  std::size_t poll(std::span<Completion> completions) override { return counted().poll(completions); }
  BellId bell() const override { return counted().bell(); }
  PostResult ring(ConnectionId connection, BellId bell) override { return counted().ring(connection, bell); }
  bool sleep(std::uint64_t timeout_us) override { return counted().sleep(timeout_us); }
  void rouse() override { counted().rouse(); }

 private:
  Endpoint& counted() const {
    calls_.fetch_add(1, std::memory_order_relaxed);
    return *own_;
  }

  const std::unique_ptr<Endpoint> own_;
  mutable std::atomic<std::uint64_t> calls_{0};  ///< only a count, so relaxed: any thread may rouse the endpoint
};

}  // namespace granary::rdma::test
