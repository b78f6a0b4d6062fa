// Interleavings inside a read or a commit: another transaction runs at a sync point of this one. Needs a build with
// test hooks. An interrupted commit keeps its locks, so what runs there may lose, but must never see half of it.

#include "tests/isolation/isolation_test.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

class CommitInterleaving : public Isolation {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
    if (asked_htm != Htm::kOff) GTEST_SKIP() << "it is about locks; region_commit_test.cc is about regions";
  }
  /// Reads with any outcome; doomed is fine, a value is returned.
  std::string try_read(Transaction& t, std::string_view key) {
    std::string value;
    const Outcome got = t.get(table_, key, value);
    return got == Outcome::kOk ? value : std::string(name(got));
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, CommitInterleaving, testing::Values(2), workers_name);

const char* const kCommitPoints[] = {"commit.locked_one", "commit.locked", "commit.validated", "install.copied",
                                     "commit.installed"};

TEST_P(CommitInterleaving, OthersSeeAllOfACommitOrNothingAtEveryPoint) {
  for (const char* point : kCommitPoints) {
    Transaction t1 = begin();
    write(t1, "x", 1);
    write(t1, "y", 2);
    bool other_committed = false;
    std::string seen;
    {
      AtSyncPoint at(point, [&] {
        Transaction t2 = begin();
        seen = try_read(t2, "x") + " " + try_read(t2, "y");
        other_committed = commits(t2);
      });
      expect_commit(t1);
    }
    if (other_committed) {
      EXPECT_TRUE(seen == "10 20" || seen == "1 2") << seen << " at " << point;
    }
    EXPECT_EQ(state(), "x=1 y=2 ");
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      write(t, "y", 20);
    });
  }
}

/// I13: E goes on once, whenever in the commit, and what the transaction is part of is not complete.
TEST_P(CommitInterleaving, TheEpochIsHeldToTheEnd) {
  for (const char* point : kCommitPoints) {
    Transaction t1 = begin();
    write(t1, "x", 1);
    write(t1, "y", 2);
    int advances = 0;
    {
      AtSyncPoint at(point, [&] {
        for (int turn = 0; turn < 3; ++turn) advances += db_->step() ? 1 : 0;
      });
      expect_commit(t1);
    }
    EXPECT_EQ(advances, 1) << point;
  }
}

TEST_P(CommitInterleaving, TheEpochIsThatOfTheBeginning) {
  Transaction t1;
  {
    AtSyncPoint at("epoch.seen", [&] { db_.pass_epochs(3); });
    t1 = begin();
  }
  EXPECT_TRUE(db_->step());
  EXPECT_FALSE(db_->step());
  EXPECT_EQ(read(t1, "x"), 10);
  expect_commit(t1);
}

TEST_P(CommitInterleaving, WriteSkewWhereTheFirstHoldsItsLocks) {
  for (const char* point : {"commit.locked", "commit.validated", "install.copied"}) {
    Transaction t1 = begin(), t2 = begin();
    for (Transaction* t : {&t1, &t2}) {
      EXPECT_EQ(read(*t, "x"), 10);
      EXPECT_EQ(read(*t, "y"), 20);
    }
    write(t1, "x", 11);
    write(t2, "y", 21);
    bool first = false, second = false;
    {
      AtSyncPoint at(point, [&] { second = commits(t2); });
      first = commits(t1);
    }
    EXPECT_FALSE(first && second) << "both saw what the other overwrote, at " << point;
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      write(t, "y", 20);
    });
  }
}

TEST_P(CommitInterleaving, ReadSkewOfAReaderThatValidatesWhileTheWriterHoldsItsLocks) {
  Transaction reader = begin(), writer = begin();
  EXPECT_EQ(read(reader, "x"), 10);
  write(writer, "x", 11);
  write(writer, "y", 21);
  bool reader_committed = false;
  {
    AtSyncPoint at("install.copied", [&] {
      const std::string y = try_read(reader, "y");
      reader_committed = commits(reader);
      if (reader_committed) {
        EXPECT_EQ(y, "20");
      }
    });
    expect_commit(writer);
  }
}

TEST_P(CommitInterleaving, PhantomBetweenValidationOfTheNodeSetAndInstall) {
  // T1 and T2 look for each other's key. T2 runs while T1 holds its locks; its own placeholder is there already.
  Transaction t1 = begin(), t2 = begin();
  EXPECT_EQ(try_read(t1, "b"), "not_found");
  EXPECT_EQ(try_read(t2, "a"), "not_found");
  const Outcome first_insert = t1.insert(table_, "a", "1"), second_insert = t2.insert(table_, "b", "1");
  if (first_insert != Outcome::kOk || second_insert != Outcome::kOk) return;  // noticed already: it is doomed
  bool first = false, second = false;
  {
    AtSyncPoint at("commit.locked", [&] { second = commits(t2); });
    first = commits(t1);
  }
  EXPECT_FALSE(first && second);
}

