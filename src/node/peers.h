#pragma once
// Waits for the other nodes of the cluster, until they have joined, can be reached, have answered, or have come to a
// barrier. No wait is for ever. A wait ends with an error that names the node if one has refused to start with the
// others, if time is up, or, once this node has met all others, if one has left or died. It also ends with an error if
// this node has lost its membership. A node that comes back while others serve does without those that end meanwhile,
// until none of them is left.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <granary/cluster.h>

#include "cluster_config/config.h"
#include "cluster_config/membership/membership.h"
#include "rdma/fabric.h"
#include "src/cluster/messages/messenger.h"
#include "src/cluster/messages/question.h"
#include "src/epoch/control_block.h"
#include "src/node/leader_thread.h"

namespace granary::db {

/// A life of another node that served when this node looked.
struct ServingLife {
  NodeNumber node = 0;
  membership::Generation generation = 0;
};

/// Used by one thread at a time, but for reached().
class Peers {
 public:
  /// All that is passed outlives this. Precondition: the node has just joined, so refusals of members that are dead by
  /// now are of former starts.
  Peers(const ClusterOptions& options, const cluster_config::ClusterConfig& config, membership::Membership& membership);

  /// Names the lives that start together. Until note_served(), waits end with kUnavailable once one of them is over:
  /// what the nodes have agreed on, and load from each other, is of these lives.
  void start_with(std::vector<membership::NamedLife> lives) { start_lives_ = std::move(lives); }
  /// Returns an error if the nodes cannot start together by this configuration.
  Status check_start(const membership::Configuration& configuration) const;
  /// Notes that this node serves, so that others may end and come back.
  void note_served() { start_lives_.clear(); }

  /// Waits until all of the cluster file's nodes have joined, and connects with each of them once. A difference that
  /// keeps two of them apart for good (another key, program or layout) shows here on both sides, before one waits for
  /// the other. If the life of a node ends meanwhile, it waits for that node's next life, unless start_with() has named
  /// the life.
  Status meet_all(rdma::Fabric& fabric) const;
  /// Connects with these lives, and leaves out those that have ended.
  Status meet(rdma::Fabric& fabric, const std::vector<ServingLife>& lives) const;
  /// Waits until the leader has given this node the cluster's E.
  Status await_admission(epoch::ControlBlock& control, const LeaderThread& leader) const;

  /// Lets the others know that this life only visits, so that nodes which wait for this one go on to wait when it has
  /// left.
  Status announce_visit() const;

  /// Sets the messenger by which questions are asked from now on. The threads that ask use it.
  void ask_with(cluster::messages::Messenger& messenger) { messenger_ = &messenger; }
  /// Notes that this node has started, so that refusals to start do not matter any more.
  void note_start() { started_ = true; }
  /// Asks until there is an answer. Returns kResourceExhausted if the question or its answer fits into no message,
  /// since it would not fit the next time either.
  Status ask(cluster::messages::Question& question) const;
  /// Does the same with this life of a node. Returns false if it has ended: the answer, if there is one, may be another
  /// life's.
  Result<bool> ask(cluster::messages::Question& question, const ServingLife& life) const;

  // The following are for a node that comes back while others serve. It goes on without nodes that end meanwhile, as
  // long as one is left.
  /// Returns the other nodes' lives that serve in the newest configuration; an error if there are none.
  Result<std::vector<ServingLife>> serving_lives() const;
  /// Returns an error unless one of these lives serves, in the newest configuration or in this one.
  Status check_any_serves(const std::vector<ServingLife>& lives) const;
  Status check_any_serves(const std::vector<ServingLife>& lives, const membership::Configuration& configuration) const;
  /// Makes this node count as many barriers as the others have reached, and those of their start, `of_start`, which
  /// they may still have before them. This node serves by now, so it goes on even if all of them end.
  Status catch_up(const std::vector<ServingLife>& others, std::uint64_t of_start);
  /// Waits until every node has come to as many barriers as this one, or has left.
  Status barrier();
  /// Returns how many barriers this node has come to, as bytes that others ask for. Any thread may call it.
  std::string reached() const;

 private:
  static std::uint64_t reached_by(const cluster::messages::ControlAnswer& answer);
  std::chrono::steady_clock::time_point end_of_start() const;
  Status await_members(std::chrono::steady_clock::time_point end) const;
  Result<bool> meet(rdma::Endpoint& endpoint, NodeNumber node, std::chrono::steady_clock::time_point end,
                    const std::function<bool()>& lives) const;
  bool serves(const ServingLife& life) const;
  Status refuse_start(Status why) const;
  std::string refusal_by(const membership::Configuration& configuration) const;
  /// Returns an error if this node must not wait for others any more: it has lost its membership, or cannot start with
  /// them.
  Status check_standing() const;
  bool has_left(NodeNumber node) const;
  static bool has_visited(const membership::Member& member);

  const ClusterOptions& options_;
  const cluster_config::ClusterConfig& config_;
  membership::Membership& membership_;
  std::map<membership::NodeId, membership::Generation> former_lives_;  ///< lives that were over when this node joined
  std::vector<membership::NamedLife> start_lives_;                     ///< empty unless start_with() names some
  cluster::messages::Messenger* messenger_ = nullptr;
  bool started_ = false;
  /// How many barriers this node has reached. Written by barrier() and catch_up() (release), read by the service's
  /// thread (acquire).
  std::atomic<std::uint64_t> barriers_{0};
};

}  // namespace granary::db
