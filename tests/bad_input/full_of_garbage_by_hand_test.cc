// Memory full of garbage, epoch by epoch: nobody but the test lets these pass. Whose garbage may be freed when, and by
// whom.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "src/txn/worker_core.h"
#include "tests/bad_input/garbage_rows.h"
#include "tests/support/manual_database.h"
#include "tests/support/units.h"

namespace granary::tests {
namespace {

class FullOfGarbageByHand : public testing::Test {
 protected:
  FullOfGarbageByHand() : db_(3, options()), table_(db_.table("t")) {}
  static Options options() {
    Options options = manual_options();
    options.memory_limit_bytes = 8 * kMiB;
    return options;
  }
  RunResult churn(std::size_t worker) {
    const RunResult done = db_.worker(worker).run([&](Transaction& t) {
      (void)t.insert(table_, key(next_), std::string(kValueBytes, 'v'));
      if (next_ >= 100) (void)t.remove(table_, key(next_ - 100));
    });
    next_ += done ? 1 : 0;
    return done;
  }
  void fill(std::size_t worker) {
    for (int epochs = 0; churn(worker); ++epochs) {
      if (next_ % 100 == 0) db_->step();
    }
  }

  ManualDatabase db_;
  Table table_;
  std::size_t next_ = 0;
};

TEST_F(FullOfGarbageByHand, RunDoesNotWaitForEpochsThatNobodyLetsPass) {
  std::size_t commits = 0;
  for (int round = 0; round < 10; ++round) {
    Snapshot held = db_.worker(1).snapshot();
    fill(0);
    EXPECT_EQ(churn(0).reason, AbortReason::kOutOfMemory);
    held.finish();
    const std::size_t before = next_;
    for (int i = 0; i < 20; ++i) {
      db_->step();
      (void)churn(0);
    }
    commits += next_ - before;
  }
  EXPECT_GT(commits, 100u);
}

TEST_F(FullOfGarbageByHand, AnotherWorkersIsFreedOnceSomebodyMissesIt) {
  Snapshot held = db_.worker(1).snapshot();
  fill(0);
  held.finish();
  db_.pass_snapshot_period();
  db_.pass_epochs(4);
  EXPECT_TRUE(churn(1)) << "it was worker 0's, which does nothing";
}

/// No snapshot sees a record that was never born. Else whoever fails for memory while a snapshot is open would take
/// more and more of it.
TEST_F(FullOfGarbageByHand, WhatAbortedInsertsLeaveIsFreeWhileASnapshotIsOpen) {
  TableOptions hash{.max_value_bytes = kValueBytes, .index = IndexKind::kHash, .expected_keys = 1000}, shared = hash;
  shared.shared = true;
  const std::vector<Table> tables{table_, db_.table("h", hash), db_.table("s", shared)};
  db_.pass_snapshot_period();
  Snapshot held = db_.worker(1).snapshot();
  for (const Table& table : tables) {
    for (int round = 0; round < 200; ++round) {
      Transaction t = db_.worker(0).begin();
      for (int i = 0; i < 100; ++i, ++next_)
        ASSERT_EQ(t.insert(table, key(next_), std::string(kValueBytes, 'v')), Outcome::kOk) << round;
      t.abort();
      db_.pass_epochs(1);
      db_.worker(0).collect_garbage();
    }
    for (int round = 0; round < 4; ++round) {  // unhooked first, freed later
      db_.pass_epochs(4);
      db_.worker(0).collect_garbage();
    }
    EXPECT_EQ(db_->statistics().garbage_items, 0u);
  }
  EXPECT_NE(held.epoch(), 0u);
}

/// The record that an aborted insert left is another transaction's to write, as long as that one may have found it.
TEST_F(FullOfGarbageByHand, WhatAnAbortedInsertLeavesStaysForWhoHasFoundIt) {
  Transaction first = db_.worker(0).begin();
  ASSERT_EQ(first.insert(table_, "k", "1"), Outcome::kOk);
  Transaction second = db_.worker(1).begin();
  ASSERT_EQ(second.insert(table_, "k", "2"), Outcome::kOk);
  first.abort();
  for (int i = 0; i < 8; ++i) db_->step();
  db_.worker(0).collect_garbage();
  EXPECT_TRUE(second.commit().committed());
  db_.collect_everything();
  EXPECT_EQ(db_.value(table_, "k"), "2");
}

/// E stands still while garbage is freed for others, so a turn frees a bounded part of it.
TEST_F(FullOfGarbageByHand, OfManyWorkersIsFreedInSeveralTurns) {
  constexpr std::size_t kWorkers = 4, kRows = 9000, kMostInATurn = 2 * 16384;
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) workers.push_back(db_->register_worker().value());
  for (std::size_t i = 0; i < kWorkers * kRows; ++i) {
    Worker& worker = workers[i / kRows];
    ASSERT_TRUE(worker.run([&](Transaction& t) { (void)t.insert(table_, key(i), "v"); }));
    ASSERT_TRUE(worker.run([&](Transaction& t) { (void)t.remove(table_, key(i)); }));
  }
  workers.clear();
  std::uint64_t left = db_->statistics().garbage_items;
  ASSERT_GE(left, kWorkers * kRows);
  for (int turn = 0; turn < 40 && left != 0; ++turn) {
    db_.pass_epochs(1);
    const std::uint64_t now = db_->statistics().garbage_items;
    EXPECT_LE(left, now + kMostInATurn) << "in turn " << turn;
    left = now;
  }
  EXPECT_EQ(left, 0u);
}

/// An operator sees what an idle worker holds, also before it has collected since. A worker collects after the first
/// transaction of an epoch.
TEST_F(FullOfGarbageByHand, IsCountedWhenItIsMade) {
  constexpr std::size_t kRows = 20;
  const auto collect = [&] {
    db_.collect_everything();
    EXPECT_TRUE(db_.worker(0).run([](Transaction&) {}));
    EXPECT_EQ(db_->statistics().garbage_items, 0u);
  };
  EXPECT_TRUE(db_.worker(0).run([&](Transaction& t) {
    for (std::size_t row = 0; row < kRows; ++row) EXPECT_EQ(t.insert(table_, key(row), "v"), Outcome::kOk);
  }));
  collect();
  EXPECT_TRUE(db_.worker(0).run([&](Transaction& t) {
    for (std::size_t row = 0; row < kRows; ++row) EXPECT_EQ(t.remove(table_, key(row)), Outcome::kOk);
  }));
  EXPECT_GE(db_->statistics().garbage_items, kRows) << "the removed records";
  collect();
  Transaction given_up = db_.worker(0).begin();
  EXPECT_EQ(given_up.insert(table_, key(0), "v"), Outcome::kOk);
  given_up.abort();
  EXPECT_EQ(db_->statistics().garbage_items, 1u) << "what the aborted insert has left";
  collect();
}

/// The memory of a deleted record is free only a few epochs after a collection has taken the record out of its index,
/// however often the worker collects at once.
TEST_F(FullOfGarbageByHand, IsCollectedInTwoStepsIfItIsDeletedRecords) {
  constexpr std::size_t kRows = 20;
  for (const bool insert : {true, false}) {
    EXPECT_TRUE(db_.worker(0).run([&](Transaction& t) {
      for (std::size_t row = 0; row < kRows; ++row)
        (void)(insert ? t.insert(table_, key(row), std::string(kValueBytes, 'v')) : t.remove(table_, key(row)));
    }));
    db_.pass_snapshot_period();
  }
  for (int i = 0; i < 100; ++i) db_.worker(0).collect_garbage();
  EXPECT_GE(db_->statistics().garbage_items, kRows);
  db_.pass_epochs(3);
  db_.worker(0).collect_garbage();
  EXPECT_EQ(db_->statistics().garbage_items, 0u);
}

/// Another worker misses memory, and this one's garbage is looked after for it; but a snapshot still reads what was
/// deleted.
TEST_F(FullOfGarbageByHand, WhatASnapshotReadsIsNotFreedForAnotherWorker) {
  std::size_t rows = 0;
  for (; rows < 8000; ++rows) {
    const RunResult done =
        db_.worker(0).run([&](Transaction& t) { (void)t.insert(table_, key(rows), std::string(kValueBytes, 'v')); });
    ASSERT_TRUE(done) << rows;
  }
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.worker(1).snapshot();
  for (std::size_t row = 0; row < rows; ++row) {
    const RunResult done = db_.worker(0).run([&](Transaction& t) { (void)t.remove(table_, key(row)); });
    ASSERT_TRUE(done) << row;
  }
  const Table other = db_.table("other");
  std::size_t refusals = 0;
  for (std::size_t i = 0; refusals < 40; ++i) {
    const RunResult done =
        db_.worker(2).run([&](Transaction& t) { (void)t.insert(other, key(i), std::string(3000, 'o')); });
    if (done) continue;
    ++refusals;
    db_->step();
  }
  std::string seen;
  for (std::size_t row = 0; row < rows; ++row) {
    ASSERT_EQ(snapshot.get(table_, key(row), seen), Outcome::kOk) << row;
    ASSERT_EQ(seen, std::string(kValueBytes, 'v')) << row;
  }
}

/// Its memory and its garbage are its thread's, however much others miss it.
TEST_F(FullOfGarbageByHand, OfAWorkerInATransactionIsNotFreedForTheOthers) {
  Snapshot held = db_.worker(1).snapshot();
  fill(0);
  held.finish();
  db_.pass_snapshot_period();  // all of it might be freed
  const auto miss_memory = [&] {
    for (int i = 0; i < 8; ++i) {
      while (churn(1)) {
      }
      db_->step();
    }
  };
  const auto waiting = [&] { return db_.worker(0).core()->state().garbage_items.load(); };
  Transaction open = db_.worker(0).begin();
  const std::uint64_t left = waiting();
  ASSERT_GT(left, 0u);
  miss_memory();
  EXPECT_EQ(waiting(), left);
  open.abort();
  miss_memory();
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(FullOfGarbageByHand, AWorkerInATransactionIsNotBorrowed) {
  txn::WorkerCore& core = *db_.worker(0).core();
  ASSERT_TRUE(core.lending().borrow());
  EXPECT_EQ(core.collect(1), 0u) << "the borrower has its memory";
  core.lending().give_back();
  Transaction open = db_.worker(0).begin();
  EXPECT_FALSE(core.lending().borrow());
  open.abort();
  ASSERT_TRUE(core.lending().borrow());
  core.lending().give_back();
}

/// As long as another thread has the worker's memory, its next transaction waits.
TEST_F(FullOfGarbageByHand, ATransactionWaitsUntilItsWorkerIsGivenBack) {
  txn::WorkerCore& core = *db_.worker(0).core();
  ASSERT_TRUE(core.lending().borrow());
  std::atomic<bool> given_back{false};
  std::thread borrower([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    given_back.store(true);
    core.lending().give_back();
  });
  Transaction t = db_.worker(0).begin();
  EXPECT_TRUE(given_back.load());
  EXPECT_EQ(t.insert(table_, "a", "1"), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  borrower.join();
}

}  // namespace
}  // namespace granary::tests
