// The epoch rules, one step at a time: E − e_w ≤ 1 (I13), reclamation epochs, snapshot epochs, revocation.

#include "src/epoch/epoch.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "src/epoch/limbo.h"
#include "tests/support/allocations.h"
#include "tests/support/at_sync_point.h"

namespace granary::epoch {
namespace {

constexpr EpochOptions kSmall{.snapshot_epochs = 5, .max_open_epochs = 3};

void tick(EpochManager& epochs, int times) {
  for (int i = 0; i < times; ++i) epochs.tick();
}

TEST(Epoch, AdvancesWhenNobodyIsInside) {
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  EXPECT_EQ(epochs.current(), 1u);
  EXPECT_TRUE(epochs.tick());
  EXPECT_EQ(epochs.current(), 2u);
  EXPECT_EQ(epochs.enter(*slot), 2u);
  epochs.leave(*slot);
  EXPECT_TRUE(epochs.tick());
}

TEST(Epoch, StopsAtTheLastEpochThatATidCanName) {
  EpochOptions options = kSmall;
  options.first_epoch = kLastEpoch - 1;
  EpochManager epochs(options);
  EXPECT_TRUE(epochs.tick());
  EXPECT_FALSE(epochs.tick());
  EXPECT_EQ(epochs.current(), kLastEpoch);
  EXPECT_EQ(epochs.complete(), kLastEpoch - 1) << "all that may have written in it";
}

TEST(Epoch, IsAtMostOneAheadOfAnOpenTransaction) {
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  const Epoch mine = epochs.enter(*slot);
  EXPECT_TRUE(epochs.tick());
  EXPECT_EQ(epochs.current(), mine + 1);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(epochs.tick());
  EXPECT_EQ(epochs.current(), mine + 1);
  EXPECT_EQ(epochs.stall().ticks, 10u);
  epochs.leave(*slot);
  EXPECT_TRUE(epochs.tick());
  EXPECT_EQ(epochs.stall().ticks, 0u);
}

/// E moves on while nobody sees that the slot is about to be entered.
TEST(Epoch, WhoEntersWhileItMovesTakesTheEpochThatHasCome) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  const tests::AtSyncPoint moved("epoch.seen", [&] { tick(epochs, 3); });
  EXPECT_EQ(epochs.enter(*slot), 4u);
  EXPECT_EQ(slot->local.load(), 4u);
  EXPECT_EQ(epochs.complete(), 3u);
  tick(epochs, 3);
  EXPECT_EQ(epochs.current(), 5u);
}

TEST(Epoch, TheSlowestSlotHoldsAllBack) {
  EpochManager epochs(kSmall);
  Slot* slow = epochs.acquire_slot();
  Slot* fast = epochs.acquire_slot();
  epochs.enter(*slow);
  tick(epochs, 1);
  EXPECT_EQ(epochs.enter(*fast), 2u);
  EXPECT_FALSE(epochs.tick());
  epochs.leave(*slow);
  EXPECT_TRUE(epochs.tick());
  EXPECT_FALSE(epochs.tick());
}

TEST(Epoch, RevokesOnlyTheSlotThatHoldsBackAndOnlyAfterTheLimit) {
  EpochManager epochs(kSmall);
  Slot* slow = epochs.acquire_slot();
  Slot* other = epochs.acquire_slot();
  epochs.enter(*slow);
  tick(epochs, 1);
  epochs.enter(*other);
  tick(epochs, 2);
  EXPECT_FALSE(slow->revoked.load());
  tick(epochs, 1);
  EXPECT_TRUE(slow->revoked.load());
  EXPECT_FALSE(other->revoked.load());
  EXPECT_FALSE(epochs.tick()) << "a revoked slot still counts until it is left";
}

TEST(Epoch, NeverRevokesWithoutALimit) {
  EpochManager epochs({.snapshot_epochs = 5, .max_open_epochs = 0});
  Slot* slot = epochs.acquire_slot();
  epochs.enter(*slot);
  tick(epochs, 1000);
  EXPECT_FALSE(slot->revoked.load());
}

TEST(Epoch, TreeReclamationStaysBelowEveryOpenTransaction) {
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  tick(epochs, 10);
  const Epoch mine = epochs.enter(*slot);
  tick(epochs, 5);
  EXPECT_LT(epochs.tree_reclamation(), mine);
  epochs.leave(*slot);
  tick(epochs, 3);
  EXPECT_GE(epochs.tree_reclamation(), mine);
  EXPECT_LT(epochs.tree_reclamation(), epochs.current());
}

TEST(Epoch, SnapshotsAreWholePeriodsAndAtLeastOnePeriodOld) {
  EpochManager epochs(kSmall);
  for (Epoch e = 1; e < 100; ++e) {
    EXPECT_EQ(epochs.snap(e) % 5, 0u);
    EXPECT_LE(epochs.snap(e), e);
    EXPECT_GT(epochs.snap(e) + 5, e);
    EXPECT_EQ(epochs.snapshot_of(e), e < 5 ? 0 : epochs.snap(e - 5));
  }
}

TEST(Epoch, APinnedSnapshotHoldsItsVersionsHoweverLong) {
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  tick(epochs, 22);
  epochs.enter(*slot);
  const Epoch snapshot = epochs.pin_snapshot(*slot);
  EXPECT_EQ(snapshot, 15u);
  epochs.leave(*slot);  // between two operations
  tick(epochs, 100);
  EXPECT_EQ(epochs.current(), 123u) << "a pinned snapshot does not hold E back";
  EXPECT_LT(epochs.snapshot_reclamation(), snapshot);
  EXPECT_GT(epochs.tree_reclamation(), snapshot);
  epochs.unpin_snapshot(*slot);
  tick(epochs, 1);
  EXPECT_GT(epochs.snapshot_reclamation(), 100u);
}

TEST(Epoch, SnapshotReclamationStaysBelowWhatAnOpenTransactionCouldPin) {
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  tick(epochs, 40);
  epochs.enter(*slot);
  tick(epochs, 30);
  EXPECT_LT(epochs.snapshot_reclamation(), epochs.snapshot_of(slot->local.load()));
  EXPECT_LT(epochs.snapshot_reclamation(), epochs.pin_snapshot(*slot));
}

TEST(Epoch, SlotsAreReusedCleanAndRunOut) {
  EpochManager epochs(kSmall);
  Slot* slot = epochs.acquire_slot();
  epochs.enter(*slot);
  epochs.pin_snapshot(*slot);
  slot->revoked.store(true);
  epochs.release_slot(slot);
  tick(epochs, 20);
  EXPECT_EQ(epochs.current(), 21u) << "a released slot holds nothing back";
  std::vector<Slot*> all;
  while (Slot* one = epochs.acquire_slot()) all.push_back(one);
  EXPECT_EQ(all.size(), EpochManager::kMaxSlots);
  EXPECT_EQ(all.front(), slot);
  EXPECT_FALSE(slot->revoked.load());
  epochs.release_slot(all[7]);
  EXPECT_EQ(epochs.acquire_slot(), all[7]);
}

/// A node of a cluster whose leader is the test.
class InCluster : public testing::Test {
 protected:
  Epoch e() const { return control_.by_leader.epoch.load(); }
  void lead_to(Epoch epoch) { control_.by_leader.epoch.store(epoch); }

