// A limit of snapshots: none is later, what they see is kept, and all that while workers pin theirs. With real threads:
// epoch_stress_test.cc.

#include <gtest/gtest.h>

#include "src/epoch/epoch.h"
#include "tests/support/at_sync_point.h"

namespace granary::epoch {
namespace {

constexpr EpochOptions kPeriodOfFive{.snapshot_epochs = 5, .max_open_epochs = 3};

void pass(EpochManager& epochs, int times) {
  for (int i = 0; i < times; ++i) epochs.tick();
}

/// Enters the slot, pins a snapshot and leaves the slot.
Epoch pin(EpochManager& epochs, Slot& slot) {
  epochs.enter(slot);
  const Epoch snapshot = epochs.pin_snapshot(slot);
  epochs.leave(slot);
  return snapshot;
}

TEST(SnapshotLimit, NoSnapshotIsLater) {
  EpochManager epochs(kPeriodOfFive);
  Slot* before = epochs.acquire_slot();
  Slot* slot = epochs.acquire_slot();
  pass(epochs, 22);
  EXPECT_EQ(pin(epochs, *before), 15u);
  pass(epochs, 10);
  EXPECT_EQ(epochs.limit_snapshots(epochs.snapshot_of(epochs.current()) + 3), 25u) << "a whole period";
  pass(epochs, 100);
  EXPECT_EQ(epochs.current(), 133u) << "E goes on";
  EXPECT_EQ(pin(epochs, *slot), 25u);
  EXPECT_EQ(before->snapshot.load(), 15u) << "pinned before the limit";
  epochs.unpin_snapshot(*before);
  epochs.unpin_snapshot(*slot);
  pass(epochs, 1);
  EXPECT_EQ(epochs.snapshot_reclamation(), 24u) << "what later snapshots see is kept though nobody has one";
  EXPECT_TRUE(epochs.snapshot_holds());
  EXPECT_EQ(epochs.limit_snapshots(100), 25u) << "never raised";
  EXPECT_EQ(pin(epochs, *slot), 25u);
  epochs.unlimit_snapshots();
  epochs.unpin_snapshot(*slot);
  EXPECT_EQ(pin(epochs, *slot), 125u);
  pass(epochs, 1);
  EXPECT_EQ(epochs.snapshot_reclamation(), 124u);
}

TEST(SnapshotLimit, DoesNotAskForWhatIsNotKeptAnyMore) {
  EpochManager epochs(kPeriodOfFive);
  Slot* slot = epochs.acquire_slot();
  pass(epochs, 32);
  EXPECT_EQ(epochs.snapshot_reclamation(), 24u);
  EXPECT_EQ(epochs.limit_snapshots(10), 25u);
  EXPECT_EQ(pin(epochs, *slot), 25u);
  pass(epochs, 10);
  EXPECT_EQ(epochs.snapshot_reclamation(), 24u);
}

TEST(SnapshotLimit, BeforeTheFirstSnapshotLetsThemSeeNothing) {
  EpochManager epochs(kPeriodOfFive);
  Slot* slot = epochs.acquire_slot();
  EXPECT_EQ(epochs.limit_snapshots(4), 0u);
  pass(epochs, 40);
  EXPECT_EQ(pin(epochs, *slot), 0u);
  EXPECT_EQ(epochs.snapshot_reclamation(), 0u);
}

/// The limit changes while a worker has chosen its snapshot and not pinned it yet.
TEST(SnapshotLimit, HoldsForASnapshotThatIsBeingPinned) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EpochManager epochs(kPeriodOfFive);
  Slot* slot = epochs.acquire_slot();
  pass(epochs, 29);
  epochs.limit_snapshots(20);
  epochs.unlimit_snapshots();
  {
    const tests::AtSyncPoint limited("epoch.snapshot_chosen", [&] { epochs.limit_snapshots(20); });
    EXPECT_EQ(epochs.enter(*slot), 30u);
    EXPECT_EQ(epochs.pin_snapshot(*slot), 20u);
  }
  EXPECT_EQ(slot->snapshot.load(), 20u);
}

TEST(SnapshotLimit, IsGoneForASnapshotThatIsBeingPinned) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EpochManager epochs(kPeriodOfFive);
  Slot* slot = epochs.acquire_slot();
  pass(epochs, 30);
  epochs.limit_snapshots(20);
  pass(epochs, 50);
  const tests::AtSyncPoint unlimited("epoch.snapshot_chosen", [&] {
    epochs.unlimit_snapshots();
    pass(epochs, 3);
  });
  epochs.enter(*slot);
  EXPECT_EQ(epochs.pin_snapshot(*slot), 75u);
  EXPECT_LT(epochs.snapshot_reclamation(), slot->snapshot.load());
}

/// A node of a cluster whose leader is the test.
TEST(SnapshotLimit, IsToldToTheOtherNodes) {
  ControlBlock control;
  EpochManager epochs{{.snapshot_epochs = 5, .max_open_epochs = 3, .first_epoch = 40, .control = &control}};
  const auto lead_to = [&](Epoch epoch) { control.by_leader.epoch.store(epoch); };
  lead_to(61);
  EXPECT_EQ(epochs.limit_snapshots(epochs.snapshot_of(epochs.current())), 55u);
  lead_to(90);
  epochs.publish();
  EXPECT_EQ(control.by_node.oldest_snapshot.load(), 55u);
  EXPECT_EQ(control.by_node.oldest.load(), 90u);
  EXPECT_EQ(epochs.limit_snapshots(50), 55u) << "others may have been told that nobody needs more";
  epochs.unlimit_snapshots();
  epochs.publish();
  EXPECT_EQ(control.by_node.oldest_snapshot.load(), 85u);
}

}  // namespace
}  // namespace granary::epoch
