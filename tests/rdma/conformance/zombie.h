#pragma once
// A node that works on node 1's memory for as long as it lives, whatever node 1 thinks of it: it WRITEs, compares and
// swaps and adds without end, and connects anew when its connection has broken. It tells in its own region, which
// others can read, how that went.

#include <cstring>
#include <memory>

#include "tests/rdma/conformance/world.h"

namespace granary::rdma::conformance {

class Zombie {
 public:
  /// The words of node 1's region that it changes, each in a cache line of its own, and always to a greater value.
  static constexpr std::size_t kWords = 3;
  static constexpr std::uint64_t offset_of(std::size_t word) { return 64 * word; }

  /// The account that it gives at the beginning of its own region.
  struct Account {
    std::uint64_t done = 0;     ///< chains
    std::uint64_t failed = 0;   ///< chains that did not get through, or could not even be posted
    std::uint64_t broken = 0;   ///< connections that have broken
    std::uint64_t refusal = 0;  ///< the StatusCode of the last connect() that failed
  };

  /// `region` is registered as kPeerRegion.
  Zombie(Fabric& fabric, memory::Region& region) : region_(region), endpoint_(fabric.open_endpoint().value()) {}

  void step() {
    Completion completions[kMostChains];
    const std::size_t count = endpoint_->poll(completions);
    under_way_ -= count;
    for (std::size_t i = 0; i < count; ++i)
      ++(completions[i].status == CompletionStatus::kDone ? account_.done : account_.failed);
    if (connected_ && !endpoint_->status(connection_).ok()) {
      post();  // what was under way may have got through before
      connected_ = false;
      ++account_.broken;
    }
    if (!connected_) connect();
    if (connected_ && under_way_ < kMostChains) post();
    std::memcpy(region_.base(), &account_, sizeof account_);
  }

 private:
  static constexpr std::size_t kMostChains = 4;
  static constexpr std::uint64_t kTry_us = 100'000;

  void connect() {
    const Result<ConnectionId> made = endpoint_->connect(1, kTry_us);
    if (!made.ok()) {
      if (made.status().code() != StatusCode::kUnavailable)
        account_.refusal = static_cast<std::uint64_t>(made.status().code());
      return;
    }
    connection_ = *made;
    connected_ = true;
  }
  void post() {
    const Generation life = endpoint_->peer_generation(connection_);
    const auto at = [&](std::size_t word) {
      return RemoteAddress{.node = 1, .region = kPeerRegion, .generation = life, .offset = offset_of(word)};
    };
    auto* const mine = reinterpret_cast<std::uint64_t*>(region_.base() + 4096);
    // The word found is what the next CAS expects, which so succeeds every other time.
    const Operation chain[] = {Operation::write(at(0), &(mine[0] = ++turn_), 8),
                               Operation::compare_swap(at(1), mine[8], mine[8] + 1, &mine[8]),
                               Operation::fetch_add(at(2), 1, &mine[16])};
    ++(endpoint_->post(connection_, chain, Signal::kYes, 0) == PostResult::kPosted ? under_way_ : account_.failed);
  }

  memory::Region& region_;
  const std::unique_ptr<Endpoint> endpoint_;
  ConnectionId connection_ = 0;
  bool connected_ = false;
  std::size_t under_way_ = 0;
  std::uint64_t turn_ = 0;
  Account account_;
};

}  // namespace granary::rdma::conformance
