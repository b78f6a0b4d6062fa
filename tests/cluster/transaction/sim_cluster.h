#pragma once
// A simulated cluster: several nodes with real engines in one process, on one thread, over the simulated fabric. Each
// node has a service and workers; what waits lets virtual time pass.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "cluster_config/clock/clock.h"
#include "rdma/sim/sim_network.h"
#include "src/base/file.h"
#include "src/db/engine.h"
#include "src/cluster/messages/service.h"
#include "src/cluster/record_access/regions.h"
#include "src/cluster/transaction/remote_worker.h"
#include "tests/support/manual_database.h"

namespace granary::cluster::test {

/// The first byte of a key names its home.
inline std::uint16_t home_of(std::string_view key) {
  return key.empty() ? 0 : static_cast<std::uint16_t>(key[0] - '0');
}

/// Nobody rests in a simulation: each poll lets time pass.
class NoRest final : public base::Waiter {
 public:
  void pause(std::uint32_t) override {}
};

/// Where a node's life opens its database from.
struct SimStorage {
  base::FileSystem& files = base::system_files();
  db::ClusterPart part{};  ///< without the control block
};

class SimClusterNode {
 public:
  SimClusterNode(rdma::sim::SimNetwork& network, rdma::fiber::Scheduler& scheduler, rdma::NodeId id,
                 messages::MailboxLayout layout, const Options& options, rdma::Generation generation = 1,
                 const SimStorage& storage = {})
      : network_(network),
        scheduler_(scheduler),
        control_(map(sizeof(epoch::ControlBlock) + lines_of(layout) * sizeof(cc::SharedMissTimes::Line))),
        mail_(map(layout.region_bytes())),
        buffer_(map(std::uint64_t{8} << 20)),
        pool_(*buffer_),
        database_(open(options, storage, *reinterpret_cast<epoch::ControlBlock*>(control_->base()))),
        fabric_(network.open_fabric({.node = id, .generation = generation}).value()),
        parts_{.fabric = *fabric_,
               .layout = layout,
               .mailboxes = mail_->base(),
               .directory = directory_,
               .buffers = pool_,
               .waiter = rest_,
               .time = &time_,
               .lease_us = kLease_us,
               .now_us = [this] { return now_us(); },
               .timeout_us = 10'000,
               .connect_timeout_us = 1'000,
               .lives = [this](rdma::NodeId node) { return living_ == nullptr || living_->reached(node); }} {
    database_->engine().set_time(time_);
    database_->engine().set_misses(
        {reinterpret_cast<cc::SharedMissTimes::Line*>(control_->base() + sizeof(epoch::ControlBlock)),
         lines_of(layout)});
    EXPECT_TRUE(fabric_->register_region({.id = kDataRegion}, database_->engine().region()).ok());
    EXPECT_TRUE(fabric_->register_region({.id = kControlRegion}, *control_).ok());
    EXPECT_TRUE(fabric_->register_region({.id = kMailRegion}, *mail_).ok());
    EXPECT_TRUE(fabric_->register_region({.id = kBufferRegion, .access = rdma::Access::kLocal}, *buffer_).ok());
  }

  /// How long leases can be relied on.
  static constexpr std::uint64_t kLease_us = 10'000;

