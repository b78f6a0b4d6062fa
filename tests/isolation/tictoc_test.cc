// These tests show what TicToc allows that Silo does not, and what it must not allow. In most of these tests a reader R commits at a late time of its epoch,
// since it has read a record that was changed often; a writer W then changes what R saw, and must get a later time still. U tells whether
// it did: it has seen what R overwrites as it was before, and what W wrote, so it is serial behind W and before R, which is before W.

#include <latch>
#include <string>
#include <thread>

#include "tests/isolation/isolation_test.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

Options tictoc_options() {
  Options options = manual_options();
  options.protocol = "tictoc";
  options.htm = Htm::kOff;
  return options;
}

class TicToc : public testing::Test {
 protected:
  TicToc() {
    db_.put(table_, "x", "old");
    db_.put(table_, "gone", "old");
    write_rows_of_this_epoch();
  }

  std::string get(Transaction& t, std::string_view key) {
    std::string value;
    const Outcome got = t.get(table_, key, value);
    return got == Outcome::kOk ? value : std::string(name(got));
  }
  /// R's part: what it sees of a key holds at a late time, at which it overwrites "r".
  void see_late(Transaction& r, std::string_view key) {
    get(r, key);
    get(r, "hot");
    EXPECT_EQ(r.put(table_, "r", "new"), Outcome::kOk);
  }
  static bool commits(Transaction& t) { return t.commit().committed(); }

  /// R has seen the key at a late time and commits. Then `meanwhile` happens, and W's change of the key, after which its value is "new".
  void expect_writer_behind_reader(std::string_view key, FunctionRef<Outcome(Transaction&)> change,
                                   FunctionRef<void()> meanwhile) {
    Transaction u = db_.begin(), r = db_.begin(), w = db_.begin();
    EXPECT_EQ(get(u, "r"), "old");
    see_late(r, key);
    EXPECT_TRUE(commits(r));
    meanwhile();
    EXPECT_EQ(change(w), Outcome::kOk);
    EXPECT_TRUE(commits(w));
    EXPECT_EQ(get(u, key), "new");
    EXPECT_FALSE(commits(u));
  }
  void expect_insert_behind_miss(std::string_view key, FunctionRef<void()> meanwhile) {
    expect_writer_behind_reader(
        key, [&](Transaction& w) { return w.insert(table_, key, "new"); }, meanwhile);
  }
  /// The rows that R overwrites, and that make its time a late one, are written in the present epoch.
  void write_rows_of_this_epoch() {
    for (int i = 0; i < 5; ++i) db_.put(table_, "r", "old");
    for (int i = 0; i < 100; ++i) db_.put(table_, "hot", std::to_string(i));
  }

  ManualDatabase db_{4, tictoc_options()};
  Table table_ = db_->create_table("rows").value();
};

TEST_F(TicToc, CommitsBeforeATransactionThatOverwroteWhatItRead) {
  Transaction t1 = db_.begin(), t2 = db_.begin();
  EXPECT_EQ(get(t1, "x"), "old");
  EXPECT_EQ(t2.put(table_, "x", "new"), Outcome::kOk);
  EXPECT_TRUE(commits(t2));
  EXPECT_EQ(t1.put(table_, "y", "1"), Outcome::kOk);
  EXPECT_TRUE(commits(t1)) << "which Silo aborts";
}

TEST_F(TicToc, ReadsOldVersionsOfOneTime) {
  db_.pass_epochs(2);
  Transaction reader = db_.begin();
  EXPECT_EQ(get(reader, "x"), "old");
  db_.put(table_, "x", "new");
  EXPECT_EQ(get(reader, "r"), "old");
  EXPECT_TRUE(commits(reader)) << "both were the latest at the end of the epoch before";
}

TEST_F(TicToc, AWriterIsBehindThoseWhoHaveReadWhatItOverwrites) {
  expect_writer_behind_reader(
      "x", [&](Transaction& w) { return w.put(table_, "x", "new"); }, [] {});
}

TEST_F(TicToc, AVersionThatWasOverwrittenIsNotExtended) {
  Transaction r = db_.begin(), w = db_.begin();
  see_late(r, "x");
  EXPECT_EQ(get(w, "r"), "old");
  EXPECT_EQ(w.put(table_, "x", "new"), Outcome::kOk);
  EXPECT_TRUE(commits(w));
  EXPECT_FALSE(commits(r)) << "each has read what the other overwrote";
}

TEST_F(TicToc, AnInsertIsBehindThoseWhoHaveMissedItsKey) {
  expect_insert_behind_miss("k", [] {});
}

