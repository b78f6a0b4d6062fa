#pragma once
// A simulated cluster of which only the epochs are there: nodes with transactions, snapshots and a log that is more or
// less behind, leaders, and configurations that change while nodes crash, join, or are taken for dead. What must hold
// is checked after each event.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rdma/sim/sim_network.h"
#include "src/base/random.h"
#include "src/cluster/cluster_epoch/leader.h"
#include "src/epoch/epoch.h"

namespace granary::cluster {

struct WorldOptions {
  rdma::sim::SimOptions network{};
  unsigned nodes = 3;       ///< at the start
  unsigned events = 1500;   ///< about
  unsigned crashes = 0;     ///< of any node, the leader among them
  unsigned suspicions = 0;  ///< nodes that are taken for dead, and go on
  unsigned joins = 0;       ///< of new nodes, and of those that crashed
  unsigned lost_connections = 0;
};

class EpochWorld : private base::Waiter {
 public:
  explicit EpochWorld(const WorldOptions& options);
  ~EpochWorld() override;
  /// Runs it to its end; an empty string, or what was wrong.
  std::string run();

  epoch::Epoch advances() const { return greatest_ - begin_; }
  epoch::Epoch durable() const { return greatest_durable_; }

 private:
  struct Configuration {
    epoch::Configuration version = 0;
    std::vector<rdma::RemoteAddress> members{};
    bool durable_goes_on = true;
  };
  struct Node;

  Node& start(rdma::NodeId id, rdma::Generation generation);
  void transact(Node& node, epoch::Slot& slot);
  void publish(Node& node);
  void follow(Node& node);
  void lead(Node& node, const Configuration& configuration);
  void trouble();
  void crash(Node& node);
  void join();
  void configure(std::vector<Node*> members);
  void check();
  void check_node(const Node& node, epoch::Epoch least_open);
  std::vector<Node*> members() const;

  /// Lets others go on; false if the node's life, or the run, has ended meanwhile.
  bool pause(const Node& node, unsigned most);
  void poll();
  void pause(std::uint32_t) override { network_.step(); }
  void wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  const WorldOptions options_;
  rdma::sim::SimNetwork network_;
  base::Random random_;
  std::vector<std::unique_ptr<Node>> lives_;
  Configuration configuration_;
  bool durable_goes_on_ = true;
  std::uint64_t turns_ = 0;
  bool over_ = false;
  epoch::Epoch begin_ = 0;
  epoch::Epoch greatest_ = 0;
  epoch::Epoch greatest_durable_ = 0;
  std::string wrong_;
  rdma::fiber::Scheduler scheduler_{[this] { poll(); }, *this};
};

}  // namespace granary::cluster
