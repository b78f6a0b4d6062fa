#pragma once
// A simulated network of nodes, all on one thread, in virtual time. Everything that happens is an event; step() runs
// the next one. All chance comes from the seed, so a run with the same seed and the same calls is the same run, byte
// for byte of its trace.
//
// What it does to operations, within the contract of rdma/fabric.h: the 64-byte lines of a READ or a WRITE move at
// different times, in any order; WRITEs that are not fenced overtake READs and atomics; connections are ordered by
// nothing but delays; a connection that breaks leaves what was under way to happen later, up to some point, or not;
// completions are lost with it. Nodes crash and lose the memory that is not reliable, links go down in one direction or
// both, clocks are wrong.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rdma/fabric.h"
#include "src/base/random.h"

namespace granary::rdma::sim {

class Connection;
class SimFabric;

/// Times in nanoseconds of virtual time.
struct SimOptions {
  std::uint64_t seed = 1;
  std::uint64_t least_delay = 1'000;  ///< of a packet, one way
  std::uint64_t most_delay = 20'000;
  std::uint64_t tear = 5'000;              ///< the lines of one READ or WRITE move within this time
  double overtake = 0.5;                   ///< how often a WRITE that may overtake does
  double loss = 0;                         ///< how often a chain's connection breaks while the chain is under way
  std::uint64_t most_notice = 10'000'000;  ///< a peer's death or a lost link is noticed within this time
  bool keep_trace = false;                 ///< keep the trace's text; its hash is always there
};

/// The error of a node's clock.
struct ClockError {
  std::int64_t offset = 0;             ///< ns
  std::int64_t drift_per_million = 0;  ///< ns that it gains in a millisecond
};

/// Must outlive all fabrics and endpoints that it opened.
class SimNetwork {
 public:
  explicit SimNetwork(const SimOptions& options);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  const SimOptions& options() const { return options_; }
  base::Random& random() { return random_; }

  /// A life of a node. kAlreadyExists if the node lives; kInvalidArgument if the generation is not greater than that of
  /// its last life. After crash() the fabric and its endpoints remain to be destroyed, and do nothing.
  Result<std::unique_ptr<Fabric>> open_fabric(const NodeOptions& node);

  std::uint64_t now() const { return now_; }
  /// The time as a node's clock tells it.
  std::uint64_t clock(NodeId node) const;
  void set_clock(NodeId node, const ClockError& error) { clocks_[node] = error; }

  /// Runs `action` after a delay, unless the node that it belongs to has crashed or ended by then.
  void schedule(NodeId node, std::uint64_t delay, std::function<void()> action);
  /// Runs the next event; false if there is none.
  bool step();
  /// Runs all events of the next `time` and stops there.
  void run_for(std::uint64_t time);

  /// How a sleeping endpoint lets a moment pass: by step(), unless something else is set. Whoever runs several nodes in
  /// fibers lets the others run here.
  void set_wait(std::function<void()> wait) { wait_ = std::move(wait); }

  /// Ends a node's life at once: what is in its regions is destroyed, unless they are reliable.
  void crash(NodeId node);
  /// From now on nothing gets from one node to the other, until heal(). Connections that need it break.
  void cut_link(NodeId from, NodeId to);
  void heal_link(NodeId from, NodeId to);
  /// Both directions of all links between two groups.
  void partition(const std::vector<NodeId>& some, const std::vector<NodeId>& others);
  /// Breaks all connections between two nodes once; new ones can be made.
  void lose_connections(NodeId a, NodeId b);

  /// A line of the run's record: time and text.
  void trace(const std::string& text);
  const std::string& trace_text() const { return trace_text_; }
  std::uint64_t trace_hash() const { return trace_hash_; }

  // For this folder.
  void wait() { wait_(); }
  void at(std::uint64_t time, std::function<void()> action);
  std::uint64_t some_delay();
  bool linked(NodeId from, NodeId to) const { return !cut_.contains({from, to}); }
  SimFabric* find(NodeId node) const;
  void forget(SimFabric* fabric);
  /// Ends what earlier lives of `from` still have under way to `to`.
  void sever_earlier_lives(NodeId from, NodeId to, Generation life);
  /// Ends what is under way between `by` and the lives of `node` up to `last`, in both directions.
  void cut_off(NodeId node, Generation last, NodeId by);
  void add(std::shared_ptr<Connection> connection) { connections_.push_back(std::move(connection)); }
  std::uint32_t next_connection_number() { return connection_numbers_++; }

 private:
  /// Connections that have neither ended nor been forgotten; drops the others.
  std::vector<std::shared_ptr<Connection>> living_connections();

  const SimOptions options_;
  base::Random random_;
  std::uint64_t now_ = 0;
  std::uint64_t events_made_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::function<void()>> events_;  ///< by time, then in order made
  std::map<NodeId, SimFabric*> living_;
  std::map<NodeId, Generation> last_life_;
  std::map<NodeId, ClockError> clocks_;
  std::set<std::pair<NodeId, NodeId>> cut_;
  std::function<void()> wait_ = [this] { step(); };
  std::vector<std::shared_ptr<Connection>> connections_;
  std::uint32_t connection_numbers_ = 0;
  std::string trace_text_;
  std::uint64_t trace_hash_ = 0;
};

}  // namespace granary::rdma::sim
