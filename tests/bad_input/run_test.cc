// Bodies of Worker::run() that never can commit, or that end the transaction themselves: what run() then reports. And a
// wait for a result that nobody releases.

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/allocations.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(BadBody, AbortOfADoomedTransactionIsNoDecisionOfTheBody) {
  Options options = manual_options();
  options.max_open_epochs = 3;
  ManualDatabase db(1, options);
  const Table table = db.table("t");
  const RunResult done = db.worker().run([&, attempt = 0](Transaction& t) mutable {
    EXPECT_EQ(t.aborted(), AbortReason::kNone);
    if (++attempt == 1) {
      for (int i = 0; i < 6; ++i) (void)db->step();
    }
    if (t.put(table, "k", "v") == Outcome::kOk) return;
    t.abort();  // many a body ends so when an operation fails
    EXPECT_EQ(t.aborted(), AbortReason::kOpenTooLong);
  });
  EXPECT_TRUE(done.committed()) << name(done.reason);
  EXPECT_EQ(done.attempts, 2u);
  EXPECT_EQ(db.value(table, "k"), "v");
}

/// A body that always takes longer than max_open_epochs never commits, so run() has to say so. The body gives up by
/// itself after many attempts, so that this test ends where run() does not.
TEST(BadBody, ABodyThatAlwaysTakesTooLong) {
  constexpr int kEnough = 50;
  Options options = manual_options();
  options.max_open_epochs = 3;
  ManualDatabase db(1, options);
  const Table table = db.table("t");
  int attempts = 0;
  const auto slow = [&](Transaction& t) {
    if (++attempts == kEnough) return t.abort();
    for (int i = 0; i < 6; ++i) (void)db->step();
    EXPECT_EQ(t.put(table, "k", "late"), Outcome::kAborted);
  };
  const RunResult done = db.worker().run(slow);
  EXPECT_EQ(done.reason, AbortReason::kOpenTooLong) << name(done.reason);
  EXPECT_EQ(done.attempts, 10u);
  EXPECT_EQ(db->statistics().aborts[static_cast<std::size_t>(AbortReason::kOpenTooLong)], 10u);
  attempts = 0;
  EXPECT_EQ(db.worker().run(slow, {.max_attempts = 2}).attempts, 2u);
  attempts = 0;
  const RunResult patient = db.worker().run(slow, {.patience_us = 60'000'000});
  EXPECT_EQ(patient.reason, AbortReason::kUser) << "its caller's patience was not over";
  EXPECT_EQ(patient.attempts, static_cast<std::uint32_t>(kEnough));
  attempts = 0;
  EXPECT_EQ(db.worker().run(slow, {.patience_us = ~std::uint64_t{0}}).reason, AbortReason::kUser) << "for ever";
  EXPECT_EQ(db.value(table, "k"), "(none)");
}

/// A decided transaction has to take effect. An exception would leave it half done, and its records locked. The process
/// ends instead, and its recovery does the rest.
TEST(BadBody, ACommitThatTheSystemHasNoMemoryForIsNotLeftHalfWay) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto commit = [] {
    ManualDatabase db(1);
    const Table table = db.table("t");
    db.put(table, "k", "old");
    db.pass_snapshot_period();
    Transaction t = db.begin();
    (void)t.put(table, "k", "new");
    const AtSyncPoint decided("commit.logged", [] { no_memory = true; });
    try {
      (void)t.commit();  // keeps the old version for snapshots, in a list of garbage that has no room yet
    } catch (const std::bad_alloc&) {
      std::_Exit(0);
    }
  };
  EXPECT_DEATH(commit(), "bad_alloc");
}

/// Inserts a key into a table, behind as many others as `before`, while the system has no memory for one allocation of
/// the insert, which is each in turn. The insert is refused, and the transaction leaves nothing behind.
void insert_with_failing_allocations(int before) {
  const std::string key = "a key that is longer than what a string has room for in itself", value(1000, 'v');
  Outcome got = Outcome::kOutOfMemory;
  std::uint64_t fails = 0;
  while (got == Outcome::kOutOfMemory) {
    ++fails;
    ManualDatabase db(1);
    const Table table = db.table("t");
    Transaction t = db.begin();
    for (int i = 0; i < before; ++i) {
      ASSERT_EQ(t.put(table, key + std::to_string(i), value), Outcome::kOk);
    }
    failing_allocation = allocations + fails;
    EXPECT_NO_THROW(got = t.insert(table, key, value));
    failing_allocation = 0;
    if (got == Outcome::kOk) {
      EXPECT_TRUE(t.commit().committed());
      EXPECT_EQ(db.value(table, key), value);
    } else {
      ASSERT_EQ(got, Outcome::kOutOfMemory);
      EXPECT_EQ(t.commit().reason, AbortReason::kOutOfMemory);
      db.collect_everything();
      EXPECT_EQ(db->statistics().records_bytes, 0u) << "the allocation " << fails << " of the insert";
      db.put(table, key, "later");
      EXPECT_EQ(db.value(table, key), "later");
    }
  }
  EXPECT_GT(fails, 1u) << "the insert has allocated nothing";
}

