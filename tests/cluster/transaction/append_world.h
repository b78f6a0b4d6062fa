#pragma once
// Clients on all nodes of a simulated cluster append to lists and read them, in transactions, while READs tear and
// epochs move node by node; connections may be lost, leaders change and clocks wander, too (append_trouble.cc). What
// they asked for and were told is a history, for the judge of bench/append/history. What they do to the lists is in
// append_lists.cc.

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bench/append/history/history.h"
#include "src/base/random.h"
#include "tests/cluster_config/clock/set_clock.h"
#include "tests/cluster/transaction/epoch_order.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/ring_directory.h"

namespace granary::cluster::test {

struct AppendOptions {
  rdma::sim::SimOptions network{};
  IndexKind index = IndexKind::kHash;
  unsigned nodes = 3;
  unsigned workers = 2;        ///< of each node
  unsigned fibers = 1;         ///< clients of each worker
  unsigned transactions = 20;  ///< of each client
  unsigned lists = 2;          ///< of each node, at a time
  unsigned length = 12;        ///< of a list; then another takes its place
  /// Connections are lost, and real leaders advance the epochs, another one in each configuration.
  bool trouble = false;
  /// Share of transactions that declare what they will do (lease_2pl), but for their scans. Above 0 nodes have clocks.
  double declared = 0;
  std::uint64_t lease_us = 300;
  std::uint64_t skew_us = 60;  ///< that clocks differ at most, and may at any time
  /// They are set, forward and back, one node's or all nodes'.
  bool clocks_are_set = false;
  /// Share of appends that take the list to another key: one record ends, and another is born, maybe in the place of a
  /// third.
  double moves = 0;
  /// Keys have more than 8 bytes: then leaves of ordered tables are not READ by other nodes.
  bool long_keys = true;
  bool regions = false;  ///< what a node does to its own lists is committed in simulated HTM regions, mostly
  /// Nodes have logs, and clients are told of a transaction when it is released, as every log has it.
  bool logged = false;
  /// Between two steps of a worker or a service, another worker of a node runs a transaction on lists of that node.
  /// Threads do so to each other; the fibers of the simulation change only where they wait.
  bool interrupted = false;
};

class AppendWorld {
 public:
  explicit AppendWorld(const AppendOptions& options);

  /// Runs it to its end. An empty string, or what went wrong beside the history: somebody did not come to an end, the
  /// epochs do not agree with it (I7), a write was seen that nobody had logged (I8), a record was locked that no ring
  /// names, or a list was seen twice.
  std::string run();
  bench::history::History& history() { return history_; }
  std::uint64_t committed() const { return committed_; }
  std::uint64_t released() const { return released_; }
  std::uint64_t leases();
  std::uint64_t stale_leaves();
  std::uint64_t clock_jumps();
  std::uint64_t epochs() { return cluster_.node(0).control().by_leader.epoch.load(); }

 private:
  using MicroOp = bench::history::MicroOp;
  using Key = bench::history::Key;
  using Ops = std::vector<MicroOp>;
  struct Plan {
    Ops ops;
    std::size_t scanned = 0;  ///< the first so many are reads of one scan
  };
  /// The number of a node's worker that interrupts others (AppendOptions::interrupted).
  static constexpr unsigned kInterrupter = ~0U;
  struct Client {
    unsigned node;
    unsigned worker;
    std::uint64_t process;
  };

  Options engine_options(unsigned node) const;

  unsigned some_slot() { return static_cast<unsigned>(random_.below(appends_.size())); }
  Key current(unsigned slot) const;
  MicroOp op_on(unsigned slot, MicroOp::Kind kind);
  MicroOp some_op();
  void plan_scan(Plan& plan);
  Plan make_plan();
  Plan once_more(Plan plan);

  void run_client(const Client& client);
  void begin_interruptions();
  void interrupt(std::string_view point);
  void deliver(const Client& client);
  AbortReason transact(const Client& client, Plan plan, double abort_share);
  void expect_open(epoch::Epoch epoch);
  void await_release(const Client& client, epoch::Epoch epoch);
  void read_all(const Client& client);
  void note(bench::history::EventType type, const Client& client, Ops ops);

  // In a transaction. False: it must abort.
  struct Open {
    const Client& client;
    Transaction& t;
    std::vector<Key> appended{};
    bool twice = false;  ///< it saw a list at both of its keys: it must not commit
  };
  struct Found {
    char place = 0;  ///< 0: nowhere
    std::vector<bench::history::Element> elements{};
  };
  std::string_view places() const;
  std::string key_of(Key list, char place) const;
  enum class How : std::uint8_t { kOneByOne, kTogether, kToWrite, kScan };
  bool execute(Open& open, Plan& plan);
  bool declare(const Open& open, std::span<const MicroOp> ops);
  template <typename Reader, typename Saw>
  bool read_with(Reader& reader, const Client& client, std::span<const MicroOp> ops, How how, Saw&& saw);
  bool read(Open& open, std::span<MicroOp> ops, How how);
  void found_at(Open& open, Key key, char place, std::string_view value, Found& found);
  bool append(Open& open, const MicroOp& op);
  void look_back(const Client& client);

  void take_log(unsigned node);
  void expect_logged(std::string_view key, std::string_view value);
  std::set<record::StateWord> named_words();
  void expect_named(std::string_view key, const std::set<record::StateWord>& named);
  void expect_all_named();

  void lead();
  std::uint64_t sum(FunctionRef<std::uint64_t(const ReachCounters&)> of);
  // What befalls the nodes.
  void step(unsigned node);
  void begin_clocks();
  void set_clock(unsigned node);
  void begin_real_clocks();
  void keep_clock(unsigned node);
  std::int64_t some_jump_us();
  void begin_trouble();
  void trouble();
  void change_configuration();
  void lead_as(unsigned node, epoch::Configuration configuration);
  void publish();

  /// Lets others go on for a moment.
  void pause(unsigned most);

  const AppendOptions options_;
  std::atomic<std::uint64_t> time_ns_{0};  ///< the true time, for clocks that are set
  base::Random random_;
  const std::unique_ptr<tests::RingDirectory> directory_;  ///< if there are logs
  SimCluster cluster_;
  const std::vector<Table> tables_;
  std::vector<std::uint64_t> appends_;  ///< asked for, of each slot: a node's list of the moment
  bench::history::History history_;
  unsigned running_ = 0;
  std::uint64_t committed_ = 0;
  std::uint64_t released_ = 0;  ///< if there are logs
  std::vector<Seen> seen_;
  std::uint64_t epoch_ = 1;
  std::vector<cluster_config::clock::SetClock*> sources_;  ///< of the nodes' clocks
  std::deque<membership::Fence> fences_;                   ///< of nodes, if there is trouble
  epoch::Configuration configuration_ = 0;
  bool over_ = false;
  std::vector<Worker> interrupters_;  ///< of each node, if options_.interrupted
  bool interrupting_ = false;
  const rdma::fiber::Fiber* interrupted_ = nullptr;  ///< the fiber, if interrupting_; nullptr: a service, or an arrival
  std::string log_;                                  ///< all that was ever in a ring
  std::vector<std::uint64_t> taken_;                 ///< of the ring of each client: so far it is in there
  std::string wrong_;
};

}  // namespace granary::cluster::test
