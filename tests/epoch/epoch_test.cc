// The epoch rules, one step at a time: E − e_w ≤ 1 (I13), reclamation epochs, snapshot epochs, revocation.

#include "src/epoch/epoch.h"

#include <vector>

#include <gtest/gtest.h>

#include "src/epoch/limbo.h"

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
