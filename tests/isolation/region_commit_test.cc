// Commits in HTM regions, simulated: interleavings inside them, what makes them abort, when locks are taken instead,
// and that it makes no difference to the result. The other suites of this program run with regions as well (ctest:
// ":htm:").

#include "tests/isolation/isolation_test.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/seeds.h"

#include <random>
#include <vector>

namespace granary::tests {
namespace {

Options region_options(const HtmSimulation& simulation = {}) {
  Options options = manual_options();
  options.htm = Htm::kSim;
  options.htm_simulation = simulation;
  return options;
}

class RegionCommit : WithRegions, public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    db_.emplace(std::size_t{2}, region_options());
    rows_ = db_->table("rows");
    db_->put(rows_, "x", "10");
    db_->put(rows_, "y", "20");
  }
  HtmStatistics counts() { return (*db_)->statistics().htm; }
  std::string state() {
    Transaction t = db_->begin();
    return scan_text(t, rows_);
  }
  void write(Transaction& t, std::string_view key, std::string_view value) {
    EXPECT_EQ(t.put(rows_, key, value), Outcome::kOk);
  }
  std::string read(Transaction& t, std::string_view key) {
    std::string value;
    const Outcome got = t.get(rows_, key, value);
    return got == Outcome::kOk ? value : std::string(name(got));
  }

  std::optional<ManualDatabase> db_;
  Table rows_;
};

const char* const kPoints[] = {"region.planned", "region.checked", "region.stored", "region.committed"};

TEST_F(RegionCommit, TakesNoLocks) {
  const HtmStatistics before = counts();
  db_->put(rows_, "x", "11");
  db_->put(rows_, "new", "1");
  db_->remove(rows_, "y");
  EXPECT_EQ(state(), "new=1 x=11 ");
  EXPECT_EQ(counts().backend, "sim");
  EXPECT_EQ(counts().commits, before.commits + 3);
  EXPECT_EQ(counts().fallbacks, 0u);
}

TEST_F(RegionCommit, OthersSeeAllOfItOrNothingAtEveryPoint) {
  for (const char* point : kPoints) {
    Transaction t1 = db_->begin();
    write(t1, "x", "1");
    write(t1, "y", "2");
    std::string seen;
    bool committed = false;
    {
      AtSyncPoint at(point, [&] {
        Transaction t2 = db_->begin();
        seen = read(t2, "x") + " " + read(t2, "y");
        committed = t2.commit().committed();
      });
      EXPECT_TRUE(t1.commit());
    }
    EXPECT_TRUE(committed) << "nothing is in a reader's way";
    EXPECT_EQ(seen, std::string_view(point) == "region.committed" ? "1 2" : "10 20") << point;
    db_->put(rows_, "x", "10");
    db_->put(rows_, "y", "20");
  }
}

/// Under TicToc t1 gets a time after the versions of x, so y must have its version until then.
TEST_F(RegionCommit, AReadThatChangesMeanwhileMakesItAbort) {
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    db_->put(rows_, "y", "20");
    for (int i = 0; i < 10; ++i) db_->put(rows_, "x", "10");
    Transaction t1 = db_->begin();
    EXPECT_EQ(read(t1, "y"), "20");
    write(t1, "x", "11");
    {
      AtSyncPoint at(point, [&] { db_->put(rows_, "y", "21"); });
      EXPECT_EQ(t1.commit().reason, AbortReason::kReadChanged) << point;
    }
    EXPECT_EQ(state(), "x=10 y=21 ");
  }
}

TEST_F(RegionCommit, WriteSkew) {
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    Transaction t1 = db_->begin(), t2 = db_->begin();
    for (Transaction* t : {&t1, &t2}) {
      EXPECT_EQ(read(*t, "x"), "10");
      EXPECT_EQ(read(*t, "y"), "20");
    }
    write(t1, "x", "11");
    write(t2, "y", "21");
    bool first = false, second = false;
    {
      AtSyncPoint at(point, [&] { second = t2.commit().committed(); });
      first = t1.commit().committed();
    }
    EXPECT_TRUE(second);
    EXPECT_FALSE(first) << point;
    db_->put(rows_, "x", "10");
    db_->put(rows_, "y", "20");
  }
}

