// Commits across nodes whose local part is one HTM region: when it is tried, what must still hold at its end, and what
// is logged. That they are as serializable as those with locks, the other tests here show, which run with --htm=sim as
// well.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/region_world.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster::test {
namespace {

using World = RegionWorld;

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
  const tests::WithLeases with_leases;
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

/// Write skew: without locks here, nothing would keep the other one from committing between the validation there and
/// the region.
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
  const tests::WithLeases with_leases;
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
