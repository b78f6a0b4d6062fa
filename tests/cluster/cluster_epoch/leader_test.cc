// Leaders of epochs in simulated clusters (epoch_world.h), by seeds. Not covered: real clocks and threads
// (leader_shm_test.cc).

#include "src/cluster/cluster_epoch/leader.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/cluster/cluster_epoch/epoch_world.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::cluster {
namespace {

constexpr std::uint64_t kSeeds = 25;

/// The same world with other chance, again and again.
void run_seeds(const char* name, WorldOptions options, std::uint64_t seeds = kSeeds) {
  for (const std::uint64_t seed : tests::seeds(tests::scaled(seeds))) {
    options.network.seed = seed;
    EpochWorld world(options);
    const std::string wrong = world.run();
    ASSERT_EQ(wrong, "") << name << ", seed " << seed;
    ASSERT_GT(world.advances(), 3u) << name << ", seed " << seed;
    const bool all_live = options.crashes + options.suspicions == 0;
    ASSERT_TRUE(!all_live || world.durable() > 12) << name << ", seed " << seed;
  }
}

TEST(ClusterEpoch, AdvancesEverywhereWithOpenTransactions) { run_seeds("calm", {}); }

TEST(ClusterEpoch, StopsAtTheLastEpochThatATidCanName) {
  const auto plan_at = [](epoch::Epoch epoch) {
    MemberView member;
    member.epoch = epoch;
    member.admitted = 1;
    member.own = {.oldest = epoch, .durable = epoch - 1, .configuration = 1, .serving = true};
    return plan_turn(1, std::array{member, member}, {});
  };
  EXPECT_EQ(plan_at(epoch::kLastEpoch - 1).turn, Turn::kAdvanced);
  EXPECT_EQ(plan_at(epoch::kLastEpoch - 1).raises.at(1).epoch, epoch::kLastEpoch);
  EXPECT_EQ(plan_at(epoch::kLastEpoch).turn, Turn::kWaiting);
  EXPECT_TRUE(plan_at(epoch::kLastEpoch).raises.empty());
}

TEST(ClusterEpoch, OneNodeIsAClusterToo) { run_seeds("one", {.nodes = 1}); }

TEST(ClusterEpoch, OutlivesLostConnections) { run_seeds("lost", {.lost_connections = 4}); }

TEST(ClusterEpoch, OutlivesItsLeaders) { run_seeds("crashes", {.nodes = 5, .crashes = 3}, 2 * kSeeds); }

TEST(ClusterEpoch, NodesJoinAndServeInTheClustersEpoch) { run_seeds("joins", {.joins = 4}, 2 * kSeeds); }

TEST(ClusterEpoch, LeadersThatWereTakenForDeadDoNoHarm) {
  run_seeds("suspected", {.nodes = 5, .suspicions = 3, .joins = 1}, 2 * kSeeds);
}

TEST(ClusterEpoch, AllAtOnceOnASlowNetwork) {
  run_seeds("all",
            {.network = {.most_delay = 200'000, .loss = 0.01},
             .nodes = 4,
             .crashes = 2,
             .suspicions = 2,
             .joins = 4,
             .lost_connections = 2},
            3 * kSeeds);
}

}  // namespace
}  // namespace granary::cluster
