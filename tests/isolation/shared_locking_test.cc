// Shared tables at their owner, with another node in the middle of its commits: the owner's rule (I2), and the
// validation of what a holder may be writing (I4).

#include "tests/isolation/shared_tables.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

INSTANTIATE_TEST_SUITE_P(Workers, SharedLocking, testing::Values(2), workers_name);

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

/// Runs a blind put of x during whose locking a holder that was there before writes back and goes: the lock bit is
/// wiped after the state was seen held by nobody. At commit.locked, `meanwhile` runs.
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

}  // namespace
}  // namespace granary::tests