TEST_F(RegionCommit, Phantom) {
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    Transaction t1 = db_->begin();
    const std::string key = std::string("new ") + point;
    EXPECT_EQ(read(t1, key), "not_found");
    write(t1, "x", "11");
    {
      AtSyncPoint at(point, [&] { db_->put(rows_, key, "1"); });
      EXPECT_EQ(t1.commit().reason, AbortReason::kNodeChanged) << point;
    }
  }
  EXPECT_EQ(db_->value(rows_, "x"), "10");
}

TEST_F(RegionCommit, ABlindWriteThatIsOvertakenTakesLocksAndAGreaterTid) {  // I1
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    const std::uint64_t before = counts().fallbacks;
    Transaction t1 = db_->begin();
    write(t1, "x", "11");
    Ticket other;
    CommitResult done;
    {
      AtSyncPoint at(point, [&] { other = db_->put(rows_, "x", "12"); });
      done = t1.commit();
    }
    EXPECT_TRUE(done);
    EXPECT_GT(done.ticket.tid, other.tid) << point;
    EXPECT_EQ(db_->value(rows_, "x"), "11");
    EXPECT_EQ(counts().fallbacks, before + 1);
  }
}

TEST_F(RegionCommit, ARecordThatMovesMeanwhileIsNotWrittenInItsOldPlace) {
  if (asked_shared_tables) GTEST_SKIP() << "shared records never move";
  Transaction t1 = db_->begin();
  write(t1, "x", "11");
  {
    AtSyncPoint at("region.planned", [&] { db_->put(rows_, "x", std::string(3000, 'b')); });
    const bool committed = t1.commit().committed();
    EXPECT_FALSE(committed) << "the record is not the latest any more";
  }
  EXPECT_EQ(db_->value(rows_, "x"), std::string(3000, 'b'));
}

