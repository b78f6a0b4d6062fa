// Shared tables at their owner, with another node (tests/isolation/remote_holder.h) in the middle of reads, commits and garbage
// collection: the owner's rule (I2), places that stay what they are (I3), reads and validation of what a holder may be
// writing (I4). The anomalies are shown with shared tables, too: the whole program runs again with --tables=shared. Not covered:
// other nodes' real operations (tests/cluster), threads (tests/stress/shared_table_test.cc).

#include "src/db/engine.h"
#include "tests/isolation/isolation_test.h"
#include "tests/support/at_sync_point.h"
#include "tests/isolation/remote_holder.h"

namespace granary::tests {
namespace {

constexpr std::uint32_t kMaxValue = 2000;

class SharedTables : public Isolation {
 protected:
  SharedTables() {
    table_ = db_.table("shared", {.max_value_bytes = kMaxValue, .shared = true});
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      write(t, "y", 20);
    });
  }

  record::SharedRecord& record(std::string_view key) { return shared_record(table_, key); }
  std::uint64_t epoch() { return db_->current_epoch(); }

  void write_back(RemoteHolder& holder, std::string_view key, std::optional<std::string_view> value) {
    WriteBack(record(key), key, value, holder.next_tid(epoch())).rest();
    holder.release();
  }
  AbortReason reason_of_put(std::string_view key, std::string_view value) {
    Transaction t = begin();
    EXPECT_EQ(t.put(table_, key, value), Outcome::kOk);
    return t.commit().reason;
  }
  /// The address and incarnation that another node would remember.
  struct Place {
    record::SharedRecord* record;
    std::uint64_t incarnation;
  };
  Place place(std::string_view key) { return {&record(key), incarnation(record(key))}; }

  void remove_and_free(std::string_view key) {
    db_.remove(table_, key);
    db_.collect_everything();
    EXPECT_FALSE(in_index(table_, key));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SharedTables, testing::Values(1, 4), workers_name);

/// Interleavings inside a commit with locks.
class SharedLocking : public SharedTables {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
    if (asked_htm != Htm::kOff) GTEST_SKIP() << "it is about locks";
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SharedLocking, testing::Values(2), workers_name);

// --- what other nodes find ---

TEST_P(SharedTables, ARecordAtRestIsWholeWhateverHappenedToIt) {
  const auto expect_whole = [&](std::string_view what) {
    const record::SharedRecord& x = record("x");
    EXPECT_TRUE(is_whole(x, "x")) << what;
    EXPECT_EQ(x.state(), record::kFree) << what;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&x) % record::kSharedGrain, 0u) << what;
  };
  expect_whole("inserted");
  db_.put(table_, "x", std::string(1000, 'l'));
  expect_whole("longer");
  db_.put(table_, "x", "short");
  expect_whole("shorter");
  db_.pass_snapshot_period();
  db_.put(table_, "x", "the old version is kept");
  expect_whole("with an old version");
  db_.remove(table_, "x");
  expect_whole("removed");
  db_.put(table_, "x", "again");
  expect_whole("there again");
  Transaction t = begin();
  EXPECT_EQ(t.put(table_, "placeholder", "v"), Outcome::kOk);
  EXPECT_TRUE(is_whole(record("placeholder"), "placeholder"));
}

TEST(SharedMemory, TheRegionIsAMemoryFileIfAskedFor) {
  for (const bool shared : {false, true}) {
    Options options = manual_options();
    options.shared_memory = shared;
    ManualDatabase db(1, options);
    const Table table = db.table("t", {.max_value_bytes = 8, .shared = true});
    db.put(table, "k", "v");
    const memory::Region& region = db->engine().region();
    EXPECT_EQ(region.fd() >= 0, shared);
    const auto* const record = reinterpret_cast<const char*>(&shared_record(table, "k"));
    EXPECT_TRUE(record >= region.base() && record < region.base() + region.used());
  }
}

