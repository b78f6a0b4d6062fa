#pragma once
// I7: advances the epoch of all nodes, with one-sided operations only. One turn READs the control blocks of all members
// and does what plan.h says of them; nobody's processor takes part, the leader's own node is a member like the others.
//
// A leader is one configuration's. A member that dies, or does not answer, stops the advance until there is another
// configuration: E stays, nothing else is touched. A leader that sees a member in a later configuration stops leading.

#include <optional>
#include <string>
#include <vector>

#include "rdma/fiber/rounds.h"
#include "src/cluster/cluster_epoch/plan.h"

namespace granary::cluster {

struct LeaderOptions {
  epoch::Configuration configuration = 0;
  std::vector<rdma::RemoteAddress> members{};  ///< where their control blocks are, the own node's too
  Going going{};
  std::uint64_t period_us = 40'000;           ///< between two advances
  std::uint64_t connect_timeout_us = 50'000;  ///< for a connection, in the first turn (rdma::fiber::Peers: later)
  bool operator==(const LeaderOptions&) const = default;
};

/// The means of a leader. All calls are made by one fiber, or by one thread outside of fibers.
struct LeaderMeans {
  rdma::fiber::Scheduler& scheduler;
  rdma::fiber::FiberEndpoint& endpoint;
  rdma::fiber::Peers& peers;
  base::Waiter& waiter;
  void* buffer;  ///< EpochLeader::buffer_bytes(members), in a registered region, on a cache line's boundary
};

struct TurnReport {
  Turn turn = Turn::kWaiting;
  epoch::Epoch epoch = 0;  ///< the cluster's, after the turn; 0 if not known
  rdma::NodeId node = 0;   ///< kWaiting, kUnreachable, kSuperseded: the node because of which; kAdvanced: Plan::member
  std::string cause{};     ///< kUnreachable

  /// OK unless the leader cannot go on, with the node and what to do.
  Status status() const;
};

class EpochLeader {
 public:
  static constexpr std::size_t buffer_bytes(std::size_t members) { return members * sizeof(Place); }

  EpochLeader(LeaderOptions options, const LeaderMeans& means);

  /// Does a turn if it is time for one. May be called as often as one likes.
  std::optional<TurnReport> step(std::uint64_t now_us);
  /// When step() will have something to do.
  std::uint64_t next_us() const { return next_us_; }

 private:
  static constexpr std::size_t kWords = 5;  ///< of ByLeader
  /// A member's part of the buffer.
  struct alignas(base::kCacheLine) Place {
    epoch::ControlBlock block;
    std::uint64_t old_words[kWords];
  };
  class Look;
  class Change;

  TurnReport turn();
  std::optional<TurnReport> look();
  std::optional<TurnReport> connect();
  std::optional<TurnReport> change(const std::vector<Raise>& raises);
  TurnReport unreachable(rdma::NodeId node, std::string cause) const;

  const LeaderOptions options_;
  rdma::fiber::Peers& peers_;
  rdma::fiber::Rounds rounds_;
  Place* const places_;
  std::vector<MemberView> views_;
  epoch::Epoch last_epoch_ = 0;
  bool hurry_ = false;
  std::uint64_t next_us_ = 0;
};

}  // namespace granary::cluster