TEST_P(CommitInterleaving, ALockedPlaceholderIsNeverAValue) {
  for (const char* point : kCommitPoints) {
    Transaction t1 = begin();
    insert(t1, "m", 1);
    std::string seen;
    bool committed = false;
    {
      AtSyncPoint at(point, [&] {
        Transaction t2 = begin();
        seen = try_read(t2, "m");
        committed = commits(t2);
      });
      expect_commit(t1);
    }
    if (committed) {
      EXPECT_EQ(seen, std::string_view(point) == "commit.installed" ? "1" : "not_found") << point;
    }
    db_.remove(table_, "m");
  }
}

TEST_P(CommitInterleaving, AWriterThatLosesGivesItsLocksBack) {
  Transaction t1 = begin();
  EXPECT_EQ(read(t1, "y"), 20);
  write(t1, "x", 11);
  {
    AtSyncPoint at("commit.locked", [&] { db_.put(table_, "y", "21"); });
    expect_conflict(t1);
  }
  db_.put(table_, "x", "12");
  EXPECT_EQ(state(), "x=12 y=21 ");
}

TEST_P(CommitInterleaving, TwoWritersOfOneRowBothMakeProgressInTheEnd) {
  Transaction t1 = begin(), t2 = begin();
  write(t1, "x", 11);
  write(t2, "x", 12);
  bool second = false;
  {
    AtSyncPoint at("commit.locked", [&] { second = commits(t2); });
    expect_commit(t1);
  }
  EXPECT_FALSE(second) << "a bounded wait, then kWriteLocked";
  db_.put(table_, "x", "12");
}

// --- inside one read ---

TEST_P(CommitInterleaving, AValueOverwrittenDuringItsCopyIsNeverTorn) {
  for (const std::size_t size : {8u, 64u, 100u, 1000u, 5000u}) {
    const std::string old_value(size, 'a'), new_value(size, 'b');
    db_.put(table_, "long", old_value);
    Transaction t1 = begin();
    std::string seen;
    {
      AtSyncPoint at("read.copied", [&] { db_.put(table_, "long", new_value); });
      EXPECT_EQ(t1.get(table_, "long", seen), Outcome::kOk);
    }
    const bool committed = commits(t1);
    if (committed) {
      EXPECT_EQ(seen, new_value) << "the copy was made before the write, so it has to be made again";
    }
    EXPECT_TRUE(seen == old_value || seen == new_value) << "torn: " << seen;
  }
}

TEST_P(CommitInterleaving, AValueThatGrowsAndMovesDuringItsCopy) {
  db_.put(table_, "long", std::string(100, 'a'));
  Transaction t1 = begin();
  std::string seen;
  {
    AtSyncPoint at("read.copied", [&] {
      db_.put(table_, "long", std::string(3000, 'b'));
      db_.worker(1).collect_garbage();
      db_.put(table_, "other", std::string(100, 'c'));  // takes the old place if it was freed too early
    });
    EXPECT_EQ(t1.get(table_, "long", seen), Outcome::kOk);
  }
  if (commits(t1)) {
    EXPECT_EQ(seen, std::string(3000, 'b'));
  }
  EXPECT_EQ(seen.find('c'), std::string::npos);
}

TEST_P(CommitInterleaving, ADeletionAndReinsertionDuringTheCopy) {
  Transaction t1 = begin();
  std::string seen;
  {
    AtSyncPoint at("read.copied", [&] {
      db_.remove(table_, "x");
      db_.worker(1).collect_garbage();
      db_.put(table_, "x", "99");
    });
    seen = try_read(t1, "x");
  }
  if (commits(t1)) {
    EXPECT_EQ(seen, "99");
  }
}

TEST_P(CommitInterleaving, LostUpdateAcrossTheWindowBetweenCopyAndVersion) {
  Transaction t1 = begin();
  int old = 0;
  {
    AtSyncPoint at("read.copied", [&] { db_.put(table_, "x", "11"); });
    old = *read(t1, "x");
  }
  write(t1, "x", old + 1);
  const bool committed = commits(t1);
  EXPECT_EQ(db_.value(table_, "x"), committed ? "12" : "11");
}

// --- garbage collection against commits ---

TEST_P(CommitInterleaving, ARecordBornAgainWhileItIsUnhooked) {
  db_.remove(table_, "x");
  db_.pass_snapshot_period();
  bool reborn = false;
  {
    AtSyncPoint at("gc.locked", [&] {
      Transaction t = begin();
      reborn = t.insert(table_, "x", "11") == Outcome::kOk && commits(t);
    });
    for (std::size_t i = 0; i < 2; ++i) db_.worker(i).collect_garbage();
  }
  db_.collect_everything();
  EXPECT_EQ(state(), reborn ? "x=11 y=20 " : "y=20 ");
}

}  // namespace
}  // namespace granary::tests