  rdma::NodeId id() const { return fabric_->node().node; }
  /// Before there are workers: what is declared to be read is x-locked.
  void read_without_leases() { parts_.reads_lease = false; }
  /// Of its clock, which stands still (but see SimCluster::run_clocks). Before the first there is no time.
  base::SoftTime& time() { return time_; }
  /// What its clock tells from now on, unless it has been told not to know the time.
  void tick(std::uint64_t now_us, std::uint64_t error_us) {
    if (knows_time_) {
      time_.write(now_us, 0, error_us);
    } else {
      time_.withdraw();
    }
  }
  void set_knows_time(bool knows) { knows_time_ = knows; }
  /// Instead of time(), before there are workers. Whoever gives it steps it.
  void use_clock(std::unique_ptr<cluster_config::clock::Clock> clock) {
    clock_ = std::move(clock);
    parts_.time = &clock_->time();
    database_->engine().set_time(clock_->time());
  }
  cluster_config::clock::Clock& clock() { return *clock_; }
  /// Of workers that are added later.
  void set_lease_us(std::uint64_t lease_us) { parts_.lease_us = lease_us; }
  Database& database() { return *database_; }
  Directory& directory() { return directory_; }
  /// Of workers that are not the node's, and wait so.
  NodeParts parts(base::Waiter& waiter) {
    return {.fabric = parts_.fabric,
            .layout = parts_.layout,
            .mailboxes = parts_.mailboxes,
            .directory = parts_.directory,
            .buffers = parts_.buffers,
            .waiter = waiter,
            .time = parts_.time,
            .lease_us = parts_.lease_us,
            .now_us = parts_.now_us,
            .timeout_us = parts_.timeout_us,
            .connect_timeout_us = parts_.connect_timeout_us,
            .lives = parts_.lives,
            .comes_back = parts_.comes_back};
  }
  /// Tells this node who lives; before, everybody does. Its workers ask those that let themselves be reached,
  /// as those of a node that has started do (ClusterNode::may_ask).
  void set_living(const membership::Living& living) {
    living_ = &living;
    database_->engine().set_living(living);
  }
  /// Nodes recover one another from now on: which of them are on their way back.
  void set_comes_back(std::function<bool(rdma::NodeId)> comes_back) { parts_.comes_back = std::move(comes_back); }
  rdma::Fabric& fabric() { return *fabric_; }
  BufferPool& buffers() { return pool_; }
  Worker& worker(std::size_t number = 0) { return workers_[number].public_side; }
  RemoteWorker& remote(std::size_t number = 0) { return *workers_[number].remote; }
  epoch::ControlBlock& control() { return *reinterpret_cast<epoch::ControlBlock*>(control_->base()); }

  Table table(std::string_view name, const TableOptions& options) {
    const Table table = database_->create_table(name, options).value();
    place(table.core());
    return table;
  }
  Index index(const Table& table, std::string_view name, const IndexOptions& options) {
    const Index index = database_->create_index(table, name, options).value();
    place(index.core());
    return index;
  }

  /// The tables are complete: the service begins.
  void listen() {
    EXPECT_TRUE(fabric_->listen().ok());
    service_worker_ = database_->register_worker().value();
    slot_ = database_->engine().epochs().acquire_slot();
    service_endpoint_ = fabric_->open_endpoint().value();
    owner_ = std::make_unique<messages::Owner>(*service_worker_.core(), *slot_, tables_, database_->engine().region(),
                                               parts_.layout.most_bytes);
    service_ = std::make_unique<messages::Service>(messages::ServiceParts{.layout = parts_.layout,
                                                                          .mailboxes = mail_->base(),
                                                                          .own_node = id(),
                                                                          .endpoint = *service_endpoint_,
                                                                          .owner = *owner_,
                                                                          .control = {}});
  }
  messages::DescribeAnswer describe() { return owner_->description(); }
  void add_worker() { workers_.push_back(make_worker(workers_.size())); }
  /// The worker ends, and another one takes its number.
  void replace_worker(std::size_t number) {
    workers_[number] = OneWorker();
    workers_[number] = make_worker(number);
  }
  void await_arrival() {
    for (const OneWorker& worker : workers_) worker.remote->await_arrival();
  }
  messages::Service& service() { return *service_; }
  /// The service's worker frees what may be freed, as that of a node does now and then.
  void collect_garbage() { service_worker_.collect_garbage(); }
  void poll() {
    for (const OneWorker& worker : workers_) worker.remote->poll();
    if (service_ != nullptr && !keeps_silent_) service_->step(now_us());
  }
  /// Whether messages stay without an answer, as those to a process that stands still; its memory can be reached.
  void keep_silent(bool silent) { keeps_silent_ = silent; }
  /// The node's processor and memory are gone.
  void crash() {
    service_.reset();
    network_.crash(id());
  }

 private:
  struct OneWorker {
    Worker public_side;
    std::unique_ptr<RemoteWorker> remote;
    ~OneWorker() { remote.reset(); }
    OneWorker() = default;
    OneWorker(OneWorker&&) = default;
    OneWorker& operator=(OneWorker&& other) noexcept {
      remote = std::move(other.remote);  // first, as it needs the other part while it ends
      public_side = std::move(other.public_side);
      return *this;
    }
  };
  OneWorker make_worker(std::size_t number) {
    OneWorker made;
    made.public_side = database_->register_worker().value();
    made.remote = std::make_unique<RemoteWorker>(parts_, *made.public_side.core(), static_cast<std::uint32_t>(number),
                                                 scheduler_, fabric_->open_endpoint().value());
    return made;
  }

