// DrTM across nodes: what is declared elsewhere is held and fetched before the region, which then needs no other node;
// leases hold until its end; and locks of either kind end it. That histories are serializable is for history_test.cc to
// show.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/region_world.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster::test {
namespace {

class DrTmAcrossNodes : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    world_.emplace(Htm::kSim, "", "drtm");
    regions_ = world_->regions();
    fallbacks_ = world_->fallbacks();
  }
  std::uint64_t regions() { return world_->regions() - regions_; }
  std::uint64_t fallbacks() { return world_->fallbacks() - fallbacks_; }
  std::string get(Transaction& t, std::string_view key, std::size_t node = 0) { return world_->get(t, key, node); }

  std::optional<RegionWorld> world_;
  std::uint64_t regions_ = 0, fallbacks_ = 0;
};

TEST_F(DrTmAcrossNodes, WhatIsDeclaredIsFetchedBeforeTheRegion) {
  Transaction t = world_->begin(0);
  world_->declare(t, "1x", true);
  world_->declare(t, "1y", false);
  EXPECT_EQ(get(t, "0y") + get(t, "1x") + get(t, "1y"), "oldoldold");
  world_->put_from_0(t, "0x");
  world_->put_from_0(t, "1x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(regions(), 1u);
  EXPECT_EQ(fallbacks(), 0u);
  EXPECT_EQ(world_->at("0x") + world_->at("1x") + world_->at("1y"), "newnewold");
}

TEST_F(DrTmAcrossNodes, WhatWasOnlyReadIsInARegionToo) {
  Transaction t = world_->begin(0);
  world_->declare(t, "1y", false);
  EXPECT_EQ(get(t, "0y") + get(t, "1y"), "oldold");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(regions(), 1u);
}

TEST_F(DrTmAcrossNodes, WhatIsOnlyWrittenNeedsNoDeclaration) {
  Transaction t = world_->begin(0);
  world_->put_from_0(t, "0x");
  world_->put_from_0(t, "1x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(regions(), 1u);
  EXPECT_EQ(world_->at("0x") + world_->at("1x"), "newnew");
}

TEST_F(DrTmAcrossNodes, WhatWasNotDeclaredEndsTheRegionAndTakesLocks) {
  Transaction t = world_->begin(0);
  EXPECT_EQ(get(t, "0y") + get(t, "1x"), "oldold");
  world_->put_from_0(t, "0x");
  world_->put_from_0(t, "1x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(regions(), 0u);
  EXPECT_EQ(fallbacks(), 1u);
  EXPECT_EQ(world_->at("0x") + world_->at("1x"), "newnew");
}

TEST_F(DrTmAcrossNodes, OldVersionsAreKeptBeforeTheRegion) {
  world_->cluster().pass_epochs(9);
  const std::uint64_t before = world_->regions();
  Snapshot snapshot = world_->cluster().node(0).worker(1).snapshot();
  Transaction t = world_->begin(0);
  world_->declare(t, "1x", true);
  EXPECT_EQ(get(t, "0y") + get(t, "1x"), "oldold");
  world_->put_from_0(t, "1x");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(world_->regions(), before + 1);
  EXPECT_EQ(world_->snapshot_value(snapshot, "1x"), "old");
}

TEST_F(DrTmAcrossNodes, LeasesAreValidAtTheEndOfAWriter) {
  world_->at_point("across.prepared", "", [&] { world_->cluster().set_time(kNow + SimCluster::kLeaseIsValid); });
  Transaction t = world_->begin(0);
  world_->declare(t, "1x", false);
  EXPECT_EQ(get(t, "1x") + get(t, "0y"), "oldold");
  world_->put_from_0(t, "0x");
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired);
  EXPECT_EQ(world_->at("0x"), "old");
}

TEST_F(DrTmAcrossNodes, LeasesAreValidAtTheEndOfAWriterElsewhere) {
  world_->at_point("across.prepared", "", [&] { world_->cluster().set_time(kNow + SimCluster::kLeaseIsValid); });
  Transaction t = world_->begin(0);
  world_->declare(t, "1x", false);
  world_->declare(t, "1y", true);
  EXPECT_EQ(get(t, "1x") + get(t, "0y"), "oldold");
  world_->put_from_0(t, "0x");
  world_->put_from_0(t, "1y");
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired);
  EXPECT_EQ(world_->at("0x") + world_->at("1y"), "oldold") << "and nothing stays locked";
}

TEST_F(DrTmAcrossNodes, ALockOfAnotherNodeEndsTheRegionThatHasReadTheRecord) {
  Transaction t = world_->begin(0), other = world_->begin(1);
  EXPECT_EQ(get(t, "0x"), "old");
  world_->put_from_0(t, "0y");
  EXPECT_EQ(get(other, "1x", 1), "old");
  world_->declare_at(1, other, "0x", true);
  EXPECT_FALSE(t.commit().committed());
  other.abort();
  EXPECT_EQ(world_->at("0y"), "old");
}

TEST_F(DrTmAcrossNodes, ARegionDoesNotReadWhatAnotherNodeHasLocked) {
  Transaction t = world_->begin(0), other = world_->begin(1);
  world_->declare_at(1, other, "0x", true);
  EXPECT_EQ(get(t, "0x"), "(none)");
  EXPECT_NE(t.commit().reason, AbortReason::kNone);
  other.abort();
  EXPECT_EQ(world_->at("0x"), "old");
}

TEST_F(DrTmAcrossNodes, NorWritesByIt) {
  Transaction t = world_->begin(0), other = world_->begin(1);
  EXPECT_EQ(get(t, "0y"), "old");
  world_->put_from_0(t, "0y");
  world_->declare_at(1, other, "0x", true);
  get(t, "0x");
  EXPECT_NE(t.commit().reason, AbortReason::kNone);
  other.abort();
  EXPECT_EQ(world_->at("0y"), "old");
}

/// The region begins in the midst of a transaction, which may have written before.
TEST_F(DrTmAcrossNodes, TheLogHasWhatWasWrittenElsewhereBeforeAndInTheRegion) {
  const tests::TemporaryDirectory directory;
  for (const char* rings : {"0-rings", "1-rings"}) std::filesystem::create_directory(directory / rings);
  world_.reset();
  world_.emplace(Htm::kSim, directory.path(), "drtm");
  const auto logged_by = [&](bool late) {
    const std::uint64_t before = world_->logged();
    Transaction t = world_->begin(0);
    for (const char* key : {"1x", "1y"}) world_->declare(t, key, true);
    world_->put_from_0(t, "1x");
    if (!late) world_->put_from_0(t, "1y");
    EXPECT_EQ(get(t, "0y"), "old");
    if (late) world_->put_from_0(t, "1y");
    EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    world_->cluster().pass_epochs(3);
    return world_->logged() - before;
  };
  const std::uint64_t regions = world_->regions();
  static_cast<void>(logged_by(false));  // with what was loaded
  const std::uint64_t early = logged_by(false);
  EXPECT_GT(early, 0u);
  EXPECT_EQ(logged_by(true), early);
  EXPECT_EQ(world_->regions(), regions + 3);
  world_.reset();  // before its directory
}

/// A lease keeps writers away, not readers.
TEST_F(DrTmAcrossNodes, ARegionReadsWhatAnotherNodeHasLeased) {
  Transaction other = world_->begin(1);
  world_->declare_at(1, other, "0x", false);
  Transaction t = world_->begin(0);
  EXPECT_EQ(get(t, "0x"), "old");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(regions(), 1u);
  Transaction writer = world_->begin(0);
  world_->put_from_0(writer, "0x");
  EXPECT_EQ(writer.commit().reason, AbortReason::kRemotelyLocked);
  other.abort();
}

/// A transaction that was begun before the fibers cannot end while they run. Each of them has another one beside it.
TEST_F(DrTmAcrossNodes, WhatIsClaimedOutsideOfFibersIsNotWaitedFor) {
  Transaction outer = world_->begin(0);
  world_->declare(outer, "0x", true);
  EXPECT_EQ(get(outer, "0y") + get(outer, "1x") + get(outer, "0y"), "oldoldold") << "the second ends the region";
  EXPECT_EQ(fallbacks(), 1u);
  rdma::fiber::Scheduler& scheduler = world_->cluster().scheduler;
  for (int fiber = 0; fiber < 2; ++fiber) {
    scheduler.spawn([this] {
      const RunResult done = world_->cluster().node(0).worker().run([&, attempt = 0](Transaction& t) mutable {
        if (++attempt == 20) return t.abort();
        world_->put_from_0(t, "0x");
      });
      EXPECT_EQ(done.reason, AbortReason::kLockedByOwnWorker) << name(done.reason);
    });
  }
  scheduler.run();
  world_->put_from_0(outer, "0x");
  EXPECT_EQ(outer.commit().reason, AbortReason::kNone);
  EXPECT_EQ(world_->at("0x"), "new");
}

/// The worker ends it when the one that has met its lock bit tries again.
TEST_F(DrTmAcrossNodes, WhatIsClaimedAndDroppedIsTriedAgain) {
  Transaction outer = world_->begin(0);
  world_->declare(outer, "0x", true);
  EXPECT_EQ(get(outer, "0y") + get(outer, "1x") + get(outer, "0y"), "oldoldold") << "the second ends the region";
  EXPECT_EQ(fallbacks(), 1u);
  world_->cluster().scheduler.spawn([&] {
    const RunResult done = world_->cluster().node(0).worker().run([&, attempt = 0](Transaction& t) mutable {
      if (++attempt == 20) return t.abort();
      if (attempt == 1) outer = Transaction();
      world_->put_from_0(t, "0x");
    });
    EXPECT_TRUE(done) << name(done.reason);
    EXPECT_EQ(done.attempts, 2u);
  });
  world_->cluster().scheduler.run();
  EXPECT_EQ(world_->at("0x"), "new");
}

}  // namespace
}  // namespace granary::cluster::test