TEST_P(SharedTables, ARecordNeverMoves) {
  const record::SharedRecord* const first = &record("x");
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{kMaxValue}, std::size_t{1}}) {
    db_.put(table_, "x", std::string(size, 'v'));
    db_.pass_snapshot_period();
    EXPECT_EQ(&record("x"), first);
    EXPECT_EQ(db_.value(table_, "x"), std::string(size, 'v'));
  }
  Transaction t = begin();
  EXPECT_EQ(t.put(table_, "x", std::string(kMaxValue + 1, 'v')), Outcome::kValueTooLarge);
}

// --- I2: the owner's rule ---

TEST_P(SharedTables, TheOwnerWaitsForAnXLockAndThenAborts) {
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());
  EXPECT_EQ(reason_of_put("x", "11"), AbortReason::kRemotelyLocked);
  EXPECT_EQ(record("x").state(), holder.word()) << "the owner never stores to the state";
  EXPECT_TRUE(holder.is_clear()) << "nor leaves a lock bit";
  holder.release();
  EXPECT_EQ(reason_of_put("x", "11"), AbortReason::kNone);
}

TEST_P(SharedTables, NoUpdateIsLostBetweenTheOwnerAndAHolder) {
  RemoteHolder holder(record("x"));
  ASSERT_TRUE(holder.lock());  // and reads 10
  Transaction blind = begin();
  write(blind, "x", 5);
  const bool overtaken = commits(blind);
  write_back(holder, "x", "11");
  EXPECT_FALSE(overtaken);
  EXPECT_EQ(db_.value(table_, "x"), "11");
}

TEST_P(SharedTables, ALeaseStopsWritersButNotReaders) {
  base::store_word(&record("x").state_word, record::lease_word(1));
  EXPECT_EQ(reason_of_put("x", "11"), AbortReason::kRemotelyLocked);
  Transaction t = begin();
  EXPECT_EQ(read(t, "x"), 10);
  write(t, "y", 21);
  expect_commit(t);
  base::store_word(&record("x").state_word, record::kFree);
}

TEST_P(SharedLocking, TheOwnerGivesWayToAHolderThatCameRightAfterItsLockBit) {
  RemoteHolder holder(record("x"));
  {
    AtSyncPoint at("owner.locked", [&] { EXPECT_TRUE(holder.take()); });
    EXPECT_EQ(reason_of_put("x", "5"), AbortReason::kRemotelyLocked);
  }
  EXPECT_TRUE(holder.is_clear()) << "it reads the header again, and may go on";
  write_back(holder, "x", "11");
  EXPECT_EQ(db_.value(table_, "x"), "11");
}

TEST_P(SharedLocking, AHolderGivesWayToTheOwnerThatHoldsTheRecord) {
  RemoteHolder holder(record("x"));
  Transaction t = begin();
  EXPECT_EQ(read(t, "x"), 10);
  write(t, "x", 11);
  {
    AtSyncPoint at("commit.locked", [&] {
      EXPECT_TRUE(holder.take());
      EXPECT_FALSE(holder.is_clear());
    });
    expect_commit(t);  // though the state is not free when it validates
  }
  holder.release();
  EXPECT_EQ(db_.value(table_, "x"), "11");
}

