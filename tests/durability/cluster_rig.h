#pragma once
// Three databases as nodes of a cluster, in one process, which end in order, or die with it. The test plays their
// leader. Transactions across nodes are entries in their coordinator's log here: what a write-back makes of them is no
// matter, as nobody logs it.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership.h"
#include "recovery/manifest.h"
#include "recovery/owner.h"
#include "src/base/file.h"
#include "src/base/test_hooks.h"
#include "src/cc/log_entry.h"
#include "src/node/recover_across_hosts.h"
#include "src/db/cluster_recovery.h"
#include "src/db/engine.h"
#include "src/db/storage.h"
#include "tests/durability/read_by_messages.h"
#include "tests/support/manual_database.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {

inline constexpr std::uint32_t kNodes = 3;

enum class Hosts { kOne, kSeveral };

class ClusterRecovery : public testing::TestWithParam<Hosts> {
 protected:
  struct Node {
    std::unique_ptr<epoch::ControlBlock> control = std::make_unique<epoch::ControlBlock>();
    std::unique_ptr<Database> database;
    Table table;
  };

  std::string path(std::uint32_t node) const { return directory_ / std::to_string(node); }
  Options options(std::uint32_t node) const {
    Options options = manual_options();
    options.directory = path(node);
    options.reliable_directory = path(node) + "-rings";
    options.memory_limit_bytes = memory_bytes_;
    options.salvage = salvage_;
    options.background = background_;
    if (logs_outside_) options.log_directories = {logs(node)};
    return options;
  }
  std::string logs(std::uint32_t node) const { return path(node) + "-logs"; }
  std::vector<Options> all_options() const {
    std::vector<Options> all;
    for (std::uint32_t node = 0; node < kNodes; ++node) all.push_back(options(node));
    return all;
  }
  Result<std::unique_ptr<db::Engine>> open(std::uint32_t node, epoch::ControlBlock* control) {
    db::ClusterPart part{.control = control, .node = node};
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      if (other == node) continue;
      if (several_hosts()) {
        part.others_elsewhere = true;
      } else {
        part.others.push_back({.directory = path(other)});
      }
      const auto manifest = recovery::read_manifest(base::system_files(), path(other));
      if (manifest.ok()) part.first_epoch = std::max(part.first_epoch, recovery::greatest_epoch(*manifest) + 1);
    }
    std::filesystem::create_directories(options(node).reliable_directory);
    return db::Engine::open(options(node), base::system_files(), part);
  }
  bool several_hosts() const { return GetParam() == Hosts::kSeveral; }
  /// As a node that starts does.
  void take_from_others(std::uint32_t node, db::Engine& engine) {
    if (!several_hosts()) return;
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      if (other == node) continue;
      EXPECT_EQ(engine.checkpoint().code(), StatusCode::kUnavailable) << "it would be without them";
      ReadByMessages theirs(static_cast<rdma::NodeId>(other), path(other));
      const Status taken = engine.take_from(theirs.files(), {.directory = db::RemoteFiles::kDirectory});
      ASSERT_TRUE(taken.ok()) << taken.message();
    }
    ASSERT_TRUE(engine.have_all().ok());
  }
  void open_all() {
    nodes_.clear();
    nodes_.resize(kNodes);
    epoch::Epoch epoch = 0;
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      Node& node = nodes_[i];
      auto engine = open(i, node.control.get());
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      node.database = std::make_unique<Database>(std::move(*engine));
      node.table = node.database->create_table("t").value();
      epoch = std::max(epoch, node.database->current_epoch());
    }
    for (std::uint32_t i = 0; i < kNodes; ++i) take_from_others(i, nodes_[i].database->engine());
    for (Node& node : nodes_) {  // as the leader does
      node.control->by_leader.epoch.store(epoch);
      node.control->by_leader.admitted.store(1);
      node.control->by_node.serving.store(1);
    }
  }
  /// All nodes arrive in the next epoch; those in `log` make durable what is complete.
  void advance(std::vector<std::uint32_t> log = {0, 1, 2}) {
    for (Node& node : nodes_) node.control->by_leader.epoch.fetch_add(1);
    for (const std::uint32_t node : log) nodes_[node].database->step();
  }
  /// A transaction that `coordinator` commits in the present epoch, with a record on each node.
  void put_everywhere(std::uint32_t coordinator, const std::string& key, bool remove = false) {
    std::vector<cc::RemoteWrite> elsewhere;
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      elsewhere.push_back({.node = static_cast<std::uint16_t>(other),
                           .table = 0,
                           .key = key,
                           .value = remove ? "" : "v",
                           .remove = remove});
    }
    std::erase_if(elsewhere, [&](const cc::RemoteWrite& write) { return write.node == coordinator; });
    cc::WriteEntry mine{};
    mine.table = 0;
    mine.key = key;
    mine.value = remove ? "" : "v";
    mine.remove = remove;
    commit_at(coordinator, {mine}, elsewhere);
  }
  /// Commits a transaction of the coordinator in the present epoch, with these writes on its node and elsewhere.
  void commit_at(std::uint32_t coordinator, const std::vector<cc::WriteEntry>& here,
                 const std::vector<cc::RemoteWrite>& elsewhere) {
    Node& node = nodes_[coordinator];
    const auto worker = node.database->engine().workers().take().value();
    const cc::LoggedWrites writes{here, elsewhere};
    ASSERT_EQ(cc::reserve_log(writes, worker->state()), AbortReason::kNone);
    worker->state().ring->publish(
        cc::write_log_entry(writes, worker->state(), record::make_tid(node.database->current_epoch(), ++sequence_)));
    node.database->engine().workers().give_back(worker);
  }
  /// On how many nodes the key is.
  unsigned count(const std::string& key) {
    unsigned found = 0;
    for (Node& node : nodes_) {
      Worker worker = node.database->register_worker().value();
      static_cast<void>(worker.run([&](Transaction& t) {
        std::string value;
        if (t.get(node.table, key, value) == Outcome::kOk) ++found;
      }));
    }
    return found;
  }
  void close_all() {
    for (Node& node : nodes_) ASSERT_TRUE(node.database->close().ok());
    nodes_.clear();
  }
  /// In a process that dies there.
  void in_child(const std::function<void()>& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      body();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  void lose_rings(std::uint32_t node) { std::filesystem::remove_all(options(node).reliable_directory); }
  recovery::Manifest manifest(std::uint32_t node) const {
    const auto manifest = recovery::read_manifest(base::system_files(), path(node));
    return manifest.ok() ? *manifest : recovery::Manifest();
  }
  struct Recovered {
    unsigned interrupted = 0;
    bool cut = false;
  };
  Recovered recover() {
    Recovered report;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const auto generations = manifest(node).generations;
      if (!generations.empty() && !generations.back().cut) ++report.interrupted;
    }
    const Status recovered = recover_all();
    EXPECT_TRUE(recovered.ok()) << recovered.message();
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const auto generations = manifest(node).generations;
      report.cut |= generations.size() > 1 && generations[generations.size() - 2].agreed;
    }
    return report;
  }
  /// Returns where the generations end that a recovery of all has just ended.
  std::array<epoch::Epoch, kNodes> ends() const {
    std::array<epoch::Epoch, kNodes> ends{};
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const auto generations = manifest(node).generations;
      if (generations.size() > 1) ends[node] = generations[generations.size() - 2].cut.value_or(0);
      EXPECT_TRUE(generations.back().end);
      EXPECT_LT(ends[node], *generations.back().cut) << "else this test would tell nothing";
    }
    return ends;
  }
  /// The report of each open node tells of the generation that had transactions.
  void expect_reports(const std::array<epoch::Epoch, kNodes>& cuts, bool rings) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const RecoveryReport& report = nodes_[node].database->recovery_report();
      EXPECT_EQ(report.durable_epoch, cuts[node]) << node;
      EXPECT_EQ(report.rings, rings) << node;
    }
  }
  using Member = std::unique_ptr<membership::Membership>;
  Member join(std::uint32_t node) const {
    membership::MembershipOptions own;
    own.node = static_cast<membership::NodeId>(node);
    own.cluster = "c";
    auto member = membership::Membership::join(std::make_unique<membership::MemoryBoard>(place_), own, {});
    EXPECT_TRUE(member.ok()) << member.status().message();
    return std::move(member).value();
  }
  Status recover_own(membership::Membership& member, std::uint32_t nodes) const {
    constexpr std::uint64_t kPatience_ms = 60'000;
    const membership::NodeId all[] = {0, 1, 2};
    return db::recover_across_hosts(member, std::span(all).first(nodes), {.options = options(member.node())},
                                    kPatience_ms, base::system_files())
        .status();
  }
  /// Recovers all nodes' logs, and returns why one of them could not be.
  Status recover_all() {
    if (!several_hosts()) return db::recover_cluster(all_options(), base::system_files()).status();
    place_ = std::make_shared<membership::MemoryPlace>();
    std::array<Status, kNodes> recovered;
    std::vector<std::thread> threads;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      threads.emplace_back([&, node] {
        const Member member = join(node);
        recovered[node] = recover_own(*member, kNodes);
        ended_.fetch_add(1);
        while (ended_.load() % kNodes != 0) std::this_thread::yield();  // none leaves while others look
      });
    }
    for (std::thread& thread : threads) thread.join();
    const auto failed = std::find_if(recovered.begin(), recovered.end(), [](const Status& one) { return !one.ok(); });
    return failed == recovered.end() ? Status() : *failed;
  }

  /// "durable" is so on all nodes; "late" is in node 0's log file, and on node 1 in its ring at most.
  void leave_a_node_behind() {
    open_all();
    put_everywhere(0, "durable");
    advance();
    advance();
    put_everywhere(1, "late1");
    put_everywhere(0, "late");
    advance({0, 2});
  }
  void die_with_a_node_behind() {
    in_child([this] {
      leave_a_node_behind();
      advance({0, 2});
    });
  }

  TemporaryDirectory directory_;
  std::vector<Node> nodes_;
  std::uint64_t sequence_ = 0;
  bool salvage_ = false;
  Background background_ = Background::kManual;
  bool logs_outside_ = false;
  std::uint64_t memory_bytes_ = std::uint64_t{16} << 20;
  std::shared_ptr<membership::MemoryPlace> place_;  ///< where nodes on several hosts agree
  std::atomic<unsigned> ended_{0};
};

}  // namespace granary::tests
