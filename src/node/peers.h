#pragma once
// The other nodes of the cluster, as this node waits for them: until they have joined, can be reached, have answered,
// or have come to a barrier. No wait is for ever. A wait ends with an error that names the node if one has refused to
// start with the others, if time is up, or, once this node has met all others, if one has left or died. It also ends
// with an error if this node has lost its membership. A node that comes back while others serve does without those that
// end meanwhile, until none of them is left.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
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
  /// All that is passed outlives this. The node has joined just now: refusals of members that are dead are of former
  /// starts.
  Peers(const ClusterOptions& options, const cluster_config::ClusterConfig& config, membership::Membership& membership);

  /// Waits until all of the cluster file's nodes have joined, and connects with each of them once. A difference that
  /// keeps two of them apart for good (another key, program or layout) shows here on both sides, before one waits for
  /// the other. A node whose life ends meanwhile is waited for again.
  Status meet_all(rdma::Fabric& fabric) const;
  /// Connects with these lives. One that has ended is left out.
  Status meet(rdma::Fabric& fabric, const std::vector<ServingLife>& lives) const;
  /// Waits until the leader has given this node the cluster's E.
  Status await_admission(epoch::ControlBlock& control, const LeaderThread& leader) const;

  /// Lets the others know that this life only visits: whoever waits for the node goes on to wait when it has left.
  Status announce_visit() const;

  /// From now on there may be questions; the messenger is used by the threads that ask them.
  void ask_with(cluster::messages::Messenger& messenger) { messenger_ = &messenger; }
  /// Refusals to start do not matter any more.
  void note_start() { started_ = true; }
  /// Asks until there is an answer.
  Status ask(cluster::messages::Question& question) const;
  /// Asks a node until there is an answer. False if this life of it has ended: then the answer, if there is one, may be
  /// another life's.
  Result<bool> ask(cluster::messages::Question& question, const ServingLife& life) const;

  // The following are for a node that comes back while others serve. It goes on without one that ends meanwhile as long
  // as there is another.
  /// Returns the other nodes' lives that serve in the newest configuration; an error if there are none.
  Result<std::vector<ServingLife>> serving_lives() const;
  /// OK as long as one of these lives serves.
  Status check_any_serves(const std::vector<ServingLife>& lives) const;
  /// Makes this node count as many barriers as the others have reached. This node serves by now, so it goes on also if
  /// all of them end.
  Status catch_up(const std::vector<ServingLife>& others);
  /// Waits until every node has come to as many barriers as this one, or has left.
  Status barrier();
  /// Returns how many barriers this node has come to, as bytes that others ask for. Any thread.
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
  /// OK, or why this node is to wait for nobody: its membership is lost, or one that starts with it has refused to.
  Status check_standing() const;
  bool has_left(NodeNumber node) const;
  static bool has_visited(const membership::Member& member);

  const ClusterOptions& options_;
  const cluster_config::ClusterConfig& config_;
  membership::Membership& membership_;
  std::map<membership::NodeId, membership::Generation> former_lives_;  ///< that were over when this node joined
  cluster::messages::Messenger* messenger_ = nullptr;
  bool started_ = false;
  /// Reached by this node; written by barrier(), read by the service: release, acquire.
  std::atomic<std::uint64_t> barriers_{0};
};

}  // namespace granary::db