TEST_F(RegionCommit, ItsTidIsOfTheEpochInWhichItEnds) {
  Transaction t1 = db_->begin();
  write(t1, "x", "11");
  CommitResult done;
  {
    AtSyncPoint at("region.planned", [&] { EXPECT_TRUE((*db_)->step()); });
    done = t1.commit();
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(done.ticket.epoch, (*db_)->statistics().epoch);
}

TEST_F(RegionCommit, ASnapshotNeverSeesAWriteWithoutTheReadersBeforeIt) {
  const std::uint64_t k = (*db_)->options().snapshot_epochs;
  while (((*db_)->statistics().epoch + 1) % k != 0) db_->pass_epochs(1);
  Transaction t1 = db_->begin();
  write(t1, "x", "11");
  {
    // In the next snapshot period somebody still reads the old x, and says so.
    AtSyncPoint at("region.planned", [&] {
      EXPECT_TRUE((*db_)->step());
      db_->commit([&](Transaction& t) { write(t, "saw", read(t, "x")); });
    });
    EXPECT_TRUE(t1.commit());
  }
  db_->pass_epochs(k);
  Snapshot snapshot = db_->snapshot();
  std::string x, saw;
  EXPECT_EQ(snapshot.get(rows_, "saw", saw), Outcome::kNotFound);
  EXPECT_EQ(snapshot.get(rows_, "x", x), Outcome::kOk);
  EXPECT_EQ(x, "10");
}

TEST_F(RegionCommit, KeepsWhatASnapshotNeeds) {
  db_->pass_snapshot_period();
  Snapshot before = db_->snapshot();
  db_->put(rows_, "x", "11");
  db_->remove(rows_, "y");
  EXPECT_EQ(scan_text(before, rows_), "x=10 y=20 ");
  EXPECT_EQ(counts().fallbacks, 0u);
  EXPECT_GT((*db_)->statistics().versions_created, 0u);
}

TEST_F(RegionCommit, WhatItLeavesIsCollected) {
  db_->pass_snapshot_period();
  db_->put(rows_, "x", "11");
  db_->remove(rows_, "y");
  db_->collect_everything();
  EXPECT_EQ((*db_)->statistics().version_bytes, 0u);
  EXPECT_EQ((*db_)->statistics().garbage_items, 0u);
  EXPECT_EQ(state(), "x=11 ");
}

TEST_F(RegionCommit, AValueThatOutgrowsItsRecordTakesLocks) {
  if (asked_shared_tables) GTEST_SKIP() << "none outgrows a shared record";
  db_->put(rows_, "x", std::string(3000, 'b'));
  EXPECT_EQ(db_->value(rows_, "x"), std::string(3000, 'b'));
  EXPECT_EQ(counts().fallbacks, 1u);
}

TEST_F(RegionCommit, ALockedRecordTakesTheLockersWay) {
  ManualDatabase db(2, region_options({.lines = 4}));  // x and y alone are too much for a region
  const Table rows = db.table("rows");
  const auto both = [&](Transaction& t, std::string_view value) {
    EXPECT_EQ(t.put(rows, "x", value), Outcome::kOk);
    EXPECT_EQ(t.put(rows, "y", std::string(300, value[0])), Outcome::kOk);
  };
  db.commit([&](Transaction& t) { both(t, "1"); });
  Transaction t1 = db.begin();
  both(t1, "2");
  {
    AtSyncPoint at("commit.locked", [&] {
      Transaction t2 = db.begin();
      EXPECT_EQ(t2.put(rows, "x", "3"), Outcome::kOk);
      EXPECT_EQ(t2.commit().reason, AbortReason::kWriteLocked);
    });
    EXPECT_TRUE(t1.commit());
  }
  EXPECT_EQ(db.value(rows, "x"), "2");
  EXPECT_GT(db->statistics().htm.capacity, 0u);
}

TEST_F(RegionCommit, CountersTellTheInjectedCauses) {
  ManualDatabase db(1, region_options({.spurious_per_thousand = 1000}));
  const Table rows = db.table("rows");
  for (int i = 0; i < 10; ++i) db.put(rows, "x", std::to_string(i));
  const HtmStatistics counted = db->statistics().htm;
  EXPECT_EQ(counted.commits, 0u);
  EXPECT_EQ(counted.fallbacks, 10u);
  EXPECT_EQ(counted.others, 30u) << "two retries each";
  EXPECT_EQ(counted.conflicts + counted.capacity + counted.explicit_aborts, 0u);
  EXPECT_EQ(db.value(rows, "x"), "9");
}

// --- the same seeded work ends the same, whatever commits it ---

/// What every transaction ended with, TIDs included, and what is there in the end.
std::string story_of(unsigned seed, const Options& options) {
  constexpr int kTransactions = 600;
  ManualDatabase db(3, options);
  const Table rows = db.table("rows");
  std::mt19937 random(seed);
  std::vector<Transaction> open(3);
  std::string story;
  const auto end = [&](Transaction& t) {
    const CommitResult done = t.commit();
    story += std::string(name(done.reason)) + " " + std::to_string(done.ticket.tid) + "\n";
  };
  for (int i = 0; i < kTransactions; ++i) {
    Transaction& t = open[random() % open.size()];
    if (t.open()) end(t);
    if (random() % 8 == 0) db->step();
    t = db.begin();
    for (unsigned op = 0; op <= random() % 5; ++op) {
      const std::string key = "key " + std::to_string(random() % 20);
      std::string value(random() % (random() % 10 == 0 ? 2000 : 40), static_cast<char>('a' + random() % 26));
      switch (random() % 4) {
        case 0: (void)t.remove(rows, key); break;
        case 1: (void)t.get(rows, key, value); break;
        default: (void)t.put(rows, key, value); break;
      }
    }
  }
  for (Transaction& t : open) {
    if (t.open()) end(t);
  }
  Transaction t = db.begin();
  return story + scan_text(t, rows);
}

TEST_F(RegionCommit, MakesNoDifferenceToTheResult) {
  if (!asked_protocol.in_real_time)
    GTEST_SKIP() << "regions that abort have told times of missed keys, so that later commits may have other times";
  for (const std::uint64_t one : seeds(10, 0)) {
    const auto seed = static_cast<unsigned>(one);
    Options off = manual_options();
    off.htm = Htm::kOff;
    const std::string expected = story_of(seed, off);
    for (const HtmSimulation& simulation : {HtmSimulation{}, HtmSimulation{.spurious_per_thousand = 700, .seed = seed},
                                            HtmSimulation{.sets = 2, .ways = 2}})
      EXPECT_EQ(story_of(seed, region_options(simulation)), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace granary::tests
