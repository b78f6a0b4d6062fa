// These tests show what TicToc allows that Silo does not, and what it must not allow. tictoc_fixture.h says who R, W
// and U are. Parts of values are in tictoc_parts_test.cc, and commits in HTM regions in tictoc_region_test.cc.

#include <array>
#include <latch>
#include <string>
#include <thread>

#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "tests/isolation/tictoc_fixture.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

TEST_F(TicToc, CommitsBeforeATransactionThatOverwroteWhatItRead) {
  expect_commit_before_overwriter([&](Transaction& t) { return t.put(table_, "x", "new"); });
}

TEST_F(TicToc, ReadsOldVersionsOfOneTime) {
  db_.pass_epochs(2);
  Transaction reader = db_.begin();
  EXPECT_EQ(get(reader, "x"), "old");
  db_.put(table_, "x", "new");
  EXPECT_EQ(get(reader, "r"), "old");
  EXPECT_TRUE(commits(reader)) << "both were the latest at the end of the epoch before";
}

// --- the optimizations of the paper's section 5 ---

class TicTocWithoutHistory : public TicTocHistory {
 protected:
  TicTocWithoutHistory() : TicTocHistory(tictoc_options()) {}
};
TEST_F(TicTocHistory, AReadHoldsUntilItsVersionEnded) { EXPECT_TRUE(commits_at_time_of("mid")); }
TEST_F(TicTocHistory, AReadDoesNotHoldLonger) { EXPECT_FALSE(commits_at_time_of("later")); }
TEST_F(TicTocWithoutHistory, ItIsNotKnownWhenAVersionEnded) { EXPECT_FALSE(commits_at_time_of("mid")); }

/// How many records it has claimed that will fail because of what it has read.
int claimed_in_vain(ManualDatabase& db, const Table& table) {
  Transaction t = db.begin();
  std::string value;
  EXPECT_EQ(t.get(table, "x", value), Outcome::kOk);
  db.put(table, "x", "new");
  for (int i = 0; i < 200; ++i) db.put(table, "y", "new");
  EXPECT_EQ(t.get(table, "y", value), Outcome::kOk);
  EXPECT_EQ(t.put(table, "a", "1"), Outcome::kOk);
  int claimed = 0;
  base::set_sync_hook([&](std::string_view point) { claimed += point == "commit.locked_one" ? 1 : 0; });
  EXPECT_EQ(t.commit().reason, AbortReason::kReadChanged);
  base::set_sync_hook({});
  return claimed;
}
class TicTocPreempt : public TicToc {
 protected:
  TicTocPreempt() : TicToc(with(&Options::tictoc_preempt)) {}
};
TEST_F(TicTocPreempt, NothingIsClaimedInVain) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EXPECT_EQ(claimed_in_vain(db_, table_), 0);
}
TEST_F(TicToc, TheReadsAreLookedAtBehindTheClaims) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EXPECT_EQ(claimed_in_vain(db_, table_), 1);
}

/// While W holds a record, who wants two others and then this one lets the two go between its attempts, so that another
/// may have them.
class TicTocNoWait : public TicToc {
 protected:
  TicTocNoWait() : TicToc(with(&Options::tictoc_no_wait)) {}
};
TEST_F(TicTocNoWait, HoldsNothingWhileItWaits) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  for (const char* key : {"a", "b"}) db_.put(table_, key, "0");
  Transaction w = db_.begin(), t = db_.begin();
  EXPECT_EQ(w.put(table_, "b", "w"), Outcome::kOk);
  EXPECT_EQ(t.put(table_, "a", "t"), Outcome::kOk);
  EXPECT_EQ(t.put(table_, "b", "t"), Outcome::kOk);
  int claims_of_a = 0;
  bool waits = false;
  base::set_sync_hook([&](std::string_view point) {
    if (waits) {
      claims_of_a += point == "commit.locked_one" ? 1 : 0;
    } else if (point == "commit.locked") {
      waits = true;
      EXPECT_EQ(t.commit().reason, AbortReason::kWriteLocked);
      waits = false;
    }
  });
  EXPECT_TRUE(commits(w));
  base::set_sync_hook({});
  EXPECT_TRUE(claims_of_a == 0 || claims_of_a > 100) << "it claims a, if that comes first, in each of its attempts";
}

TEST_F(TicToc, OptimizationsAreRefusedWithAnotherProtocol) {
  Options options = manual_options();
  options.protocol = "silo";
  options.tictoc_history = true;
  const auto opened = Database::open(options);
  EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(opened.status().message().find("tictoc_history"), std::string::npos) << opened.status().message();
}

TEST_F(TicToc, AWriterIsBehindThoseWhoHaveReadWhatItOverwrites) {
  expect_writer_behind_reader(
      "x", [&](Transaction& w) { return w.put(table_, "x", "new"); }, [] {});
}