/// The deletion's garbage is another worker's, which frees it only when it is told to.
TEST_F(TicToc, AnAbsenceCountsUntilItsEpochIsOver) {
  Worker remover = db_->register_worker().value();
  Transaction removal = remover.begin();
  EXPECT_EQ(removal.remove(table_, "gone"), Outcome::kOk);
  EXPECT_TRUE(commits(removal));
  db_.pass_snapshot_period();
  db_.pass_snapshot_period();
  write_rows_of_this_epoch();
  expect_insert_behind_miss("gone", [&] { remover.collect_garbage(); });
}

/// A placeholder that an aborted insert has left in the index is missed like a deleted record, and must stay as long.
TEST_F(TicToc, AMissOfAPlaceholderCountsUntilItsEpochIsOver) {
  Worker inserter = db_->register_worker().value();
  Transaction given_up = inserter.begin();
  EXPECT_EQ(given_up.insert(table_, "never", "old"), Outcome::kOk);
  given_up.abort();
  db_.pass_epochs(4);
  write_rows_of_this_epoch();
  expect_insert_behind_miss("never", [&] { inserter.collect_garbage(); });
}

TEST_F(TicToc, WhatWasDeletedLeavesTheIndexInTheEnd) {
  db_.remove(table_, "gone");
  EXPECT_EQ(db_.value(table_, "gone"), "(none)");
  db_.collect_everything();
  db_.put(table_, "gone", "new");
  EXPECT_EQ(db_.value(table_, "gone"), "new");
}

TEST_F(TicToc, TimesAreOfTheEpochInWhichATransactionCommits) {
  Transaction t = db_.begin();
  EXPECT_EQ(get(t, "x"), "old");
  EXPECT_EQ(t.put(table_, "y", "1"), Outcome::kOk);
  const auto before = db_.put(table_, "z", "1");
  db_->step();
  const CommitResult done = t.commit();
  EXPECT_TRUE(done.committed());
  EXPECT_EQ(done.ticket.epoch, before.epoch + 1) << "snapshots and durable epochs rely on it";
}

/// R has seen that x is unlocked and raises its rts only when W has already chosen its own time: W's freeze makes that fail.
class TicTocFreeze : public TicToc {
 protected:
  /// `change` is what W does to x.
  void race(FunctionRef<Outcome(Transaction&)> change, std::string_view seen_then);
};

void TicTocFreeze::race(FunctionRef<Outcome(Transaction&)> change, std::string_view seen_then) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  Transaction u = db_.begin();
  EXPECT_EQ(get(u, "r"), "old");
  std::latch extending(1), stamped(1), raised(1);
  bool r_committed = false, w_committed = false;
  Worker workers[] = {db_->register_worker().value(), db_->register_worker().value()};
  std::thread reader([&] {
    bool first = true;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "tictoc.extending" || !std::exchange(first, false)) return;
      extending.count_down();
      stamped.wait();
    });
    Transaction r = workers[0].begin();
    see_late(r, "x");
    r_committed = commits(r);
    raised.count_down();
    base::set_sync_hook({});
  });
  std::thread writer([&] {
    extending.wait();
    base::set_sync_hook([&](std::string_view point) {
      if (point != "commit.prepared") return;
      stamped.count_down();
      raised.wait();
    });
    Transaction w = workers[1].begin();
    EXPECT_EQ(change(w), Outcome::kOk);
    w_committed = commits(w);
    base::set_sync_hook({});
  });
  reader.join();
  writer.join();
  EXPECT_TRUE(w_committed);
  EXPECT_EQ(get(u, "x"), seen_then);
  EXPECT_FALSE(r_committed && commits(u));
}

TEST_F(TicTocFreeze, AnRtsIsNotRaisedBehindAWritersBack) {
  race([&](Transaction& w) { return w.put(table_, "x", "new"); }, "new");
}
TEST_F(TicTocFreeze, NorBehindADeletion) {
  race([&](Transaction& w) { return w.remove(table_, "x"); }, name(Outcome::kNotFound));
}

TEST_F(TicToc, RefusesWhatItCannotDo) {
  Options regions = tictoc_options();
  regions.htm = Htm::kAuto;
  EXPECT_EQ(Database::open(regions).status().message(),
            "Options::protocol is 'tictoc', which does not commit in HTM regions: leave Options::htm off");
  EXPECT_EQ(db_->create_table("shared", {.max_value_bytes = 8, .shared = true}).status().message(),
            "shared table 'shared': Options::protocol is 'tictoc', which does not reach records of other nodes");
}

}  // namespace
}  // namespace granary::tests
