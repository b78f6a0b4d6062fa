// Clusters of databases that end in order, or whose processes die, with or without what was in their rings; recovered as a whole, also
// by a recovery that is itself cut short at each step. Transactions across nodes are entries in their coordinator's log here:
// what a write-back makes of them is no matter, as nobody logs it. All of it twice: with directories that are all on one host, and with
// nodes that only see their own, agree at a board, and read each other's logs by messages.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership.h"
#include "recovery/manifest.h"
#include "src/base/file.h"
#include "src/base/test_hooks.h"
#include "src/cc/silo/log_entry.h"
#include "src/db/cluster/recover_across_hosts.h"
#include "src/db/cluster_recovery.h"
#include "src/db/engine.h"
#include "src/db/storage.h"
#include "tests/durability/read_by_messages.h"
#include "tests/support/manual_database.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

constexpr std::uint32_t kNodes = 3;

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
      if (other == node) continue;
      if (several_hosts()) {
        part.others_elsewhere = true;
      } else {
        part.others.push_back(path(other));
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
      const Status taken = engine.take_from(theirs.files(), db::RemoteFiles::kDirectory);
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
    Node& node = nodes_[coordinator];
    std::vector<cc::RemoteWrite> elsewhere;
    for (std::uint32_t other = 0; other < kNodes; ++other) {
      elsewhere.push_back({.node = static_cast<std::uint16_t>(other),
                           .table = 0,
                           .key = key,
                           .value = remove ? "" : "v",
                           .remove = remove});
    }
    std::erase_if(elsewhere, [&](const cc::RemoteWrite& write) { return write.node == coordinator; });
    const auto worker = node.database->engine().take_worker().value();
    cc::WriteEntry mine{};
    mine.table = 0;
    mine.key = key;
    mine.value = remove ? "" : "v";
    mine.remove = remove;
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
    if (several_hosts()) {
      recover_by_themselves();
    } else {
      const auto recovered = db::recover_cluster(all_options(), base::system_files());
      EXPECT_TRUE(recovered.ok()) << recovered.status().message();
    }
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      const auto generations = manifest(node).generations;
      report.cut |= generations.size() > 1 && generations[generations.size() - 2].agreed;
    }
    return report;
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
  void recover_own(membership::Membership& member, std::uint32_t nodes) const {
    constexpr std::uint64_t kPatience_ms = 60'000;
    const membership::NodeId all[] = {0, 1, 2};
    const auto begin = db::recover_across_hosts(
        member, std::span(all).first(nodes), {.options = options(member.node())}, kPatience_ms, base::system_files());
    EXPECT_TRUE(begin.ok()) << begin.status().message();
  }
  void recover_by_themselves() {
    place_ = std::make_shared<membership::MemoryPlace>();
    std::vector<std::thread> threads;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      threads.emplace_back([&, node] {
        const Member member = join(node);
        recover_own(*member, kNodes);
        ended_.fetch_add(1);
        while (ended_.load() % kNodes != 0) std::this_thread::yield();  // none leaves while others look
      });
    }
    for (std::thread& thread : threads) thread.join();
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
  std::shared_ptr<membership::MemoryPlace> place_;  ///< where nodes on several hosts agree
  std::atomic<unsigned> ended_{0};
};

INSTANTIATE_TEST_SUITE_P(Hosts, ClusterRecovery, testing::Values(Hosts::kOne, Hosts::kSeveral),
                         [](const auto& one) { return one.param == Hosts::kOne ? "One" : "Several"; });

