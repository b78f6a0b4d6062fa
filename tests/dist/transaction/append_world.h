#pragma once
// Clients on all nodes of a simulated cluster append to lists and read them, in transactions, while READs tear and epochs move node by
// node; connections may be lost, and leaders change, too (append_trouble.cc). What they asked for and were told is a history, for the judge of bench/append/history.

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "bench/append/history/history.h"
#include "src/base/random.h"
#include "tests/dist/transaction/sim_cluster.h"

namespace granary::dist::test {

struct AppendOptions {
  rdma::sim::SimOptions network{};
  IndexKind index = IndexKind::kHash;
  unsigned nodes = 3;
  unsigned workers = 2;        ///< clients of each node
  unsigned transactions = 20;  ///< of each client
  unsigned lists = 2;          ///< of each node, at a time
  unsigned length = 12;        ///< of a list; then another takes its place
  /// Connections are lost, and real leaders advance the epochs, another one in each configuration.
  bool trouble = false;
};

class AppendWorld {
 public:
  explicit AppendWorld(const AppendOptions& options);

  /// Runs it to its end. An empty string, or what went wrong beside the history: somebody did not come to an end.
  std::string run();
  bench::history::History& history() { return history_; }
  std::uint64_t committed() const { return committed_; }
  std::uint64_t epochs() { return cluster_.node(0).control().by_leader.epoch.load(); }

 private:
  using MicroOp = bench::history::MicroOp;
  using Key = bench::history::Key;
  using Ops = std::vector<MicroOp>;
  struct Plan {
    Ops ops;
    std::size_t scanned = 0;  ///< the first so many are reads of one scan
  };
  struct Client {
    unsigned node;
    unsigned worker;
    std::uint64_t process;
  };

  // A key is: its home, and the list's number there.
  static std::string bytes_of(Key key);
  Key current(unsigned slot) const;
  MicroOp some_op();
  void plan_scan(Plan& plan);
  Plan make_plan();

  void run_client(const Client& client);
  void transact(const Client& client, Plan plan, double abort_share);
  void read_all(const Client& client);
  bool execute(const Client& client, Transaction& t, Plan& plan);
  bool append(const Client& client, Transaction& t, const MicroOp& op);
  bool read(const Client& client, Transaction& t, MicroOp& op);
  bool scan(const Client& client, Transaction& t, std::span<MicroOp> ops);
  void note(bench::history::EventType type, const Client& client, Ops ops);

  void lead();
  // What befalls the nodes.
  void begin_trouble();
  void trouble();
  void change_configuration();
  void lead_as(unsigned node, epoch::Configuration configuration);
  void publish();

  /// Lets others go on for a moment.
  void pause(unsigned most);

  const AppendOptions options_;
  base::Random random_;
  SimCluster cluster_;
  const std::vector<Table> tables_;
  std::vector<std::uint64_t> appends_;  ///< asked for, of each slot: a node's list of the moment
  bench::history::History history_;
  unsigned running_ = 0;
  std::uint64_t committed_ = 0;
  std::uint64_t epoch_ = 1;
  std::deque<membership::Fence> fences_;  ///< of nodes, if there is trouble
  epoch::Configuration configuration_ = 0;
  bool over_ = false;
  std::string wrong_;
};

}  // namespace granary::dist::test