/// Runs a blind put of x during whose locking a holder that was there before writes back and goes: the lock bit is wiped
/// after the state was seen held by nobody. At commit.locked, `meanwhile` runs.
class SharedWriteBackDuringLocking : public SharedLocking {
 protected:
  void run(const std::function<void()>& meanwhile) {
    RemoteHolder holder(record("x"));
    record::TidWord remote_tid = 0;
    bool took = false, wrote = false, reached = false;
    base::set_sync_hook([&](std::string_view point) {
      if (point == "owner.looked" && !took) took = holder.lock();
      if (point == "owner.locked" && !wrote) {
        wrote = true;
        WriteBack back(record("x"), "x", "50", holder.next_tid(epoch()));
        back.rest();
        remote_tid = back.tid();
        holder.release();
      }
      if (point == "commit.locked" && !reached) {
        reached = true;
        meanwhile();
      }
    });
    Transaction t = begin();
    write(t, "x", 60);
    const CommitResult done = t.commit();
    base::set_sync_hook({});
    EXPECT_TRUE(took && wrote);
    EXPECT_TRUE(done.committed());
    EXPECT_GT(done.ticket.tid, record::tid_of(remote_tid)) << "I1";
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SharedWriteBackDuringLocking, testing::Values(2), workers_name);

TEST_P(SharedWriteBackDuringLocking, OtherOwnersFindTheRecordLocked) {
  run([&] { EXPECT_EQ(reason_of_put("x", "70"), AbortReason::kWriteLocked); });
  EXPECT_EQ(db_.value(table_, "x"), "60");
}

TEST_P(SharedWriteBackDuringLocking, OtherHoldersFindTheRecordLocked) {
  run([&] { EXPECT_FALSE(RemoteHolder(record("x"), 8).lock()); });
  EXPECT_EQ(db_.value(table_, "x"), "60");
}

// --- validation ---

TEST_P(SharedTables, AReadRecordThatIsXLockedAtValidationIsAConflict) {
  for (const bool writes : {false, true}) {
    Transaction t = begin();
    EXPECT_EQ(read(t, "x"), 10);
    if (writes) write(t, "y", 21);
    RemoteHolder holder(record("x"));
    ASSERT_TRUE(holder.lock());
    EXPECT_EQ(t.commit().reason, AbortReason::kReadLocked);
    holder.release();
  }
}

TEST_P(SharedTables, AReadRecordThatWasWrittenBackIsAConflict) {
  for (const bool writes : {false, true}) {
    Transaction t = begin();
    EXPECT_EQ(read(t, "x"), 10);
    if (writes) write(t, "y", 21);
    RemoteHolder holder(record("x"));
    ASSERT_TRUE(holder.lock());
    write_back(holder, "x", "10");
    EXPECT_EQ(t.commit().reason, AbortReason::kReadChanged);
  }
}

/// The holder is there when the validation begins, and gone before it has looked at both words.
class SharedWriteBackDuringValidation : public SharedLocking {
 protected:
  AbortReason run(Transaction& t) {
    RemoteHolder holder(record("x"));
    EXPECT_TRUE(holder.lock());
    const AtSyncPoint at("header.half", [&] { write_back(holder, "x", "50"); });
    return t.commit().reason;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SharedWriteBackDuringValidation, testing::Values(2), workers_name);

TEST_P(SharedWriteBackDuringValidation, OfAReader) {
  Transaction t = begin();
  EXPECT_EQ(read(t, "x"), 10);
  EXPECT_NE(run(t), AbortReason::kNone);
}

TEST_P(SharedWriteBackDuringValidation, OfAWriter) {
  Transaction t = begin();
  EXPECT_EQ(read(t, "x"), 10);
  write(t, "y", 21);
  EXPECT_NE(run(t), AbortReason::kNone);
  EXPECT_EQ(db_.value(table_, "y"), "20");
}

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

// --- in regions ---

TEST_P(SharedTables, ARegionSeesHolders) {
  if (asked_htm == Htm::kOff) GTEST_SKIP() << "it is about commits in regions";
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    for (const bool reads : {false, true}) {
      Transaction t = begin();
      if (reads) {
        EXPECT_EQ(read(t, "y"), 20);
      }
      write(t, "x", 11);
      RemoteHolder holder(record(reads ? "y" : "x"));
      bool passed = false;
      base::set_sync_hook([&](std::string_view at) {
        if (at == point && !passed) passed = holder.lock();
      });
      const AbortReason reason = t.commit().reason;
      base::set_sync_hook({});
      if (passed) {  // a region that ends by chance before the point may have left the commit to locks
        EXPECT_EQ(reason, reads ? AbortReason::kReadLocked : AbortReason::kRemotelyLocked) << point;
        holder.release();
      }
      db_.put(table_, "x", "10");
    }
  }
}

}  // namespace
}  // namespace granary::tests