TEST_P(ClusterRecovery, ANodeFindsItsRecordsInTheLogsOfTheOthers) {
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

/// The removal is in one log, what was removed in another: whichever is read first.
TEST_P(ClusterRecovery, WhatWasRemovedStaysSo) {
  open_all();
  for (std::uint32_t maker = 0; maker < kNodes; ++maker) {
    for (std::uint32_t remover = 0; remover < kNodes; ++remover)
      put_everywhere(maker, std::to_string(maker) + std::to_string(remover));
  }
  put_everywhere(0, "again");
  advance();
  for (std::uint32_t maker = 0; maker < kNodes; ++maker) {
    for (std::uint32_t remover = 0; remover < kNodes; ++remover)
      put_everywhere(remover, std::to_string(maker) + std::to_string(remover), /*remove=*/true);
  }
  put_everywhere(1, "again", /*remove=*/true);
  advance();
  put_everywhere(2, "again");
  advance();
  close_all();
  for (int start = 0; start < 2; ++start) {
    open_all();
    for (std::uint32_t maker = 0; maker < kNodes; ++maker) {
      for (std::uint32_t remover = 0; remover < kNodes; ++remover)
        EXPECT_EQ(count(std::to_string(maker) + std::to_string(remover)), 0u) << maker << remover;
    }
    EXPECT_EQ(count("again"), kNodes);
    close_all();
  }
}

TEST_P(ClusterRecovery, NothingIsMissingIfAllRingsSurvive) {
  die_with_a_node_behind();
  epoch::ControlBlock control;
  EXPECT_EQ(open(1, &control).status().code(), StatusCode::kFailedPrecondition) << "recover first";
  const Recovered report = recover();
  EXPECT_EQ(report.interrupted, kNodes);
  EXPECT_FALSE(report.cut);
  open_all();
  for (const char* key : {"durable", "late", "late1"}) EXPECT_EQ(count(key), kNodes) << key;
}

/// Whoever looks at that node's log: the recovery of all, or the node itself.
TEST_P(ClusterRecovery, ALogThatEndsBeforeItsRingsIsRefused) {
  in_child([this] { leave_a_node_behind(); });
  const std::string segment = path(0) + "/" + log::segment_name(1, 0, 0);
  constexpr std::uint64_t kHeaderAndFirstMarker = 96;
  std::filesystem::resize_file(segment, kHeaderAndFirstMarker);
  const Status refused = several_hosts()
                             ? db::Storage::open(options(0), base::system_files(), {.recovers_all = true}).status()
                             : db::recover_cluster(all_options(), base::system_files()).status();
  EXPECT_EQ(refused.code(), StatusCode::kDamaged);
  EXPECT_NE(refused.message().find("'" + segment + "', offset 96"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("' goes on from 'log-g"), std::string::npos) << refused.message();
}

TEST_P(ClusterRecovery, AllGoBackToOneEpochIfANodeLostItsRings) {
  die_with_a_node_behind();
  lose_rings(1);
  const Recovered report = recover();
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

TEST_P(ClusterRecovery, ARecoveryThatIsCutShortIsTakenUpAgain) {
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
      std::atomic<int> left = steps;
      base::set_sync_hook([&left](std::string_view point) {
        if (point.starts_with("storage.") && left.fetch_sub(1) == 1) ::_exit(0);
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

/// All rings were there when it began, and the power goes before it ends: then nobody may keep what its own rings had.
TEST_P(ClusterRecovery, ARecoveryThatIsCutShortByALossOfPowerTakesAllBack) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  constexpr int kSteps = 6;
  for (int steps = 1; steps <= kSteps; ++steps) {
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      std::filesystem::remove_all(path(node));
      lose_rings(node);
    }
    die_with_a_node_behind();
    in_child([&] {
      std::atomic<int> left = steps;
      base::set_sync_hook([&left](std::string_view point) {
        if (point.starts_with("storage.") && left.fetch_sub(1) == 1) ::_exit(0);
      });
      recover();
    });
    for (std::uint32_t node = 0; node < kNodes; ++node) lose_rings(node);
    recover();
    open_all();
    EXPECT_EQ(count("durable"), kNodes) << steps;
    const unsigned late = count("late");
    EXPECT_EQ(late, count("late1")) << steps << ": one may depend on the other";
    EXPECT_TRUE(late == 0 || late == kNodes) << steps;
    close_all();
  }
}

TEST_P(ClusterRecovery, ANodeThatEndedInOrderGoesBackWithTheOthers) {
  in_child([this] {
    leave_a_node_behind();
    ASSERT_TRUE(nodes_[0].database->close().ok());
  });
  lose_rings(1);
  EXPECT_TRUE(recover().cut);
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
  EXPECT_EQ(count("late") + count("late1"), 0u);
  put_everywhere(0, "new");
  advance();
  advance();
  close_all();
  EXPECT_EQ(recover().interrupted, 0u);
  open_all();
  EXPECT_EQ(count("new"), kNodes);
}

/// One left long before the others did, so that its log knows of few epochs; the next start comes to nothing.
TEST_P(ClusterRecovery, AStartThatComesToNothingTakesNothingBack) {
  open_all();
  ASSERT_TRUE(nodes_[1].database->close().ok());
  for (int i = 0; i < 200; ++i) advance({0, 2});
  put_everywhere(0, "durable");
  advance({0, 2});
  advance({0, 2});
  close_all();
  in_child([this] {
    epoch::ControlBlock control;
    const auto engine = open(1, &control);
    ::_exit(engine.ok() ? 0 : 1);
  });
  lose_rings(1);
  recover();
  open_all();
  EXPECT_EQ(count("durable"), kNodes);
}

using OnSeveralHosts = ClusterRecovery;
INSTANTIATE_TEST_SUITE_P(Hosts, OnSeveralHosts, testing::Values(Hosts::kSeveral),
                         [](const auto&) { return "Several"; });

/// What node 1 says in the test's hand.
void say(membership::Membership& member, const recovery::NodeLogState& log, const std::string& lives, bool done,
         bool served = false) {
  std::string text = recovery::to_text(log);
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  ASSERT_TRUE(member
                  .say("{\"lives\": [" + lives + "], \"log\": \"" + text + "\", \"there\": true, \"served\": " +
                       (served ? "true" : "false") + ", \"done\": " + (done ? "true}" : "false}"))
                  .ok());
}
/// Whether another node says so soon.
bool hears(membership::Membership& member, membership::NodeId node, std::string_view text) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    member.step(1000);
    const membership::Member* const found = member.configuration()->find(node);
    if (found != nullptr && found->note.find(text) != std::string::npos) return true;
  }
  return false;
}

/// Node 0 has saved its rings when node 1 comes back without its own: what all have agreed on then counts.
TEST_P(OnSeveralHosts, ANodeThatComesBackWithLessTakesAllBack) {
  die_with_a_node_behind();
  place_ = std::make_shared<membership::MemoryPlace>();
  std::thread own([this] { recover_own(*join(0), 2); });
  recovery::NodeLogState log{.running = recovery::NodeLogState::Running{.durable = 2, .rings = true}, .first_epoch = 9};
  Member other = join(1);
  say(*other, log, "1,1", false);
  EXPECT_TRUE(hears(*other, 0, "\"done\":true,\"lives\":[1,1]"));
  EXPECT_FALSE(manifest(0).generations.front().agreed);
  other.reset();
  other = join(1);
  say(*other, log, "1,1", true);  // of a round that is over
  EXPECT_TRUE(hears(*other, 0, "\"lives\":[1,2]"));
  for (int i = 0; i < 300; ++i) other->step(1000);
  log.running->rings = false;
  say(*other, log, "1,2", false);
  EXPECT_TRUE(hears(*other, 0, "\"done\":true,\"lives\":[1,2]"));
  say(*other, log, "1,2", true);
  own.join();
  EXPECT_TRUE(manifest(0).generations.front().agreed);
  EXPECT_EQ(manifest(0).generations.front().cut, 2u);
}

/// Node 0's directory is empty, as if it was not mounted.
TEST_P(OnSeveralHosts, ANodeWhoseDataAreGoneIsNamed) {
  for (const bool served : {false, true}) {
    place_ = std::make_shared<membership::MemoryPlace>();
    Status found;
    std::thread own([&] {
      const membership::NodeId both[] = {0, 1};
      const Member member = join(0);
      const auto begin = db::recover_across_hosts(*member, both, {.options = options(0)}, 60'000, base::system_files());
      found = begin.status();
    });
    const recovery::NodeLogState log{.over = 20, .first_epoch = 90};
    const Member other = join(1);
    say(*other, log, "1,1", false, served);
    if (!served) {
      EXPECT_TRUE(hears(*other, 0, "\"done\":true,\"lives\":[1,1]")) << "a new cluster";
      say(*other, log, "1,1", true, served);
    }
    own.join();
    EXPECT_EQ(found.code(), served ? StatusCode::kDamaged : StatusCode::kOk);
    EXPECT_EQ(found.message().find("the directory of node 0"), served ? 0u : std::string::npos) << found.message();
  }
}

}  // namespace
}  // namespace granary::tests