  ControlBlock control_;
  EpochManager epochs_{{.snapshot_epochs = 5, .max_open_epochs = 3, .first_epoch = 40, .control = &control_}};
  Slot* slot_ = epochs_.acquire_slot();
};

TEST_F(InCluster, OnlyTheLeaderAdvances) {
  EXPECT_EQ(e(), 40u);
  EXPECT_FALSE(epochs_.tick());
  EXPECT_EQ(epochs_.current(), 40u);
  lead_to(41);
  EXPECT_EQ(epochs_.current(), 41u);
  EXPECT_EQ(epochs_.enter(*slot_), 41u);
  EXPECT_TRUE(epochs_.tick()) << "E has advanced since the last turn";
  EXPECT_FALSE(epochs_.tick());
  EXPECT_EQ(&epochs_.word(), &control_.by_leader.epoch);
}

TEST_F(InCluster, PublishesWhatItsSlotsHoldBack) {
  epochs_.publish();
  EXPECT_EQ(control_.by_node.oldest.load(), 40u) << "an idle node: its E";
  EXPECT_EQ(control_.by_node.oldest_snapshot.load(), 35u);
  epochs_.enter(*slot_);
  lead_to(41);
  epochs_.publish();
  EXPECT_EQ(control_.by_node.oldest.load(), 40u);
  EXPECT_EQ(control_.by_node.durable.load(), 39u) << "nothing is logged: what is complete";
  epochs_.pin_snapshot(*slot_);
  epochs_.leave(*slot_);
  lead_to(50);
  epochs_.publish(45);
  EXPECT_EQ(control_.by_node.oldest.load(), 50u);
  EXPECT_EQ(control_.by_node.oldest_snapshot.load(), 35u) << "pinned";
  EXPECT_EQ(control_.by_node.durable.load(), 45u);
}

TEST_F(InCluster, WhatWasPublishedIsTrueOfWhoEntersMeanwhile) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  const tests::AtSyncPoint moved("epoch.seen", [&] {
    lead_to(41);
    epochs_.publish();
    lead_to(42);
  });
  epochs_.enter(*slot_);
  EXPECT_GE(slot_->local.load(), control_.by_node.oldest.load());
  EXPECT_GT(slot_->local.load(), control_.by_node.durable.load());
}