TEST(BadBody, AnInsertThatTheSystemHasNoMemoryForIsRefused) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  for (const int before : {0, 1, 24}) insert_with_failing_allocations(before);  // the 25th write makes a hash table
}

/// Even what is left of the transaction cannot be listed as garbage.
TEST(BadBody, AnInsertThatTheSystemHasNoMemoryForEndsNoProcess) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  ManualDatabase db(1);
  const Table table = db.table("t");
  const std::string key = "a key that is longer than what a string has room for in itself";
  Transaction t = db.begin();
  const std::string large(40'000, 'v');  // two of them are more than the transaction's first memory for values
  ASSERT_EQ(t.put(table, key + "1", large), Outcome::kOk);
  ASSERT_EQ(t.put(table, key + "2", large), Outcome::kOk);
  const std::string larger(100'000, 'v');
  no_memory = true;
  Outcome got = Outcome::kOk;
  EXPECT_NO_THROW(got = t.put(table, key, larger));
  no_memory = false;
  EXPECT_EQ(got, Outcome::kOutOfMemory);
  EXPECT_EQ(t.commit().reason, AbortReason::kOutOfMemory);
  db.put(table, key + "1", "later");
  db.put(table, key, "later");
  EXPECT_EQ(db.value(table, key), "later");
}

/// The thread that advances epochs has seen a transaction that holds them back, and that ends at this moment.
TEST(BadBody, TheTransactionAfterOneThatTookTooLongIsNotDoomed) {
  Options options = manual_options();
  options.max_open_epochs = 3;
  ManualDatabase db(1, options);
  const Table table = db.table("t");
  Transaction t = db.begin();
  for (int i = 0; i < 3; ++i) (void)db->step();
  {
    const AtSyncPoint looked("epoch.looked", [&] {
      t.abort();
      t = db.begin();
    });
    (void)db->step();
  }
  EXPECT_EQ(t.put(table, "k", "in time"), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
}

TEST(BadBody, ABodyThatTakesTooLongNowAndThen) {
  Options options = manual_options();
  options.max_open_epochs = 3;
  ManualDatabase db(2, options);
  const Table table = db.table("t");
  const RunResult done = db.worker(0).run([&, attempt = 0](Transaction& t) mutable {
    std::string value;
    (void)t.get(table, "k", value);
    if (++attempt % 3 != 0) {
      for (int i = 0; i < 6; ++i) (void)db->step();
    } else if (attempt < 9) {  // loses a conflict
      EXPECT_TRUE(db.worker(1).run([&](Transaction& other) { (void)other.put(table, "k", "other"); }));
    }
    (void)t.put(table, "k", "mine");
  });
  EXPECT_TRUE(done.committed()) << name(done.reason);
  EXPECT_EQ(done.attempts, 9u);
}

/// The commit of a body counts as that of run(), which must not say that nothing happened.
TEST(BadBody, ABodyThatCommitsItself) {
  CommitResult own;
  ManualDatabase db(1);
  const Table table = db.table("t");
  const RunResult done = db.worker().run([&](Transaction& t) {
    EXPECT_EQ(t.put(table, "x", "1"), Outcome::kOk);
    own = t.commit();
    EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
  });
  EXPECT_TRUE(done.committed()) << name(done.reason);
  EXPECT_NE(done.ticket.tid, 0u);
  EXPECT_EQ(done.ticket.tid, own.ticket.tid);
  EXPECT_EQ(done.ticket.epoch, own.ticket.epoch);
  EXPECT_EQ(done.attempts, 1u);
  EXPECT_EQ(db.value(table, "x"), "1");
}

TEST(BadBody, ABodyThatCommitsItselfAndLosesAConflict) {
  ManualDatabase db(2);
  const Table table = db.table("t");
  const RunResult done = db.worker(0).run([&, attempt = 0](Transaction& t) mutable {
    std::string value;
    (void)t.get(table, "k", value);
    if (++attempt == 1) {
      EXPECT_TRUE(db.worker(1).run([&](Transaction& other) { (void)other.put(table, "k", "other"); }));
    }
    (void)t.put(table, "k", "mine");
    EXPECT_EQ(t.commit().committed(), attempt == 2);
  });
  EXPECT_TRUE(done.committed()) << name(done.reason);
  EXPECT_EQ(done.attempts, 2u);
  EXPECT_EQ(db.value(table, "k"), "mine");
}

/// Both end as misuse. Its meaning names every cause.
TEST(BadBody, OfMoreTransactionsThanAllowedAndOfNoIsolation) {
  ManualDatabase db(1);
  const Table table = db.table("t");
  const auto body = [&](Transaction& t) { EXPECT_EQ(t.put(table, "k", "v"), Outcome::kFinished); };
  const RetryPolicy no_isolation{.transaction = {.isolation = static_cast<Isolation>(9)}};
  EXPECT_EQ(db.worker().run(body, no_isolation).reason, AbortReason::kMisuse);
  std::vector<Transaction> open;
  for (std::uint32_t i = 0; i < kMaxOpenTransactions; ++i) open.push_back(db.worker().begin());
  EXPECT_EQ(db.worker().run(body).reason, AbortReason::kMisuse);
  const std::string text(meaning(AbortReason::kMisuse));
  EXPECT_THAT(text, HasSubstr("16 transactions of the worker are open"));
  EXPECT_THAT(text, HasSubstr("isolation"));
}

/// Neither a context nor an epoch slot of the worker is lost, whichever allocation of begin() finds no memory.
TEST(BadBody, ABeginThatTheSystemHasNoMemoryForLeavesNothingBehind) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  ManualDatabase db(1);
  const Table table = db.table("t");
  const auto fails = [&db] {
    try {
      (void)db.worker().begin();
    } catch (const std::bad_alloc&) {
      return true;
    }
    return false;
  };
  no_memory = true;
  std::uint32_t failed = 0;
  for (std::uint32_t i = 0; i <= kMaxOpenTransactions; ++i) failed += fails() ? 1 : 0;
  no_memory = false;
  EXPECT_EQ(failed, kMaxOpenTransactions + 1);
  failed = 0;
  do failing_allocation = allocations + ++failed;
  while (fails());
  failing_allocation = 0;
  EXPECT_GT(failed, 1u);
  std::vector<Transaction> open;
  for (std::uint32_t i = 0; i < kMaxOpenTransactions; ++i) {
    open.push_back(db.worker().begin());
    EXPECT_EQ(open.back().put(table, "k" + std::to_string(i), "v"), Outcome::kOk) << i;
  }
  for (Transaction& t : open) EXPECT_TRUE(t.commit().committed());
}

TEST(BadBody, AScanThatTheSystemHasNoMemoryForHarmsNoLaterOne) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  std::uint64_t fails = 0;
  for (bool failed = true; failed;) {
    ManualDatabase db(1);  // its worker has scanned nothing yet
    const Table table = db.table("t");
    for (const char* key : {"a", "b"}) db.put(table, key, "1");
    Transaction t = db.begin();
    failing_allocation = allocations + ++fails;
    failed = false;
    try {
      (void)t.scan(table, {}, [](std::string_view, std::string_view) { return true; });
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    failing_allocation = 0;
    EXPECT_EQ(scan_text(t, table), "a=1 b=1 ") << "after failure " << fails;
    EXPECT_TRUE(t.commit().committed());
  }
  EXPECT_GT(fails, 1u);
}

/// Nobody else advances E and writes the log.
TEST(WaitReleased, ByHandNamesTheStepThatNobodyMakes) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  ManualDatabase db(1, options);
  const Ticket ticket = db.put(db.table("t"), "k", "v");
  const Status waited = db->wait_released(ticket, 1000);
  EXPECT_EQ(waited.code(), StatusCode::kUnavailable);
  EXPECT_THAT(waited.message(), HasSubstr("Database::step()"));
  EXPECT_THAT(waited.message(), Not(HasSubstr("the disk is slow")));
  db.pass_epochs(3);
  EXPECT_TRUE(db->wait_released(ticket, 1000).ok());
}

}  // namespace
}  // namespace granary::tests
