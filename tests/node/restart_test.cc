// Clusters with directories that end, in order or not, and start again: what is there then, and what is waited for.
// What is refused is in wrong_data_test.cc.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <granary/cluster.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/load.h"
#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/life.h"
#include "cluster_config/membership/local/local_board.h"
#include "cluster_config/membership/membership.h"
#include "recovery/manifest.h"
#include "src/base/test_hooks.h"
#include "src/node/cluster_protocol.h"
#include "src/node/node_fabric.h"
#include "tests/node/cluster_restart.h"

namespace granary {
namespace {

using tests::ClusterFile;
using tests::ClusterRestart;
using tests::kAccounts;
using tests::make_accounts;
using tests::node_options;
using tests::on_each_node;

TEST_F(ClusterRestart, ANodeHasWhatAnotherWroteThere) {
  write_to_both();
  expect_both();
}

TEST_F(ClusterRestart, TheRunDirectoryMayBeGone) {
  write_to_both();
  std::filesystem::remove_all(folder() / "run");  // as one in memory when the machine starts anew
  expect_both();
  const auto life = membership::read_life(base::system_files(), folder() / "data/node-2", "test", 2);
  ASSERT_TRUE(life.ok()) << life.status().message();
  EXPECT_EQ(life->generation, 2u) << "a generation was taken twice";
}

/// Nobody else sees its directory, so it learns only together with the others that it lacks its data, or waits in vain
/// for these.
TEST(ClusterApart, AStartWithoutTheDataLeavesNothingInTheirPlace) {
  const ClusterFile file(2, 2, "directories = \"apart\"\n",
                         "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  const std::filesystem::path data = std::filesystem::path(file.path()).parent_path() / "data/node-2";
  on_each_node(file, 2, [](Cluster& cluster) { ASSERT_TRUE(cluster.start().ok()); });
  std::filesystem::rename(data, data.string() + "-elsewhere");
  std::filesystem::create_directory(data);
  ClusterOptions impatient = node_options(file, 2);
  impatient.start_timeout_ms = 100;
  EXPECT_THAT(Cluster::join(impatient).status().message(), testing::HasSubstr("these nodes are not there"));
  EXPECT_TRUE(std::filesystem::is_empty(data));
  std::string refused[2];
  const auto join = [&](NodeNumber node) {
    ClusterOptions options = node_options(file, node);
    options.start_timeout_ms = 5'000;
    refused[node - 1] = Cluster::join(options).status().message();
  };
  std::thread first(join, NodeNumber{1});
  join(2);
  first.join();
  // The node that hears of it first ends, and the other one may then wait for that node until its patience is over.
  EXPECT_THAT(refused, testing::Contains(testing::HasSubstr("the directory of node 2 holds no data")));
  EXPECT_TRUE(std::filesystem::is_empty(data));
  std::filesystem::remove(data);
  std::filesystem::rename(data.string() + "-elsewhere", data);
  on_each_node(file, 2, [](Cluster& cluster) {
    const Status started = cluster.start();
    EXPECT_TRUE(started.ok()) << started.message();
  });
}

/// Nobody else sees its directory.
TEST(ClusterApart, ANodeThatComesBackMissesDataThatAreNotMounted) {
  const ClusterFile file(2, 2, "directories = \"apart\"\n",
                         "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  const std::filesystem::path data = std::filesystem::path(file.path()).parent_path() / "data/node-2";
  std::atomic<bool> tried{false};
  on_each_node(file, 2, [&](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    if (cluster.node() == 1) {
      while (!tried) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    EXPECT_TRUE(cluster.leave().ok());
    std::filesystem::rename(data, data.string() + "-elsewhere");
    std::filesystem::create_directory(data);
    const Status refused = Cluster::join(node_options(file, 2)).status();
    EXPECT_EQ(refused.code(), StatusCode::kDamaged);
    EXPECT_THAT(refused.message(), testing::HasSubstr("'" + data.string() + "' holds no data"));
    EXPECT_TRUE(std::filesystem::is_empty(data));
    tried = true;
  });
}

TEST_F(ClusterRestart, TheFirstNodeThatComesRecoversAfterACrash) {
  crash_after_writes();
  expect_both();
}

/// Node 1 has its own directory open, and waits. What node 2 has begun and not ended concerns its next life alone.
TEST_F(ClusterRestart, ANodeMayDieWhileAnotherWaitsForIt) {
  crash_after_writes();
  const std::filesystem::path go = folder() / "go";
  const pid_t dying = ::fork();
  ASSERT_GE(dying, 0);
  if (dying == 0) {
    while (!std::filesystem::exists(go)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto two = Cluster::join(node_options(file_, 2));
    ::_exit(two.ok() ? 0 : 1);
  }
  auto one = Cluster::join(node_options(file_, 1)).value();
  std::ofstream(go) << "now";
  int status = -1;
  ::waitpid(dying, &status, 0);
  ASSERT_EQ(status, 0);
  std::thread first([&one] { expect_own(*one); });
  auto two = Cluster::join(node_options(file_, 2));
  EXPECT_TRUE(two.ok()) << two.status().message();
  if (two.ok()) expect_own(**two);
  first.join();
}

/// Else whoever starts meanwhile would read it too early, and D would go on without it.
TEST_F(ClusterRestart, ANodeHasLeftOnlyWhenItsLogIsWhole) {
  on_each_node(file_, 2, [this](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    const NodeNumber node = cluster.node();
    unsigned closed = 0;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "cluster.closed") return;
      ++closed;
      EXPECT_EQ(state_of(node), membership::MemberState::kServing);
      const auto manifest =
          recovery::read_manifest(base::system_files(), folder() / ("data/node-" + std::to_string(node)));
      EXPECT_TRUE(manifest->generations.back().cut.has_value());
    });
    EXPECT_TRUE(cluster.leave().ok());
    base::set_sync_hook({});
    EXPECT_EQ(closed, 1u);
    EXPECT_EQ(state_of(node), membership::MemberState::kLeft);
  });
}

TEST_F(ClusterRestart, ANodeThatCannotEndItsLogHasDied) {
  on_each_node(file_, 2, [this](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    EXPECT_TRUE(cluster.barrier().ok());
    if (cluster.node() == 2) std::filesystem::remove_all(folder() / "data/node-2");
    EXPECT_EQ(cluster.leave().ok(), cluster.node() == 1);
  });
  EXPECT_EQ(state_of(1), membership::MemberState::kLeft);
  EXPECT_EQ(state_of(2), membership::MemberState::kDead);
}

/// As one that was stopped for longer than its membership lasted: its log has no end, and nobody may read it yet.
TEST_F(ClusterRestart, AFormerProcessIsWaitedFor) {
  crash_after_writes();
  auto held = base::system_files().lock(folder() / "data/node-2/LOCK").value();
  ClusterOptions impatient = node_options(file_, 1);
  impatient.start_timeout_ms = 100;
  EXPECT_THAT(Cluster::join(impatient).status().message(), testing::HasSubstr("still in use by a former process"));
  std::thread ending([&held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held.reset();
  });
  expect_both();
  ending.join();
}

TEST_F(ClusterRestart, ADeadNodeThatTheFileHasNoMoreHoldsNothingBack) {
  crash_after_writes();
  auto cluster = Cluster::join(alone("smaller")).value();
  const auto accounts = make_accounts(*cluster, IndexKind::kHash);
  ASSERT_TRUE(cluster->start().ok());
  EXPECT_EQ(state_of(2), membership::MemberState::kDead);
  auto worker = cluster->register_worker().value();
  const RunResult done = worker->run([&](Transaction& t) { (void)t.put(accounts, 0, {7}); });
  ASSERT_TRUE(done.committed());
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (cluster->database().released_epoch() < done.ticket.epoch && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(cluster->database().released_epoch(), done.ticket.epoch);
  worker.reset();
}

/// The manifest tells from which epoch on a node that has come back, or has started with all others, may have
/// transactions (I20).
TEST_F(ClusterRestart, ANodeNotesWhenItWasLetIn) {
  std::atomic<bool> back{false};
  std::thread first([&] {
    auto one = Cluster::join(node_options(file_, 1)).value();
    EXPECT_TRUE(one->start().ok());
    while (!back) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const auto generation = [this] {
    return recovery::read_manifest(base::system_files(), folder() / "data/node-2")->generations.back();
  };
  {
    auto two = Cluster::join(node_options(file_, 2)).value();
    EXPECT_TRUE(generation().is_empty());
    EXPECT_TRUE(two->start().ok());
    EXPECT_TRUE(generation().admitted.has_value());
  }
  {
    auto two = Cluster::join(node_options(file_, 2)).value();
    EXPECT_TRUE(generation().is_empty());
    EXPECT_TRUE(two->start().ok());
    EXPECT_TRUE(generation().admitted.has_value());
  }
  back = true;
  first.join();
}

/// Two nodes of which one has been killed and the other has ended in order, and which are started again while the entry
/// of the killed one outlives it: the other one finds it serving, and cannot know yet that nobody is there.
class ClusterBackToTheDead : public testing::TestWithParam<const char*> {
 protected:
  /// Returns a member that stands for node 2: it serves by the configuration, and nobody can reach it.
  std::unique_ptr<membership::Membership> entry_of_killed() const {
    const auto config = cluster_config::load(file_.path()).value();
    const std::string data = config.find(2)->data_directory;
    membership::MembershipOptions options{.node = 2,
                                          .cluster = "test",
                                          .fingerprint = cluster_config::fingerprint(config),
                                          .nodes = {1, 2},
                                          .address = "here",
                                          .protocol = db::cluster_protocol()};
    options.finds_data = true;
    options.data_place = data;
    options.note_life = [data](membership::Generation generation) {
      auto life = membership::read_life(base::system_files(), data, "test", 2).value();
      life.generation = generation;
      return membership::write_life(base::system_files(), data, life);
    };
    auto killed = membership::Membership::join(db::open_board(config).value(), options, {}).value();
    EXPECT_TRUE(killed->serve().ok());
    return killed;
  }
  void await_return_of_1() const {
    const auto board = db::open_board(cluster_config::load(file_.path()).value()).value();
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      const auto found = membership::configuration_of(board->read()->text).value();
      if (found.find(1)->state == membership::MemberState::kJoining) return;
    }
  }

  const ClusterFile file_{2, 2, "directories = \"" + std::string(GetParam()) + "\"\n",
                          "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
};

INSTANTIATE_TEST_SUITE_P(Directories, ClusterBackToTheDead, testing::Values("by_host", "apart"),
                         [](const auto& directories) { return std::string(directories.param); });

TEST_P(ClusterBackToTheDead, ItStartsTogetherWithAllOthers) {
  static constexpr std::int64_t kBalance = 7;
  on_each_node(file_, 2, [](Cluster& cluster) {
    const auto accounts = make_accounts(cluster, IndexKind::kHash);
    ASSERT_TRUE(cluster.start().ok());
    const std::uint64_t own = (cluster.node() - 1) * kAccounts;
    auto worker = cluster.register_worker().value();
    EXPECT_TRUE(worker->run([&](Transaction& t) { (void)t.put(accounts, own, {kBalance}); }).committed());
    EXPECT_TRUE(cluster.barrier().ok());
  });
  auto killed = entry_of_killed();
  const auto start = [this](NodeNumber node) {
    auto cluster = Cluster::join(node_options(file_, node));
    ASSERT_TRUE(cluster.ok()) << cluster.status().message();
    EXPECT_FALSE((*cluster)->rejoined());
    const auto accounts = make_accounts(**cluster, IndexKind::kHash);
    const Status started = (*cluster)->start();
    ASSERT_TRUE(started.ok()) << started.message();
    auto worker = (*cluster)->register_worker().value();
    for (const std::uint64_t account : {std::uint64_t{0}, kAccounts}) {
      std::int64_t balance = 0;
      EXPECT_TRUE(worker->run([&](Transaction& t) { balance = t.get(accounts, account)->balance; }).committed());
      EXPECT_EQ(balance, kBalance);
    }
    EXPECT_TRUE((*cluster)->barrier().ok());
  };
  std::thread first(start, NodeNumber{1});
  await_return_of_1();
  constexpr std::chrono::milliseconds kUntilItWaits(300);
  std::this_thread::sleep_for(kUntilItWaits);
  killed.reset();
  start(2);
  first.join();
}

TEST_F(ClusterRestart, ADirectoryOfANodeIsNotOpenedAlone) {
  write_to_both();
  Options alone;
  alone.directory = folder() / "data/node-1";
  const auto opened = Database::open(alone);
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), testing::HasSubstr("has the data of a node of a cluster"));
  expect_both();
}

/// So their ids in the log and in messages are in another order than they are made in.
TEST_F(ClusterRestart, ATableMayBeAddedBeforeAnother) {
  const auto run = [this](bool added, std::int64_t expected) {
    on_each_node(file_, 2, [=](Cluster& cluster) {
      const auto home = [](std::string_view key) { return static_cast<NodeNumber>(key.back() - '0'); };
      const TableOptions options{.max_value_bytes = 8, .index = IndexKind::kHash};
      const Table first = cluster.create_table("first", options, {home}).value();
      if (added)
        (void)cluster.create_table("between", {.max_value_bytes = 4, .index = IndexKind::kHash}, {home}).value();
      const Table last = cluster.create_table("last", options, {home}).value();
      ASSERT_TRUE(cluster.start().ok());
      auto worker = cluster.register_worker().value();
      if (cluster.node() == 1) {
        EXPECT_TRUE(worker
                        ->run([&](Transaction& t) {
                          (void)t.put(first, "a2", "first");
                          (void)t.put(last, "b2" + std::to_string(expected) + "2", "last");
                        })
                        .committed());
      }
      EXPECT_TRUE(cluster.barrier().ok());
      std::int64_t count = 0;
      EXPECT_TRUE(worker
                      ->run([&](Transaction& t) {
                        count = 0;
                        std::string value;
                        for (std::int64_t i = 1; i <= expected; ++i)
                          count += t.get(last, "b2" + std::to_string(i) + "2", value) == Outcome::kOk ? 1 : 0;
                      })
                      .committed());
      EXPECT_EQ(count, expected) << "at node " << cluster.node();
      EXPECT_TRUE(cluster.barrier().ok());
    });
  };
  run(false, 1);
  run(true, 2);
  run(true, 3);
}

}  // namespace
}  // namespace granary