TEST_F(InCluster, NeverTellsOfAnOlderSnapshotThanBefore) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  const tests::AtSyncPoint entering("epoch.entered_as_seen", [&] {
    const Epoch seen = slot_->local.exchange(kIdle);  // its owner has not stored yet what it has seen
    lead_to(60);
    epochs_.publish();
    const Epoch told = control_.by_node.oldest_snapshot.load();
    EXPECT_GT(told, 35u);
    slot_->local.store(seen);
    epochs_.publish();
    EXPECT_EQ(control_.by_node.oldest_snapshot.load(), told);
  });
  epochs_.enter(*slot_);
  EXPECT_EQ(slot_->local.load(), 60u);
}

TEST_F(InCluster, NeverFreesWhatAnotherNodesTransactionMaySee) {
  // Such a transaction has an e_w down to E - 1, and may have found what was registered with the epoch before its own.
  for (Epoch now = 41; now < 60; ++now) {
    lead_to(now);
    epochs_.tick();
    EXPECT_EQ(epochs_.tree_reclamation(), now - 3);
  }
  epochs_.enter(*slot_);
  EXPECT_LT(epochs_.tree_reclamation(), slot_->local.load());
}

TEST_F(InCluster, FreesVersionsByTheWholeClustersSnapshots) {
  lead_to(60);
  epochs_.tick();
  EXPECT_EQ(epochs_.snapshot_reclamation(), 0u) << "others may have older snapshots";
  control_.by_leader.snapshot_reclamation.store(44);
  EXPECT_EQ(epochs_.snapshot_reclamation(), 44u);
  epochs_.tick();
  EXPECT_EQ(epochs_.version_reclamation(), 44u);
}

TEST_F(InCluster, KeepsWhatItReadsForAnotherNodesSnapshotThoughThatNodeDies) {
  lead_to(60);
  control_.by_leader.snapshot_reclamation.store(39);
  epochs_.tick();
  const Epoch told = control_.by_node.oldest_snapshot.load();
  ASSERT_TRUE(epochs_.pin_answer(*slot_, 40));
  control_.by_leader.snapshot_reclamation.store(50);  // the other node is dead
  epochs_.tick();
  EXPECT_EQ(epochs_.version_reclamation(), 39u);
  EXPECT_EQ(control_.by_node.oldest_snapshot.load(), told) << "it is no snapshot of this node";
  epochs_.unpin_answer(*slot_);
  epochs_.tick();
  EXPECT_EQ(epochs_.version_reclamation(), 50u);
}

