// TicToc's commits in simulated HTM regions: what a region must note of times and what it must look at again, for local
// and for shared tables. tictoc_fixture.h says who R, W and U are. Commits in regions as such are in
// region_commit_test.cc, which runs with TicToc as well; commits with locks are in tictoc_test.cc.

#include <string>

#include "src/base/test_hooks.h"
#include "tests/isolation/tictoc_fixture.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

/// With locks in a build without the simulation, in which most tests here are skipped.
Options in_regions(Options options) {
  options.htm = base::kTestHooks ? Htm::kSim : Htm::kOff;
  options.htm_simulation = {};  // nothing aborts by chance
  return options;
}

/// The parameter says whether the table is shared with other nodes.
class TicTocInRegions : public TicToc, public testing::WithParamInterface<bool> {
 protected:
  TicTocInRegions() : TicToc(in_regions(tictoc_options()), table_options()) {}
  static TableOptions table_options() {
    return GetParam() ? TableOptions{.max_value_bytes = 64, .shared = true} : TableOptions();
  }

  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    before_ = counts();
  }
  HtmStatistics counts() { return db_->statistics().htm; }
  /// How many commits were made in regions since the last call, and how many left their regions for locks.
  void expect_counts(std::uint64_t commits, std::uint64_t fallbacks, std::string_view where = "") {
    const HtmStatistics now = counts();
    EXPECT_EQ(now.commits - before_.commits, commits) << where;
    EXPECT_EQ(now.fallbacks - before_.fallbacks, fallbacks) << where;
    before_ = now;
  }
  void begin_epoch() {
    db_.pass_epochs(2);
    db_.put(table_, "x", "old");
    write_rows_of_this_epoch();
    before_ = counts();
  }
  /// R, which only reads, sees the key and a late version of "hot". When it has looked at the key once more, to raise
  /// its rts, W changes the key in a region. W is serial before the writer of that version, so R must abort.
  void expect_no_raise_after_region(std::string_view key, std::string_view value) {
    Transaction w = db_.begin(), r = db_.begin();
    get(w, "hot");
    db_.put(table_, "hot", "last");
    get(r, key);
    EXPECT_EQ(get(r, "hot"), "last");
    EXPECT_EQ(w.put(table_, key, value), Outcome::kOk);
    before_ = counts();
    bool w_committed = false, r_committed = false;
    {
      AtSyncPoint at("tictoc.extending", [&] { w_committed = commits(w); });
      r_committed = commits(r);
    }
    EXPECT_TRUE(w_committed);
    expect_counts(1, 0);
    EXPECT_FALSE(r_committed);
    EXPECT_EQ(db_.value(table_, key), value);
  }
  /// R, which sees the key late, commits when W has chosen its time for a change of the key already, by an earlier look
  /// at the key's rts.
  void expect_rts_counts_until_region_ends(std::string_view key, std::string_view point) {
    Transaction u = db_.begin(), r = db_.begin(), w = db_.begin();
    EXPECT_EQ(get(u, "r"), "old");
    see_late(r, key);
    EXPECT_EQ(w.put(table_, key, "new"), Outcome::kOk);
    before_ = counts();
    {
      AtSyncPoint at(std::string(point), [&] { EXPECT_TRUE(commits(r)); });
      EXPECT_TRUE(commits(w)) << point;
    }
    expect_counts(1, 1, point);
    EXPECT_EQ(get(u, key), "new");
    EXPECT_FALSE(commits(u)) << point;
  }

 private:
  HtmStatistics before_;
};
INSTANTIATE_TEST_SUITE_P(Tables, TicTocInRegions, testing::Bool(),
                         [](const auto& shared) { return shared.param ? "Shared" : "Local"; });

TEST_P(TicTocInRegions, CommitsBeforeATransactionThatOverwroteWhatItRead) {
  expect_commit_before_overwriter([&](Transaction& t) { return t.put(table_, "x", "new"); });
  expect_counts(2, 0);
}

TEST_P(TicTocInRegions, AWriterIsBehindThoseWhoHaveReadWhatItOverwrites) {
  expect_writer_behind_reader(
      "x", [&](Transaction& w) { return w.put(table_, "x", "new"); }, [] {});
  expect_counts(2, 0);
}

