#pragma once
// Simulates a network of nodes, all on one thread, in virtual time. Everything that happens is an event, and step()
// runs the next one. All chance comes from the seed. So a run with the same seed and the same calls is the same run,
// byte for byte of its trace.
//
// It does the following to operations, within the contract of rdma/fabric.h. The 64-byte lines of a READ or a WRITE
// move at different times, in any order. WRITEs that are not fenced overtake READs and atomics. Only delays order
// connections among each other. When a connection breaks, its operations under way happen later, up to some point, or
// not at all, and their completions are lost. Nodes crash and lose the memory that is not reliable, links go down in
// one direction or both, and clocks are wrong.

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

/// Options of a simulated network. Times are nanoseconds of virtual time.
struct SimOptions {
  std::uint64_t seed = 1;
  std::uint64_t least_delay = 1'000;  ///< the least delay of a packet, one way
  std::uint64_t most_delay = 20'000;
  std::uint64_t tear = 5'000;              ///< the lines of one READ or WRITE move within this time
  double overtake = 0.5;                   ///< how often a WRITE overtakes if it may
  double loss = 0;                         ///< how often a chain's connection breaks while the chain is under way
  std::uint64_t most_notice = 10'000'000;  ///< a peer's death or a lost link is noticed within this time
  bool keep_trace = false;                 ///< whether to keep the trace's text; its hash is always kept
};

/// The error of a node's clock.
struct ClockError {
  std::int64_t offset = 0;             ///< in ns
  std::int64_t drift_per_million = 0;  ///< the ns that it gains in a millisecond
};

/// A simulated network. It must outlive all fabrics and endpoints that it opened.
class SimNetwork {
 public:
  explicit SimNetwork(const SimOptions& options);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  const SimOptions& options() const { return options_; }
  base::Random& random() { return random_; }

  /// Begins a life of a node. Returns kAlreadyExists if the node lives; kInvalidArgument if the generation is not
  /// greater than that of its last life. After crash() the fabric and its endpoints remain to be destroyed, and do
  /// nothing.
  Result<std::unique_ptr<Fabric>> open_fabric(const NodeOptions& node);

  std::uint64_t now() const { return now_; }
  /// Returns the time by a node's clock.
  std::uint64_t clock(NodeId node) const;
  void set_clock(NodeId node, const ClockError& error) { clocks_[node] = error; }

  /// Runs `action` after a delay, unless the node that it belongs to has crashed or ended by then.
  void schedule(NodeId node, std::uint64_t delay, std::function<void()> action);
  /// Runs the next event. Returns false if there is none.
  bool step();
  /// Runs all events of the next `time` nanoseconds, and stops there.
  void run_for(std::uint64_t time);

  /// Sets how a sleeping endpoint lets a moment pass, which is by step() otherwise. A test that runs several nodes in
  /// fibers lets the others run here.
  void set_wait(std::function<void()> wait) { wait_ = std::move(wait); }

  /// Ends a node's life at once. The contents of its regions are destroyed, unless they are reliable.
  void crash(NodeId node);
  /// Cuts the link: until heal(), nothing gets from one node to the other. Connections that need it break.
  void cut_link(NodeId from, NodeId to);
  void heal_link(NodeId from, NodeId to);
  /// Cuts all links between two groups, in both directions.
  void partition(const std::vector<NodeId>& some, const std::vector<NodeId>& others);
  /// Breaks all connections between two nodes once; new ones can be made.
  void lose_connections(NodeId a, NodeId b);

  /// Adds a line to the trace: the time and the text.
  void trace(const std::string& text);
  const std::string& trace_text() const { return trace_text_; }
  std::uint64_t trace_hash() const { return trace_hash_; }

  // The next functions are for this folder.
  void wait() { wait_(); }
  void at(std::uint64_t time, std::function<void()> action);
  std::uint64_t some_delay();
  bool linked(NodeId from, NodeId to) const { return !cut_.contains({from, to}); }
  SimFabric* find(NodeId node) const;
  void forget(SimFabric* fabric);
  /// Ends the operations that earlier lives of `from` still have under way to `to`.
  void sever_earlier_lives(NodeId from, NodeId to, Generation life);
  /// Ends the operations under way between `by` and the lives of `node` up to `last`, in both directions.
  void cut_off(NodeId node, Generation last, NodeId by);
  void add(std::shared_ptr<Connection> connection) { connections_.push_back(std::move(connection)); }
  std::uint32_t next_connection_number() { return connection_numbers_++; }

 private:
  /// Returns the connections that have neither ended nor been forgotten, and drops the others.
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