TEST_F(InCluster, DoesNotAnswerASnapshotWhoseVersionsMayBeGone) {
  lead_to(60);
  control_.by_leader.snapshot_reclamation.store(44);
  EXPECT_FALSE(epochs_.pin_answer(*slot_, 44));
  EXPECT_TRUE(epochs_.pin_answer(*slot_, 45));
  EXPECT_TRUE(epochs_.pin_answer(*slot_, 0)) << "it sees nothing";
  epochs_.tick();
  EXPECT_EQ(epochs_.version_reclamation(), 0u);
}

TEST_F(InCluster, RevokesTheSlotThatHoldsAllNodesBack) {
  epochs_.enter(*slot_);
  lead_to(41);
  for (int i = 0; i < 2; ++i) epochs_.tick();
  for (int i = 0; i < 9; ++i) epochs_.publish();
  EXPECT_FALSE(slot_->revoked.load()) << "ticks count, however often it is published";
  epochs_.tick();
  EXPECT_TRUE(slot_->revoked.load());
}

TEST(Limbo, GivesBackOldestFirstUpToTheSafeEpochAndTheBudget) {
  LimboList<int> limbo;
  for (int i = 1; i <= 10; ++i) limbo.add(static_cast<Epoch>(i), i);
  std::vector<int> freed;
  const auto keep = [&](int item) { freed.push_back(item); };
  EXPECT_EQ(limbo.reclaim(0, 100, keep), 0u);
  EXPECT_EQ(limbo.reclaim(5, 2, keep), 2u);
  EXPECT_EQ(limbo.reclaim(5, 100, keep), 3u);
  EXPECT_EQ(freed, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(limbo.size(), 5u);
  EXPECT_EQ(limbo.reclaim(kIdle - 1, 100, keep), 5u);
  EXPECT_TRUE(limbo.empty());
}

TEST(Limbo, GivesBackManyInTheirOrderWhileOthersCome) {
  LimboList<int> limbo;
  int added = 0, freed = 0;
  for (const int more : {1, 127, 128, 1000, 20'000, 5, 300, 0}) {
    for (int i = 0; i < more; ++i) limbo.add(1, added++);
    const auto in_order = [&](int item) { EXPECT_EQ(item, freed++); };
    limbo.reclaim(1, limbo.size() * 3 / 4, in_order);
    ASSERT_EQ(limbo.size(), static_cast<std::size_t>(added - freed));
  }
  limbo.reclaim(1, limbo.size(), [&](int item) { EXPECT_EQ(item, freed++); });
  EXPECT_EQ(freed, added);
}

TEST(Limbo, AListOfSteadyLengthAllocatesNothing) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "a sanitizer allocates";
  LimboList<int> limbo;
  const auto turn = [&](int items) {
    for (int i = 0; i < items; ++i) limbo.add(1, i);
    limbo.reclaim(1, static_cast<std::size_t>(items), [](int) {});
  };
  turn(1000);
  const std::uint64_t before = tests::allocations;
  for (int i = 0; i < 100; ++i) turn(i * 7);
  EXPECT_EQ(tests::allocations, before);
}

TEST(Limbo, AnItemMayRegisterMoreGarbageWhileItIsFreed) {
  LimboList<int> limbo;
  limbo.add(1, 1);
  EXPECT_EQ(limbo.reclaim(1, 10,
                          [&](int item) {
                            if (item < 5) limbo.add(1, item + 1);
                          }),
            5u);
  EXPECT_TRUE(limbo.empty());
}

}  // namespace
}  // namespace granary::epoch
