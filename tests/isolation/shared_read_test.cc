// Reads and snapshots of a shared table at its owner, while another node holds the record and may be writing (I4).

#include "tests/isolation/shared_tables.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

// --- I4: reads ---

TEST_P(SharedTables, AReadWaitsForAHolderAndThenAborts) {
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  for (const bool of_write : {false, true}) {
    Transaction t = begin();
    std::string value;
    EXPECT_EQ(of_write ? t.update(table_, "x", "11") : t.get(table_, "x", value), Outcome::kAborted);
    EXPECT_EQ(t.commit().reason, AbortReason::kRecordBusy);
  }
  holder.release();
  EXPECT_EQ(db_.value(table_, "x"), "10");
}

TEST_P(SharedTables, AnAbsentRecordThatIsHeldMayBeAboutToAppear) {
  db_.remove(table_, "x");
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  Transaction t = begin();
  std::string value;
  EXPECT_EQ(t.get(table_, "x", value), Outcome::kAborted);
  t.abort();
  write_back(holder, "x", "50");
  EXPECT_EQ(db_.value(table_, "x"), "50");
}

const std::string kOldValue(200, 'o'), kNewValue(160, 'n');

TEST_P(SharedTables, AHolderThatComesAndBeginsToWriteDuringTheCopyIsNoticed) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  db_.put(table_, "x", kOldValue);
  RemoteHolder holder(record("x"));
  Transaction t = begin();
  std::string value;
  {
    WriteBack back(record("x"), "x", kNewValue, holder.next_tid(epoch()));
    const AtSyncPoint at("read.looked", [&] {
      EXPECT_TRUE(holder.lock());
      back.half();
    });
    EXPECT_EQ(t.get(table_, "x", value), Outcome::kAborted) << "torn: " << value;
    back.rest();
  }
  holder.release();
  EXPECT_EQ(db_.value(table_, "x"), kNewValue);
}

TEST_P(SharedTables, AHolderThatComesAndGoesDuringTheCopyIsNoticed) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  db_.put(table_, "x", kOldValue);
  RemoteHolder holder(record("x"));
  Transaction t = begin();
  std::string value;
  {
    const AtSyncPoint at("read.looked", [&] {
      EXPECT_TRUE(holder.lock());
      write_back(holder, "x", kNewValue);
    });
    EXPECT_EQ(t.get(table_, "x", value), Outcome::kOk);
  }
  EXPECT_EQ(value, kNewValue);
  expect_commit(t);
}

// --- snapshots ---

TEST_P(SharedTables, ASnapshotNeverReadsWhatAHolderMayBeWriting) {
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  std::string value;
  EXPECT_EQ(snapshot.get(table_, "x", value), Outcome::kBusy);
  EXPECT_EQ(snapshot.get(table_, "y", value), Outcome::kOk);
  EXPECT_EQ(scan_text(snapshot, table_), "(busy)");
  holder.release();
  EXPECT_EQ(scan_text(snapshot, table_), "x=10 y=20 ");
}

TEST_P(SharedTables, ASnapshotsScanOfAnIndexCountsWhatItHasVisitedBeforeARecordThatIsHeld) {
  const Table rows = db_.table("indexed", {.max_value_bytes = kMaxValue, .shared = true});
  const Index index = db_->create_index(rows, "by_value", {.parts = {{.length = 2}}}).value();
  db_.commit([&](Transaction& t) {
    for (const char* key : {"a", "b", "c"}) EXPECT_EQ(t.put(rows, key, key), Outcome::kOk);
  });
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(shared_record(rows, "b"));
  ASSERT_TRUE(holder.lock());
  std::uint64_t visited = 0;
  const ScanResult scanned =
      snapshot.scan(index, {}, [&](std::string_view, std::string_view) { return ++visited, true; });
  EXPECT_EQ(scanned.outcome, Outcome::kBusy);
  EXPECT_EQ(visited, 1u);
  EXPECT_EQ(scanned.count, visited);
  holder.release();
}

TEST_P(SharedTables, ASnapshotNoticesAHolderThatBeginsToWriteDuringTheCopy) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  db_.put(table_, "x", kOldValue);
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(record("x"));
  std::string value;
  const AtSyncPoint at("read.looked", [&] {
    EXPECT_TRUE(holder.lock());
    WriteBack(record("x"), "x", kNewValue, holder.next_tid(epoch())).half();
  });
  EXPECT_EQ(snapshot.get(table_, "x", value), Outcome::kBusy) << "torn: " << value;
  holder.release();
}

TEST_P(SharedTables, ASnapshotFindsOldVersionsWithoutWaiting) {
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  db_.put(table_, "x", "11");
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  EXPECT_EQ(scan_text(snapshot, table_), "x=10 y=20 ");
  holder.release();
}

}  // namespace
}  // namespace granary::tests