  static std::size_t lines_of(const messages::MailboxLayout& layout) {
    return cc::SharedMissTimes::lines_for(std::size_t{layout.nodes} * layout.workers);
  }
  static std::unique_ptr<memory::Region> map(std::uint64_t bytes) {
    return memory::Region::map({.reserve_bytes = bytes, .huge_pages = HugePages::kOff}).value();
  }
  static std::unique_ptr<Database> open(const Options& options, const SimStorage& storage,
                                        epoch::ControlBlock& control) {
    db::ClusterPart part = storage.part;
    part.control = &control;
    return std::make_unique<Database>(db::Engine::open(options, storage.files, part).value());
  }
  void place(txn::TableCore* core) {
    core->place(std::make_shared<const txn::Placement>(txn::Placement{.self = id(), .home = home_of}));
    tables_.push_back(core);
  }
  std::uint64_t now_us() const { return network_.now() / 1000; }

  rdma::sim::SimNetwork& network_;
  rdma::fiber::Scheduler& scheduler_;
  const std::unique_ptr<memory::Region> control_;
  const std::unique_ptr<memory::Region> mail_;
  const std::unique_ptr<memory::Region> buffer_;
  BufferPool pool_;
  NoRest rest_;
  const membership::Living* living_ = nullptr;
  Directory directory_{std::uint64_t{64} << 10};
  const std::atomic<std::uint64_t> ticks_{0};
  base::SoftTime time_{base::TscClock::simulated(ticks_), 1};
  bool knows_time_ = true;
  std::unique_ptr<cluster_config::clock::Clock> clock_;
  const std::unique_ptr<Database> database_;
  const std::unique_ptr<rdma::Fabric> fabric_;
  NodeParts parts_;
  std::vector<txn::TableCore*> tables_;
  Worker service_worker_;
  epoch::Slot* slot_ = nullptr;
  std::unique_ptr<rdma::Endpoint> service_endpoint_;
  std::unique_ptr<messages::Owner> owner_;
  std::unique_ptr<messages::Service> service_;
  bool keeps_silent_ = false;
  std::vector<OneWorker> workers_;
};

class SimCluster {
 public:
  /// `database_of` tells a node's options. Messages have at most so many bytes.
  explicit SimCluster(
      unsigned nodes, unsigned workers = 2, const rdma::sim::SimOptions& options = {.seed = 1},
      const std::function<Options(unsigned id)>& database_of = [](unsigned) { return tests::manual_options(); },
      std::uint64_t most_message_bytes = messages::MailboxLayout{}.most_bytes,
      const std::function<SimStorage(unsigned id)>& storage_of = [](unsigned) { return SimStorage(); })
      : network(options),
        workers_(workers),
        layout_{.region = kMailRegion,
                .nodes = static_cast<rdma::NodeId>(nodes),
                .workers = workers,
                .most_bytes = most_message_bytes},
        database_of_(database_of),
        storage_of_(storage_of) {
    for (unsigned id = 0; id < nodes; ++id) nodes_.push_back(make_node(id, 1));
  }

  /// What fibers have left under way arrives while all nodes are there.
  ~SimCluster() {
    for (const auto& node : nodes_) node->await_arrival();
  }
  SimCluster(const SimCluster&) = delete;
  SimCluster& operator=(const SimCluster&) = delete;

  SimClusterNode& node(std::size_t id) { return *nodes_[id]; }

  /// The same table on all nodes, one handle each.
  std::vector<Table> tables(std::string_view name, const TableOptions& options) {
    std::vector<Table> all;
    for (const auto& node : nodes_) all.push_back(node->table(name, options));
    return all;
  }
  /// After all tables have been made.
  void start() { start(workers_); }
  /// With so many workers of each node.
  void start(unsigned workers) {
    for (const auto& node : nodes_) node->listen();
    for (const auto& node : nodes_) {
      for (const auto& other : nodes_) (void)node->directory().learn(other->id(), 1, other->describe());
      for (unsigned i = 0; i < workers; ++i) node->add_worker();
    }
  }

