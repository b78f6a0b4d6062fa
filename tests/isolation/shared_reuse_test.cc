// Garbage collection of a shared table at its owner: what another node that holds the record, or remembers its place,
// finds when the record is unhooked and its block used again (I3).

#include "tests/isolation/shared_tables.h"

namespace granary::tests {
namespace {

// --- I3: unhooking and reuse ---

/// With one worker, which uses the block that it has freed.
class SharedReuse : public SharedTables {};
INSTANTIATE_TEST_SUITE_P(Workers, SharedReuse, testing::Values(1), workers_name);

TEST_P(SharedTables, UnhookingRaisesTheIncarnationAndClearsLatest) {
  const Place old = place("x");
  remove_and_free("x");
  EXPECT_EQ(incarnation(*old.record), old.incarnation + 1);
  EXPECT_FALSE(record::is_latest(old.record->head.tid()));
  EXPECT_TRUE(is_whole(*old.record, "x")) << "nobody shall take it for torn and wait";
}

TEST_P(SharedReuse, AnOldAddressIsToldFromTheSameKeysNewRecord) {
  const Place old = place("x");
  remove_and_free("x");
  db_.put(table_, "x", "11");
  const Place now = place("x");
  ASSERT_EQ(now.record, old.record);
  EXPECT_NE(now.incarnation, old.incarnation);
  EXPECT_TRUE(is_whole(*now.record, "x"));
}

TEST_P(SharedReuse, AHashIndexTellsTheRecordsIncarnation) {
  table_ = db_.table("hashed", {.max_value_bytes = 8, .index = IndexKind::kHash, .expected_keys = 8, .shared = true});
  for (std::uint64_t life = 0; life < 3; ++life) {
    db_.put(table_, "x", "v");
    EXPECT_EQ(table_.core()->index().hash().find("x").incarnation, life);
    EXPECT_EQ(incarnation(record("x")), life);
    remove_and_free("x");
  }
}

TEST_P(SharedReuse, ReuseKeepsTheStateOfAHolderWithAnOldAddress) {
  const Place old = place("x");
  remove_and_free("x");
  RemoteHolder late(*old.record);
  ASSERT_TRUE(late.take());
  Transaction t = begin();
  EXPECT_EQ(t.put(table_, "z", "30"), Outcome::kOk);
  ASSERT_EQ(&record("z"), old.record);
  EXPECT_EQ(old.record->state(), late.word());
  t.abort();
  late.release();
}

TEST_P(SharedReuse, WhoeverTakesOverABlockWaitsForAHolderWithAnOldAddress) {
  const Place old = place("x");
  remove_and_free("x");
  RemoteHolder late(*old.record);
  ASSERT_TRUE(late.take());
  EXPECT_EQ(reason_of_put("z", "30"), AbortReason::kRemotelyLocked);
  EXPECT_NE(incarnation(*old.record), old.incarnation) << "which is why the holder lets go";
  late.release();
  EXPECT_EQ(reason_of_put("z", "30"), AbortReason::kNone);
}

TEST_P(SharedTables, UnhookingGivesWayToAHolderAndComesAgain) {
  db_.remove(table_, "x");
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  const Place before = place("x");
  db_.collect_everything();
  ASSERT_TRUE(in_index(table_, "x"));
  EXPECT_EQ(incarnation(record("x")), before.incarnation);
  EXPECT_TRUE(holder.is_clear());
  holder.release();
  db_.collect_everything();
  EXPECT_FALSE(in_index(table_, "x"));
  EXPECT_EQ(db_->statistics().garbage_items, 0u);
}

TEST_P(SharedTables, WhatAHolderBroughtBackToLifeIsNotUnhooked) {
  db_.remove(table_, "x");
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  write_back(holder, "x", "50");
  db_.collect_everything();
  EXPECT_EQ(db_.value(table_, "x"), "50");
}

}  // namespace
}  // namespace granary::tests