/// Another transaction makes W's plan outdated, so that W takes locks.
TEST_P(TicTocInRegions, SoIsAWriterWithLocks) {
  Transaction u = db_.begin(), r = db_.begin(), w = db_.begin();
  EXPECT_EQ(get(u, "r"), "old");
  see_late(r, "x");
  EXPECT_TRUE(commits(r));
  for (const char* key : {"x", "side"}) EXPECT_EQ(w.put(table_, key, "new"), Outcome::kOk);
  {
    AtSyncPoint at("region.planned", [&] { db_.put(table_, "side", "other"); });
    EXPECT_TRUE(commits(w));
  }
  expect_counts(2, 1);
  EXPECT_EQ(get(u, "x"), "new");
  EXPECT_FALSE(commits(u));
}

TEST_P(TicTocInRegions, AnRtsThatIsRaisedBeforeTheRegionEndsCounts) {
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    begin_epoch();
    expect_rts_counts_until_region_ends("x", point);
  }
}

TEST_P(TicTocInRegions, SoDoesThatOfAnAbsence) {
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    begin_epoch();
    db_.put(table_, "gone", "old");
    db_.remove(table_, "gone");
    expect_rts_counts_until_region_ends("gone", point);
  }
}

TEST_P(TicTocInRegions, AReaderWithLocksDoesNotRaiseTheRtsOfTheNextVersion) {
  expect_no_raise_after_region("x", "new");
}

/// The new version is as long as the absent one, so that its rts alone tells the size words apart.
TEST_P(TicTocInRegions, NorDoesAReaderOfAnAbsence) {
  db_.remove(table_, "gone");
  expect_no_raise_after_region("gone", "");
}

TEST_P(TicTocInRegions, AVersionThatWasOverwrittenIsNotExtended) {
  for (const char* point : {"", "region.planned", "region.checked", "region.stored"}) {
    begin_epoch();
    Transaction r = db_.begin(), w = db_.begin();
    see_late(r, "x");
    EXPECT_EQ(get(w, "r"), "old");
    EXPECT_EQ(w.put(table_, "x", "new"), Outcome::kOk);
    if (*point == '\0') {
      EXPECT_TRUE(commits(w));
      EXPECT_FALSE(commits(r)) << "each has read what the other overwrote";
      continue;
    }
    AtSyncPoint at(point, [&] { EXPECT_TRUE(commits(w)); });
    EXPECT_FALSE(commits(r)) << point;
  }
}

TEST_P(TicTocInRegions, AnInsertIsBehindThoseWhoHaveMissedItsKey) {
  expect_insert_behind_miss("k", [] {});
  expect_counts(2, 0);
}

TEST_P(TicTocInRegions, SoIsAnInsertOfARemovedKey) {
  db_.remove(table_, "gone");
  expect_counts(1, 0);
  expect_insert_behind_miss("gone", [] {});
  expect_counts(2, 0);
}

/// R tells the time of its miss before its region, which is early enough: W puts its record into the leaf before it
/// chooses its own time, so that R's region finds the leaf changed unless W knows the time.
TEST_P(TicTocInRegions, AMissDoesNotHoldBesideAnInsert) {
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    begin_epoch();
    const std::string key = std::string("k ") + point;
    Transaction r = db_.begin(), w = db_.begin();
    see_late(r, key);
    EXPECT_EQ(get(w, "r"), "old");
    AtSyncPoint at(point, [&] {
      EXPECT_EQ(w.insert(table_, key, "new"), Outcome::kOk);
      EXPECT_TRUE(commits(w));
    });
    EXPECT_EQ(r.commit().reason, AbortReason::kNodeChanged) << point;
  }
}

TEST_P(TicTocInRegions, ATimeIsOfTheEpochInWhichTheRegionEnds) {
  Transaction t = db_.begin();
  EXPECT_EQ(get(t, "x"), "old");
  EXPECT_EQ(t.put(table_, "y", "1"), Outcome::kOk);
  const Ticket before = db_.put(table_, "z", "1");
  CommitResult done;
  {
    AtSyncPoint at("region.planned", [&] { EXPECT_TRUE(db_->step()); });
    done = t.commit();
  }
  EXPECT_TRUE(done.committed());
  EXPECT_EQ(done.ticket.epoch, before.epoch + 1);
}

/// The paper's Figure 3 once more. A region does not look up when a version ended, but leaves that to the commit with
/// locks.
class TicTocHistoryInRegions : public TicTocHistory {
 protected:
  TicTocHistoryInRegions() : TicTocHistory(in_regions(with(&Options::tictoc_history))) {}
};
TEST_F(TicTocHistoryInRegions, AReadHoldsUntilItsVersionEnded) { EXPECT_TRUE(commits_at_time_of("mid")); }
TEST_F(TicTocHistoryInRegions, AReadDoesNotHoldLonger) { EXPECT_FALSE(commits_at_time_of("later")); }

}  // namespace
}  // namespace granary::tests