  struct Clocks {
    std::uint64_t error_us = 0;  ///< that nodes know of
    std::uint64_t lease_us = 0;  ///< how long leases are
  };
  /// The node crashes and begins another life, with an empty database, at the cluster's E. Its tables are made, it
  /// listens and gets its workers afterwards, and the others learn it.
  SimClusterNode& restart(unsigned id, rdma::Generation generation) {
    nodes_[id]->crash();
    SimClusterNode& node = next_life(id, generation);
    const auto& other = nodes_[id == 0 ? 1 : 0];
    node.control().by_leader.epoch.store(other->control().by_leader.epoch.load());
    return node;
  }
  /// Replaces the node's life by the next one, which has its data from its storage, and its E from whoever leads.
  SimClusterNode& next_life(unsigned id, rdma::Generation generation) {
    nodes_[id].reset();
    nodes_[id] = make_node(id, generation);
    return *nodes_[id];
  }

  /// From now on nodes know the time, which is what the network tells each of them. Before start().
  void run_clocks(const Clocks& clocks) {
    clocks_ = clocks;
    for (const auto& node : nodes_) node->set_lease_us(clocks.lease_us);
    tick();
  }
  /// From now on a turn of the scheduler takes so long, and with no fiber to run time passes to the network's next
  /// event. Before, each turn lasts until that event, also one in which a fiber only lets others go on: what a worker
  /// does beside waiting has no time of its own then.
  void set_turn_ns(std::uint64_t ns) { turn_ns_ = ns; }
  /// What follows the network's time.
  void when_time_passes(std::function<void()> act) { time_passed_ = std::move(act); }
  /// All nodes' clocks show it.
  void set_time(std::uint64_t us) {
    for (const auto& node : nodes_) node->time().write(us, 0, kClockError);
  }
  static constexpr std::uint64_t kClockError = 100;
  /// From a lease's beginning until whoever has it, or wants to share it, finds that it is too late, and until it has
  /// expired for all.
  static constexpr std::uint64_t kLeaseIsValid = SimClusterNode::kLease_us;
  static constexpr std::uint64_t kLeaseIsShared = kLeaseIsValid - SimClusterNode::kLease_us / 8;
  static constexpr std::uint64_t kLeaseIsThere = kLeaseIsValid + 2 * kClockError;

  /// E moves on everywhere; no transaction may be open.
  void pass_epochs(std::uint64_t epochs) {
    for (; epochs > 0; --epochs) {
      for (const auto& node : nodes_) node->control().by_leader.epoch.fetch_add(1);
      for (const auto& node : nodes_) (void)node->database().step();
    }
  }

 private:
  std::unique_ptr<SimClusterNode> make_node(unsigned id, rdma::Generation generation) {
    return std::make_unique<SimClusterNode>(network, scheduler, static_cast<rdma::NodeId>(id), layout_,
                                            database_of_(id), generation, storage_of_(id));
  }
  void tick() {
    for (const auto& node : nodes_) node->tick(network.clock(node->id()) / 1000, clocks_->error_us);
  }
  void poll() {
    if (turn_ns_) {
      network.run_for(*turn_ns_);
    } else {
      pass_event();  // first: what it completes is seen before time goes on
    }
    if (clocks_) tick();
    time_passed_();
    for (const auto& node : nodes_) node->poll();
  }

  void pass_event() {
    constexpr std::uint64_t kIdle_ns = 10'000;
    if (!network.step()) network.run_for(kIdle_ns);
  }
  /// Pauses while no fiber can run.
  class Idle final : public base::Waiter {
   public:
    explicit Idle(SimCluster& cluster) : cluster_(cluster) {}
    void pause(std::uint32_t) override {
      if (cluster_.turn_ns_) cluster_.pass_event();
    }

   private:
    SimCluster& cluster_;
  };

  Idle idle_{*this};

 public:
  rdma::sim::SimNetwork network;
  rdma::fiber::Scheduler scheduler{[this] { poll(); }, idle_};

 private:
  const unsigned workers_;
  const messages::MailboxLayout layout_;
  const std::function<Options(unsigned id)> database_of_;
  const std::function<SimStorage(unsigned id)> storage_of_;
  std::optional<Clocks> clocks_;
  std::optional<std::uint64_t> turn_ns_;
  std::function<void()> time_passed_ = [] {};
  std::vector<std::unique_ptr<SimClusterNode>> nodes_;
};

}  // namespace granary::cluster::test
