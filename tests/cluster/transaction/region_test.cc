// Commits across nodes whose local part is one HTM region: when it is tried, what must still hold at its end, and what is logged. That
// they are as serializable as those with locks, the other tests here show, which run with --htm=sim as well.

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster::test {
namespace {

using Outcome = granary::Outcome;

constexpr std::uint64_t kNow = 1'000'000;

/// Two nodes, with the keys 0x and 0y, 1x and 1y. Nothing aborts by chance.
class World : tests::WithRegions {
 public:
  explicit World(Htm htm, const std::string& directory = "")
      : cluster_(2, 2, {.seed = 1},
                 [&](unsigned id) {
                   Options options = tests::manual_options();
                   options.htm = htm;
                   options.htm_simulation.spurious_per_thousand = 0;
                   if (directory.empty()) return options;
                   options.directory = directory + "/" + std::to_string(id);
                   options.reliable_directory = options.directory + "-rings";
                   return options;
                 }),
        tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    cluster_.set_time(kNow);
    for (const std::string key : {"0x", "0y", "1x", "1y"}) {
      Transaction t = begin(home_of(key));
      put(t, key, "old");
      EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    }
  }
  ~World() { base::set_sync_hook({}); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimCluster& cluster() { return cluster_; }
  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  std::string get(Transaction& t, std::string_view key, std::size_t node = 0) {
    std::string value;
    return t.get(tables_[node], key, value) == Outcome::kOk ? value : "(none)";
  }
  void put(Transaction& t, std::string_view key, std::string_view value) {
    EXPECT_EQ(t.put(tables_[home_of(key)], key, value), Outcome::kOk);
  }
  /// By node 0, whatever the key's home.
  void put_from_0(Transaction& t, std::string_view key) { EXPECT_EQ(t.put(tables_[0], key, "new"), Outcome::kOk); }
  void declare_read(Transaction& t, std::string_view key) {
    const Declared read{tables_[0], key, false};
    EXPECT_EQ(t.declare({&read, 1}), Outcome::kOk);
  }
  std::string at(std::string_view key) {
    Transaction t = begin(home_of(key), 1);
    return get(t, key, home_of(key));
  }
  /// Once, when node 0's commit first comes to one of these points.
  void at_point(std::string_view one, std::string_view other, std::function<void()> body) {
    base::set_sync_hook([=, this, done = false](std::string_view point) mutable {
      if ((point == one || point == other) && !std::exchange(done, true)) body();
    });
  }
  std::uint64_t regions() { return cluster_.node(0).database().statistics().htm.commits; }
  std::uint64_t logged() { return cluster_.node(0).database().statistics().log_bytes; }

 private:
  SimCluster cluster_;
  const std::vector<Table> tables_;
};

TEST(RegionAcrossNodes, IsUsedWhenWhatIsElsewhereIsHeld) {
  World world(Htm::kSim);
  const std::uint64_t before = world.regions();
  Transaction t = world.begin(0);
  EXPECT_EQ(world.get(t, "0y") + world.get(t, "1x"), "oldold");
  world.put_from_0(t, "0x");
  world.put_from_0(t, "1x");  // locked, so that its read is held
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(world.regions(), before + 1);
  EXPECT_EQ(world.at("0x") + world.at("1x"), "newnew");
}

TEST(RegionAcrossNodes, IsUsedUnderLeases) {
  World world(Htm::kSim);
  const std::uint64_t before = world.regions();
  Transaction t = world.begin(0);
  world.declare_read(t, "1x");
  EXPECT_EQ(world.get(t, "1x"), "old");
  world.put_from_0(t, "0x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(world.regions(), before + 1);
  EXPECT_EQ(world.at("0x"), "new");
}

/// Write skew: without locks here, nothing would keep the other one from committing between the validation there and the region.
TEST(RegionAcrossNodes, IsNotUsedForWhatIsOnlyReadThere) {
  World world(Htm::kSim);
  AbortReason other = AbortReason::kNone;
  world.at_point("region.planned", "across.validated", [&] {
    Transaction t = world.begin(1);
    (void)world.get(t, "0x", 1);
    if (t.doom() == AbortReason::kNone) world.put(t, "1x", "new");
    other = t.commit().reason;
  });
  Transaction t = world.begin(0);
  EXPECT_EQ(world.get(t, "1x"), "old");
  world.put_from_0(t, "0x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_NE(other, AbortReason::kNone) << "both have read what the other one wrote, before it did";
}

TEST(RegionAcrossNodes, LeasesAreValidAtItsEnd) {
  World world(Htm::kSim);
  world.at_point("region.planned", "across.validated",
                 [&] { world.cluster().set_time(kNow + SimCluster::kLeaseIsValid); });
  Transaction t = world.begin(0);
  world.declare_read(t, "1x");
  EXPECT_EQ(world.get(t, "1x"), "old");
  world.put_from_0(t, "0x");
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired);
  EXPECT_EQ(world.at("0x"), "old");
}

/// I7: E at its end is the epoch that was agreed on; if not, the commit takes locks and agrees once more.
TEST(RegionAcrossNodes, EpochIsThatOfItsEnd) {
  World world(Htm::kSim);
  epoch::Epoch ahead = 0;
  world.at_point("region.planned", "", [&] {
    for (const std::size_t node : {0u, 1u}) ahead = ++world.cluster().node(node).control().by_leader.epoch;
  });
  Transaction t = world.begin(0);
  world.put_from_0(t, "0x");
  world.put_from_0(t, "1x");
  const CommitResult done = t.commit();
  ASSERT_EQ(done.reason, AbortReason::kNone);
  EXPECT_NE(ahead, 0u) << "a region was tried";
  EXPECT_EQ(done.ticket.epoch, ahead);
  EXPECT_EQ(world.at("0x") + world.at("1x"), "newnew");
}

/// I8: what is written elsewhere is in the log as well, as if locks had been taken.
TEST(RegionAcrossNodes, LogsAllWrites) {
  const auto logged_by = [](Htm htm) {
    const tests::TemporaryDirectory directory;
    for (const char* rings : {"0-rings", "1-rings"}) std::filesystem::create_directory(directory / rings);
    World world(htm, directory.path());
    Transaction t = world.begin(0);
    world.put_from_0(t, "0x");
    world.put_from_0(t, "1x");
    EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    world.cluster().pass_epochs(3);
    return world.logged();
  };
  EXPECT_EQ(logged_by(Htm::kSim), logged_by(Htm::kOff));
}

}  // namespace
}  // namespace granary::cluster::test
