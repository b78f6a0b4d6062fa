// Covers starts that lack something: the caller is told what. Not nodes that do not come (cluster_test.cc).

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "cluster_config/load.h"
#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/membership.h"
#include "src/base/test_hooks.h"
#include "src/node/cluster_protocol.h"
#include "src/node/cluster_tables.h"
#include "src/node/leader_thread.h"
#include "src/node/node_fabric.h"
#include "src/node/prepare_directories.h"
#include "src/db/engine.h"
#include "tests/node/local_cluster.h"

namespace granary::tests {
namespace {

TEST(Start, WithoutAnEpochSlotForTheServiceSaysSo) {
  const ClusterFile file(1);
  auto cluster = Cluster::join(node_options(file, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  while ((*cluster)->database().engine().epochs().acquire_slot() != nullptr) {
  }
  const Status started = (*cluster)->start();
  EXPECT_EQ(started.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(started.message(), testing::HasSubstr("epoch slots of node 1 are taken"));
}

/// A node that has not started has lost no membership, so a wait goes on. A checkpoint may wait so, too.
TEST(Start, WhatHasToBeDurableBeforeItWaits) {
  const ClusterFile file(2, 2, "", "data_directory = \"data\"\n");
  auto cluster = Cluster::join(node_options(file, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const Database& database = (*cluster)->database();
  const Status waited = database.wait_released({.epoch = database.current_epoch()}, /*timeout_us=*/20'000);
  EXPECT_EQ(waited.code(), StatusCode::kUnavailable) << waited.message();
  EXPECT_THAT(waited.message(), testing::HasSubstr("this node has not started yet"));
}

/// A node's fabric whose device is used up.
class UsedUp final : public rdma::Fabric {
 public:
  const rdma::NodeOptions& node() const override { return node_; }
  std::string_view provider() const override { return "none"; }
  Status register_region(const rdma::RegionSpec&, memory::Region&) override { return {}; }
  Status listen() override { return {}; }
  Result<std::unique_ptr<rdma::Endpoint>> open_endpoint() override {
    return Status(StatusCode::kResourceExhausted, "no endpoint is left");
  }
  Status cut_off(rdma::NodeId, rdma::Generation) override { return {}; }

 private:
  const rdma::NodeOptions node_{.node = 1};
};

TEST(Start, ALeaderWithoutAnEndpointTellsWhyTheEpochStays) {
  UsedUp fabric;
  db::LeaderThread leader(fabric, {1}, 1000, nullptr);
  membership::Configuration configuration;
  configuration.version = 1;
  configuration.add(1).state = membership::MemberState::kServing;
  configuration.leads = 1;
  leader.follow(configuration);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (leader.status().ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(leader.status().message(), "no endpoint is left");
  configuration.version = 2;
  configuration.add(1).state = membership::MemberState::kLeft;
  leader.follow(configuration);
  while (!leader.status().ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(leader.status().ok()) << "it does not lead any more";
}

TEST(Start, NodesHaveTheSameProtocol) {
  const cluster::messages::DescribeAnswer own{.protocol = "silo"};
  EXPECT_TRUE(db::compare_tables(own, 2, {.protocol = "silo"}).ok());
  const Status other = db::compare_tables(own, 2, {.protocol = "tictoc"});
  EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(other.message(), "Options::protocol is 'silo' here, and 'tictoc' at node 2; all nodes have the same one");
}

/// The description of all these tables is longer than a message.
TEST(Start, LearnsMoreTablesThanAMessageTellsOf) {
  constexpr unsigned kNodes = 2, kTables = 900;
  const ClusterFile file(kNodes);
  on_each_node(file, kNodes, [](Cluster& cluster) {
    Table last;
    for (unsigned i = 0; i < kTables; ++i) {
      std::string name = std::to_string(i);
      name.resize(kMaxNameBytes, 'x');
      const Placement at_two{[](std::string_view) { return NodeNumber{2}; }};
      last = cluster.create_table(name, {.max_value_bytes = 8}, at_two).value();
    }
    const Status started = cluster.start();
    ASSERT_TRUE(started.ok()) << started.message();
    auto worker = cluster.register_worker().value();
    const std::string key(1, static_cast<char>('0' + cluster.node()));
    EXPECT_TRUE(worker->run([&](Transaction& t) { EXPECT_EQ(t.put(last, key, "v"), Outcome::kOk); }).committed());
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

/// A node on its way back has nobody to come back to when all others that served have ended.
TEST(Start, OthersServeUntilTheLastOneEnds) {
  membership::Configuration configuration;
  configuration.add(1).state = membership::MemberState::kServing;
  EXPECT_FALSE(db::others_serve(configuration, 1));
  configuration.add(2).state = membership::MemberState::kServing;
  EXPECT_TRUE(db::others_serve(configuration, 1));
  configuration.add(2).state = membership::MemberState::kDead;
  EXPECT_FALSE(db::others_serve(configuration, 1));
}

/// This happens after a restart of the host, where the directory lay below /run and nodes are not root's.
TEST(Start, TellsThatItsRunDirectoryCannotBeMade) {
  const ClusterFile file(2);
  auto config = cluster_config::load(file.path()).value();
  config.run_directory = file.path() + "/run";  // below a file
  const Status refused = db::make_run_directory(config);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(),
              testing::AllOf(testing::HasSubstr(config.run_directory), testing::HasSubstr("Not a directory")));
}

/// As when all nodes were killed and one is there again first: the entry of another one outlives it until its session
/// is over.
TEST(Start, WaitsForAMemberThatTurnsOutToBeDead) {
  const ClusterFile file(2);
  const auto config = cluster_config::load(file.path()).value();
  ASSERT_TRUE(db::make_run_directory(config).ok());
  membership::MembershipOptions former{.node = 2,
                                       .cluster = "test",
                                       .fingerprint = cluster_config::fingerprint(config),
                                       .address = "here",
                                       .protocol = db::cluster_protocol()};
  auto killed = membership::Membership::join(db::open_board(config).value(), former, {}).value();
  const auto options = [&file](NodeNumber node) {
    ClusterOptions own = node_options(file, node);
    own.start_timeout_ms = 10'000;
    return own;
  };
  auto first = Cluster::join(options(1)).value();
  Status started;
  std::thread starts([&] { started = first->start(); });
  const auto board = db::open_board(config).value();
  const auto await_state = [&](NodeNumber node, membership::MemberState state) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      const auto found = membership::configuration_of(board->read()->text).value();
      if (const membership::Member* const member = found.find(node); member != nullptr && member->state == state)
        return;
    }
  };
  constexpr std::chrono::milliseconds kLongerThanTheFirst(300), kLongerThanTheSecond(500);  // tries to connect
  await_state(1, membership::MemberState::kReady);
  std::this_thread::sleep_for(kLongerThanTheFirst);
  killed.reset();
  await_state(2, membership::MemberState::kDead);
  std::this_thread::sleep_for(kLongerThanTheSecond);
  auto second = Cluster::join(options(2));
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE((*second)->start().ok());
  starts.join();
  EXPECT_TRUE(started.ok()) << started.message();
}

/// Says both at the end of a node's thread: nobody waits for a node that has failed.
struct SaysAtItsEnd {
  ~SaysAtItsEnd() {
    reached = true;
    told = true;
  }
  std::atomic<bool>& reached;
  std::atomic<bool>& told;
};

/// A live node that does not come to a barrier is named, and may come later. Only that barrier is one at which node 1
/// waits: at the barrier of the start it lets node 2 go first, however long that takes.
TEST(Barrier, TellsWhoDoesNotCome) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  const ClusterFile file(2);
  std::atomic<bool> reached{false}, told{false};
  const auto await = [](const std::atomic<bool>& happened) {
    while (!happened) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  on_each_node(
      file, 2,
      [&](Cluster& cluster) {
        const SaysAtItsEnd says{reached, told};
        base::set_sync_hook([&](std::string_view point) {
          if (point != "barrier.reached") return;
          if (cluster.node() == 2) reached = true;
          await(reached);
        });
        const Status started = cluster.start();
        ASSERT_TRUE(started.ok()) << started.message();
        if (cluster.node() == 2) {
          await(told);
          return;
        }
        const Status waited = cluster.barrier();
        EXPECT_EQ(waited.code(), StatusCode::kUnavailable);
        EXPECT_THAT(waited.message(), testing::HasSubstr("node 2 lives, and has not come to barrier 2 after 300 ms"));
        told = true;
      },
      [](ClusterOptions& options) {
        if (options.node == 1) options.barrier_timeout_ms = 300;
      });
}

/// What a node reads while it recovers is where it hears that it is to give up; the next start recovers all the same.
TEST(Start, IsGivenUpInTheMiddleOfARecovery) {
  const ClusterFile file(1, 2, {}, "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  const auto run = [&file](ClusterOptions options) -> Status {
    auto cluster = Cluster::join(options);
    if (!cluster.ok()) return cluster.status();
    auto table = (*cluster)->create_table<std::uint64_t, std::uint64_t>("t", {}, Placement::replicated());
    if (!table.ok()) return table.status();
    if (Status started = (*cluster)->start(); !started.ok()) return started;
    auto worker = (*cluster)->register_worker().value();
    return worker->run([&](Transaction& t) { (void)t.put(*table, 1, 2); }).committed()
               ? Status()
               : Status(StatusCode::kIoError, "not committed");
  };
  ASSERT_TRUE(run(node_options(file, 1)).ok());
  ClusterOptions options = node_options(file, 1);
  std::atomic<bool> recovers{false}, asked{false};
  options.give_up = [&] {
    if (!recovers) return false;
    asked = true;
    return true;
  };
  options.database.recovery_progress = [&](const RecoveryProgress&) {
    recovers = true;
    while (!asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const Status given_up = run(options);
  EXPECT_EQ(given_up.code(), StatusCode::kUnavailable);
  EXPECT_THAT(given_up.message(), testing::HasSubstr("node 1 was told to give up before it served"));
  EXPECT_TRUE(recovers);
  EXPECT_TRUE(run(node_options(file, 1)).ok());
}

}  // namespace
}  // namespace granary::tests
