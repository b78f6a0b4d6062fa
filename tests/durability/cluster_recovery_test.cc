// Clusters of databases that end in order, or whose processes die, with or without what was in their rings; recovered as a whole, also
// by a recovery that is itself cut short at each step. Transactions across nodes are entries in their coordinator's log here:
// what a write-back makes of them is no matter, as nobody logs it.

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "src/base/test_hooks.h"
#include "src/cc/silo/log_entry.h"
#include "src/db/cluster_recovery.h"
#include "src/db/engine.h"
#include "tests/support/manual_database.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

constexpr std::uint32_t kNodes = 3;

class ClusterRecovery : public testing::Test {
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
    options.memory_limit_bytes = std::uint64_t{16} << 20;
    return options;
  }
  std::vector<Options> all_options() const {
    std::vector<Options> all;
    for (std::uint32_t node = 0; node < kNodes; ++node) all.push_back(options(node));
    return all;
  }
  Result<std::unique_ptr<db::Engine>> open(std::uint32_t node, epoch::ControlBlock* control) {
    db::ClusterPart part{.control = control, .node = node};
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      if (other != node) part.others.push_back(path(other));
    }
    std::filesystem::create_directories(options(node).reliable_directory);
    return db::Engine::open(options(node), base::system_files(), part);
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
    for (Node& node : nodes_) {  // as the leader does
      node.control->by_leader.epoch.store(epoch);
      node.control->by_node.serving.store(1);
    }
  }
  /// All nodes arrive in the next epoch; those in `log` make durable what is complete.
  void advance(std::vector<std::uint32_t> log = {0, 1, 2}) {
    for (Node& node : nodes_) node.control->by_leader.epoch.fetch_add(1);
    for (const std::uint32_t node : log) nodes_[node].database->step();
  }
  /// A transaction that `coordinator` commits in the present epoch, with a record on each node.
  void put_everywhere(std::uint32_t coordinator, const std::string& key) {
    Node& node = nodes_[coordinator];
    std::vector<cc::RemoteWrite> elsewhere;
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      elsewhere.push_back({.node = static_cast<std::uint16_t>(other), .table = 0, .key = key, .value = "v"});
    }
    std::erase_if(elsewhere, [&](const cc::RemoteWrite& write) { return write.node == coordinator; });
    const auto worker = node.database->engine().take_worker().value();
    cc::WriteEntry mine{};
    mine.table = 0;
    mine.key = key;
    mine.value = "v";
    const std::vector<cc::WriteEntry> here = {mine};
    const cc::silo::LoggedWrites writes{here, elsewhere};
    ASSERT_EQ(cc::silo::reserve_log(writes, worker->state()), AbortReason::kNone);
    cc::silo::append_log(writes, worker->state(), record::make_tid(node.database->current_epoch(), ++sequence_));
    node.database->engine().give_worker(worker);
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
  db::ClusterRecoveryReport recover() {
    auto report = db::recover_cluster(all_options(), base::system_files());
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : db::ClusterRecoveryReport{};
  }

  /// "durable" is so on all nodes; "late" is in node 0's log file, and on node 1 in its ring at most.
  void die_with_a_node_behind() {
    in_child([this] {
      open_all();
      put_everywhere(0, "durable");
      advance();
      advance();
      put_everywhere(1, "late1");
      put_everywhere(0, "late");
      advance({0, 2});
      advance({0, 2});
    });
  }

  TemporaryDirectory directory_;
  std::vector<Node> nodes_;
  std::uint64_t sequence_ = 0;
};

TEST_F(ClusterRecovery, ANodeFindsItsRecordsInTheLogsOfTheOthers) {
  open_all();
  put_everywhere(0, "a");
  put_everywhere(2, "b");
  advance();
  close_all();
  EXPECT_EQ(recover().interrupted, 0u) << "all ended in order";
  open_all();
  EXPECT_EQ(count("a"), kNodes);
  EXPECT_EQ(count("b"), kNodes);
}

TEST_F(ClusterRecovery, NothingIsMissingIfAllRingsSurvive) {
  die_with_a_node_behind();
  epoch::ControlBlock control;
  EXPECT_EQ(open(1, &control).status().code(), StatusCode::kFailedPrecondition) << "recover first";
  const db::ClusterRecoveryReport report = recover();
  EXPECT_EQ(report.interrupted, kNodes);
  EXPECT_FALSE(report.cut);
  open_all();
  for (const char* key : {"durable", "late", "late1"}) EXPECT_EQ(count(key), kNodes) << key;
}

TEST_F(ClusterRecovery, AllGoBackToOneEpochIfANodeLostItsRings) {
  die_with_a_node_behind();
  lose_rings(1);
  const db::ClusterRecoveryReport report = recover();
  ASSERT_TRUE(report.cut);
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("late"), 0u) << "although node 0 had it in its log";
  EXPECT_EQ(count("late1"), 0u);
  // Nor does it rise again, or take another's place, when new epochs have gone by.
  put_everywhere(2, "new");
  advance();
  close_all();
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("new"), kNodes);
  EXPECT_EQ(count("late") + count("late1"), 0u);
}

TEST_F(ClusterRecovery, ARecoveryThatIsCutShortIsTakenUpAgain) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  constexpr int kSteps = 6;  // two of each node
  for (int steps = 1; steps <= kSteps; ++steps) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      std::filesystem::remove_all(path(node));
      lose_rings(node);
    }
    die_with_a_node_behind();
    lose_rings(1);
    in_child([&] {
      base::set_sync_hook([left = steps](std::string_view point) mutable {
        if (point.starts_with("storage.") && --left == 0) ::_exit(0);
      });
      recover();
    });
    recover();
    open_all();
    EXPECT_EQ(count("durable"), kNodes) << steps;
    EXPECT_EQ(count("late") + count("late1"), 0u) << steps;
    close_all();
  }
}

}  // namespace
}  // namespace granary::tests