/// Another reader, who has seen the key before R made it valid until late, makes it valid until an earlier time.
class TicTocEarlyReader : public TicToc {
 protected:
  void expect_no_shrinking(std::string_view key, FunctionRef<Outcome(Transaction&)> change) {
    for (int i = 0; i < 3; ++i) db_.put(table_, "mid", "1");  // before "r", which has been written five times
    Transaction early = db_.begin();
    get(early, key);
    get(early, "mid");
    EXPECT_EQ(early.put(table_, "e", "1"), Outcome::kOk);
    expect_writer_behind_reader(key, change, [&] { EXPECT_TRUE(commits(early)); });
  }
};
TEST_F(TicTocEarlyReader, DoesNotMakeARecordsTimeShrink) {
  expect_no_shrinking("x", [&](Transaction& w) { return w.put(table_, "x", "new"); });
}
TEST_F(TicTocEarlyReader, DoesNotMakeAnAbsenceShrink) {
  db_.remove(table_, "gone");
  expect_no_shrinking("gone", [&](Transaction& w) { return w.insert(table_, "gone", "new"); });
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

/// The removal has left no trace in the index, and may yet be lost with the power. Who shows that the key is gone waits
/// for it.
TEST_F(TicToc, AMissIsNotShownBeforeTheRemoval) {
  db_.pass_epochs(2);
  const Ticket removal = db_.remove(table_, "gone");
  db_.collect_everything();
  for (int turn = 0; turn < 2; ++turn) {  // once more when all that it may wait for is long over
    const Ticket miss = db_.commit([&](Transaction& t) { EXPECT_EQ(get(t, "gone"), "not_found"); });
    EXPECT_GE(miss.epoch, removal.epoch);
    EXPECT_LT(miss.epoch, db_->current_epoch()) << "it waits for more than it must";
    db_.pass_snapshot_period();
  }
  const Ticket hit = db_.commit([&](Transaction& t) { EXPECT_EQ(get(t, "x"), "old"); });
  EXPECT_LT(hit.epoch, removal.epoch);
}

/// A unique index is checked before the commit, with times of other nodes, which may be an epoch ahead. The record
/// keeps its rts.
TEST_F(TicToc, NoReadIsExtendedToAnEpochThatHasNotBegun) {
  record::Record& x = record_x();
  const std::uint64_t before = base::load_word(&x.size_word);
  EXPECT_EQ(validate_x(1), AbortReason::kEpochsApart);
  EXPECT_EQ(base::load_word(&x.size_word), before);
  EXPECT_EQ(validate_x(0), AbortReason::kNone);
  EXPECT_NE(base::load_word(&x.size_word), before);
}

/// An rts of the next epoch would look like a very old one, so that the writer would not get a time behind R's.
TEST_F(TicToc, AWriterIsBehindReadersAfterATryToExtendBeyondItsEpoch) {
  expect_writer_behind_reader(
      "x", [&](Transaction& w) { return w.put(table_, "x", "new"); }, [&] { (void)validate_x(1); });
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

/// R has seen that x is unlocked and raises its rts only when W has already chosen its own time: W's freeze makes that
/// fail.
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
  Options global = tictoc_options();
  global.tid_source = TidSource::kGlobal;
  EXPECT_EQ(Database::open(global).status().message(),
            "Options::protocol is 'tictoc', which computes its TIDs from what a transaction has read: "
            "Options::tid_source cannot be kGlobal");
}

/// On a processor without Intel TSX its commits then take locks.
TEST_F(TicToc, MayCommitInRegions) {
  Options regions = tictoc_options();
  regions.htm = Htm::kAuto;
  ManualDatabase db(1, regions);
  const Table rows = db.table("rows");
  db.put(rows, "x", "new");
  EXPECT_EQ(db.value(rows, "x"), "new");
}

/// A worker that Database::register_worker() has made of a node of a cluster: workers of other nodes READ the lines,
/// and nothing else.
TEST_F(TicToc, WorkersWithoutALineOfTheirOwnTellMissesInTheSharedOne) {
  std::array<cc::SharedMissTimes::Line, 3> lines;  // of two workers that reach other nodes, and of all others
  db_->engine().set_misses(lines);
  expect_insert_behind_miss("missing", [&] {
    EXPECT_GT(cc::SharedMissTimes(lines).greatest(table_.core()->id()), 0u);
    for (std::size_t i = 0; i < 2; ++i) {
      for (const auto& word : lines[i].greatest) EXPECT_EQ(word.load(), 0u);
    }
  });
  db_->engine().set_misses({});
}

}  // namespace
}  // namespace granary::tests
