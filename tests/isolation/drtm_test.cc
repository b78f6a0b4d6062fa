// DrTM: a transaction's whole work at this node runs in one HTM region, here a simulated one. What aborts it, and when
// locks are taken in its place. That histories are serializable is for random_interleaving_test.cc to show.

#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "htm/rtm.h"
#include "src/base/test_hooks.h"
#include "src/cc/drtm/drtm.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"
#include "tests/support/allocations.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

Options drtm_options(const HtmSimulation& simulation = {}) {
  Options options = manual_options();
  options.protocol = "drtm";
  options.htm = Htm::kSim;
  options.htm_simulation = simulation;
  return options;
}

/// Returns a value that fills cache lines of its own.
std::string wide(char letter) { return std::string(200, letter); }

class DrTm : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    open({});
  }
  void open(const HtmSimulation& simulation, bool snapshots = true) {
    db_.reset();
    Options options = drtm_options(simulation);
    options.snapshots = snapshots;
    db_.emplace(std::size_t{3}, options);
    rows_ = (*db_)->create_table("rows").value();  // local, as what outgrows its record must move
    for (const char* key : {"x", "y", "z"}) db_->put(rows_, key, wide('a'));
    before_ = now();
  }
  HtmStatistics now() { return (*db_)->statistics().htm; }
  std::uint64_t commits() { return now().commits - before_.commits; }
  std::uint64_t fallbacks() { return now().fallbacks - before_.fallbacks; }

  Outcome read(Transaction& t, std::string_view key) {
    std::string value;
    return t.get(rows_, key, value);
  }
  Outcome write(Transaction& t, std::string_view key, char letter) { return t.put(rows_, key, wide(letter)); }
  char letter(std::string_view key) { return db_->value(rows_, key).at(0); }
  bool writes_meanwhile(std::string_view key, char letter) {
    Transaction t = db_->begin();
    EXPECT_EQ(write(t, key, letter), Outcome::kOk);
    return t.commit().committed();
  }

  std::optional<ManualDatabase> db_;
  Table rows_;
  HtmStatistics before_;
};

TEST_F(DrTm, AWholeTransactionIsOneRegion) {
  Transaction t = db_->begin();
  EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_EQ(read(t, "nothing"), Outcome::kNotFound);
  EXPECT_EQ(write(t, "y", 'b'), Outcome::kOk);
  EXPECT_EQ(t.insert(rows_, "new", "1"), Outcome::kOk);
  EXPECT_EQ(t.remove(rows_, "z"), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(commits(), 1u);
  EXPECT_EQ(fallbacks(), 0u);
  EXPECT_EQ(letter("y"), 'b');
  EXPECT_EQ(db_->value(rows_, "new"), "1");
  EXPECT_EQ(db_->value(rows_, "z"), "(none)");
}

TEST_F(DrTm, WhoeverChangesWhatWasReadAbortsTheRegion) {
  Transaction t = db_->begin();
  EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_TRUE(writes_meanwhile("x", 'b'));
  EXPECT_EQ(read(t, "y"), Outcome::kAborted) << "it is noticed at once, not at the end";
  EXPECT_EQ(t.commit().reason, AbortReason::kRecordBusy);
  EXPECT_EQ(now().conflicts, before_.conflicts + 1);
}

TEST_F(DrTm, AReaderThatLooksNoMoreNoticesAtTheEnd) {
  Transaction t = db_->begin();
  EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_EQ(write(t, "y", 'c'), Outcome::kOk);
  EXPECT_TRUE(writes_meanwhile("x", 'b'));
  EXPECT_EQ(t.commit().reason, AbortReason::kReadChanged);
  EXPECT_EQ(letter("y"), 'a');
}

TEST_F(DrTm, AKeyThatAppearsIsAConflict) {
  Transaction t = db_->begin();
  EXPECT_EQ(read(t, "new"), Outcome::kNotFound);
  EXPECT_EQ(write(t, "y", 'c'), Outcome::kOk);
  Transaction other = db_->begin();
  EXPECT_EQ(other.insert(rows_, "new", "1"), Outcome::kOk);
  EXPECT_TRUE(other.commit().committed());
  EXPECT_EQ(t.commit().reason, AbortReason::kNodeChanged);
}

TEST_F(DrTm, OfTwoInsertsOfOneKeyOneCommits) {
  Transaction first = db_->begin(), second = db_->begin();
  EXPECT_EQ(first.insert(rows_, "new", "1"), Outcome::kOk);
  EXPECT_EQ(second.insert(rows_, "new", "2"), Outcome::kOk);
  EXPECT_TRUE(second.commit().committed());
  EXPECT_FALSE(first.commit().committed());
  EXPECT_EQ(db_->value(rows_, "new"), "2");
}

TEST_F(DrTm, AnEpochThatEndsMeanwhileDoesNoHarm) {
  Transaction t = db_->begin();
  EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_EQ(write(t, "x", 'b'), Outcome::kOk);
  EXPECT_TRUE((*db_)->step());
  const CommitResult done = t.commit();
  EXPECT_TRUE(done.committed());
  EXPECT_EQ(done.ticket.epoch, (*db_)->statistics().epoch);
}

TEST_F(DrTm, ASnapshotKeepsWhatARegionOverwrites) {
  db_->pass_snapshot_period();
  Snapshot snapshot = db_->snapshot();
  EXPECT_TRUE(writes_meanwhile("x", 'b'));
  EXPECT_EQ(commits(), 1u);
  std::string value;
  EXPECT_EQ(snapshot.get(rows_, "x", value), Outcome::kOk);
  EXPECT_EQ(value, wide('a'));
}

TEST_F(DrTm, AnotherTransactionOfTheWorkerTakesLocks) {
  Worker& worker = db_->worker();
  Transaction first = worker.begin(), second = worker.begin();
  EXPECT_EQ(read(first, "x"), Outcome::kOk);
  EXPECT_EQ(read(second, "y"), Outcome::kOk);
  EXPECT_EQ(write(second, "y", 'b'), Outcome::kOk);
  EXPECT_TRUE(second.commit().committed());
  EXPECT_TRUE(first.commit().committed());
  EXPECT_EQ(commits(), 1u);
  EXPECT_EQ(fallbacks(), 1u);
}

TEST_F(DrTm, WhatDoesNotFitIntoTheCacheIsDoneWithLocks) {
  open({.sets = 1, .ways = 2, .lines = 64});
  Transaction t = db_->worker().begin();  // begun here, not where open() began those that did not fit either
  for (const char* key : {"x", "y", "z"}) {
    EXPECT_EQ(read(t, key), Outcome::kOk);
    EXPECT_EQ(write(t, key, 'b'), Outcome::kOk);
  }
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(fallbacks(), 1u);
  EXPECT_EQ(now().capacity, before_.capacity + 1);
  EXPECT_EQ(letter("z"), 'b');
}

TEST_F(DrTm, ABodyThatNeverFitsIsSeldomTried) {
  open({.sets = 1, .ways = 2, .lines = 64});
  const auto changes_all = [&](Transaction& t) {
    for (const char* key : {"x", "y", "z"}) {
      (void)read(t, key);
      (void)write(t, key, 'b');
    }
  };
  const auto reads_one = [&](Transaction& t) { (void)read(t, "x"); };
  constexpr unsigned kTimes = 100;
  for (unsigned i = 0; i < kTimes; ++i) EXPECT_TRUE(db_->worker().run(changes_all).committed());
  EXPECT_EQ(fallbacks(), kTimes);
  EXPECT_LE(now().capacity, before_.capacity + 10);
  EXPECT_TRUE(db_->worker().run(reads_one).committed());
  EXPECT_EQ(commits(), 1u) << "another body is tried";
  EXPECT_EQ(letter("z"), 'b');
}

TEST_F(DrTm, AValueThatOutgrowsItsRecordIsWrittenWithLocks) {
  Transaction t = db_->begin();
  EXPECT_EQ(read(t, "y"), Outcome::kOk);
  EXPECT_EQ(t.put(rows_, "x", std::string(1000, 'b')), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(fallbacks(), 1u);
  EXPECT_EQ(letter("x"), 'b');
}

/// Regions that always end without a reason. Without snapshots, which would keep local records from being held.
class DrTmWithLocks : public DrTm {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    open({.spurious_per_thousand = 1000}, /*snapshots=*/false);
  }
  Outcome declare(Transaction& t, const std::vector<std::string_view>& keys) {
    std::vector<Declared> declared;
    for (const std::string_view key : keys) declared.push_back({rows_, key, /*write=*/false});
    return t.declare(declared);
  }
};

TEST_F(DrTmWithLocks, WhatWasDeclaredIsHeldFromTheStart) {
  Transaction t = db_->begin();
  EXPECT_EQ(declare(t, {"y", "x", "x", "nothing"}), Outcome::kOk);
  // Chance ends the region within its first loads.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_FALSE(writes_meanwhile("x", 'b'));
  EXPECT_FALSE(writes_meanwhile("y", 'b'));
  EXPECT_TRUE(writes_meanwhile("z", 'b'));
  EXPECT_EQ(write(t, "x", 'c'), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(letter("x"), 'c');
  EXPECT_TRUE(writes_meanwhile("x", 'd')) << "the commit has given it back";
  EXPECT_TRUE(writes_meanwhile("y", 'd')) << "so has the end, what was only read";
}

TEST_F(DrTmWithLocks, WhatIsHeldIsGivenBackByAnAbort) {
  Transaction t = db_->begin();
  EXPECT_EQ(declare(t, {"x", "y"}), Outcome::kOk);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_EQ(write(t, "x", 'c'), Outcome::kOk);
  t.abort();
  EXPECT_TRUE(writes_meanwhile("x", 'b'));
  EXPECT_TRUE(writes_meanwhile("y", 'b'));
}

/// A lock bit that was set, and not noted for lack of memory, would never be given back.
TEST_F(DrTmWithLocks, AClaimNeedsNoMemory) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  std::uint64_t fails = 0;
  for (bool failed = true; failed;) {
    open({.spurious_per_thousand = 1000}, /*snapshots=*/false);  // no worker has claimed anything yet
    Transaction t = db_->begin();
    failing_allocation = allocations + ++fails;
    failed = false;
    try {
      (void)declare(t, {"x", "y"});
      for (int i = 0; i < 20; ++i) (void)read(t, "x");
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    failing_allocation = 0;
    t.abort();
    EXPECT_TRUE(writes_meanwhile("x", 'b')) << "after failure " << fails;
    EXPECT_TRUE(writes_meanwhile("y", 'b')) << "after failure " << fails;
  }
  EXPECT_GT(fails, 3u);
}

/// A transaction of the same worker that is still open gives nothing back while the other one waits or is run again.
/// The inner bodies give up by themselves after some attempts, so that this test ends where run() does not.
TEST_F(DrTmWithLocks, WhatTheSameWorkerHoldsIsNotWaitedFor) {
  Worker& worker = db_->worker();
  const auto run = [&](auto&& act) {
    return worker.run([&, attempt = 0](Transaction& t) mutable {
      if (++attempt == 20) return t.abort();
      act(t);
    });
  };
  const auto expect_refused = [](const char* what, const RunResult& done) {
    EXPECT_EQ(done.reason, AbortReason::kLockedByOwnWorker) << what << ": " << name(done.reason);
    EXPECT_LT(done.attempts, 20u) << what;
  };
  const RunResult outer = worker.run([&](Transaction& t) {
    EXPECT_EQ(declare(t, {"x"}), Outcome::kOk);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(read(t, "x"), Outcome::kOk);
    expect_refused("written", run([&](Transaction& inner) { (void)write(inner, "x", 'b'); }));
    expect_refused("read", run([&](Transaction& inner) { (void)read(inner, "x"); }));
    expect_refused("declared", run([&](Transaction& inner) {
                     (void)declare(inner, {"x"});
                     for (int i = 0; i < 20; ++i) (void)read(inner, "y");
                   }));
    EXPECT_TRUE(run([&](Transaction& inner) { (void)write(inner, "y", 'b'); }).committed());
    EXPECT_EQ(write(t, "x", 'c'), Outcome::kOk);
  });
  EXPECT_TRUE(outer.committed()) << name(outer.reason);
  EXPECT_TRUE(writes_meanwhile("x", 'd')) << "it is free again";
}

/// The worker ends it when the one that has met its lock bit tries again.
TEST_F(DrTmWithLocks, WhatItHeldUntilItWasDroppedIsTriedAgain) {
  Transaction outer = db_->begin();
  EXPECT_EQ(declare(outer, {"x"}), Outcome::kOk);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(outer, "x"), Outcome::kOk);
  EXPECT_TRUE(db_->worker().run([&, attempt = 0](Transaction& t) mutable {
    if (++attempt == 1) std::thread([&] { outer = Transaction(); }).join();
    attempt < 20 ? (void)write(t, "x", 'b') : t.abort();
  }));
}

TEST_F(DrTmWithLocks, WhatWasNotDeclaredIsValidated) {
  Transaction t = db_->begin();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_EQ(write(t, "y", 'c'), Outcome::kOk);
  EXPECT_TRUE(writes_meanwhile("x", 'b'));
  EXPECT_FALSE(t.commit().committed());
}

/// The record was read before its lock was taken, and the commit finds it locked, by the transaction itself.
TEST_F(DrTmWithLocks, WhatTheRegionReadIsHeldWhenTheRegionHasEnded) {
  for (const bool changes_it : {false, true}) {
    open({}, /*snapshots=*/false);
    Worker& worker = db_->worker();
    Transaction t = worker.begin();
    EXPECT_EQ(declare(t, {"x"}), Outcome::kOk);
    EXPECT_EQ(read(t, "x"), Outcome::kOk);
    cc::drtm::leave_region(worker.core()->state());
    EXPECT_EQ(read(t, "y"), Outcome::kOk);
    EXPECT_EQ(fallbacks(), 1u);
    EXPECT_FALSE(writes_meanwhile("x", 'b'));
    EXPECT_EQ(read(t, "x"), Outcome::kOk);
    EXPECT_EQ(write(t, changes_it ? "x" : "z", 'c'), Outcome::kOk);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }
}

TEST_F(DrTmWithLocks, ARegionMeetsLocks) {
  open({});
  Transaction holder = db_->begin();
  // This value outgrows its record, so the commit leaves the region and takes locks.
  EXPECT_EQ(holder.put(rows_, "x", std::string(1000, 'b')), Outcome::kOk);
  Outcome seen = Outcome::kOk;
  bool overwritten = true;
  const AtSyncPoint at("commit.locked", [&] {
    Transaction reader = db_->begin();
    seen = read(reader, "x");
    reader.abort();
    Transaction writer = db_->begin();
    overwritten = write(writer, "x", 'c') == Outcome::kOk && writer.commit().committed();
  });
  EXPECT_TRUE(holder.commit().committed());
  EXPECT_EQ(seen, Outcome::kAborted);
  EXPECT_FALSE(overwritten);
}

/// A snapshot waits for who has a local record locked, however long that takes, so nobody may have it while application
/// code runs.
TEST_F(DrTm, WhatSnapshotsReadIsNotHeld) {
  open({.spurious_per_thousand = 1000});
  db_->pass_snapshot_period();
  Transaction t = db_->begin();
  const Declared declared{rows_, "x", /*write=*/true};
  EXPECT_EQ(t.declare({&declared, 1}), Outcome::kOk);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(read(t, "x"), Outcome::kOk);
  EXPECT_EQ(write(t, "x", 'b'), Outcome::kOk);
  Snapshot snapshot = db_->snapshot();
  std::string value;
  EXPECT_EQ(snapshot.get(rows_, "x", value), Outcome::kOk);
  EXPECT_EQ(value, wide('a'));
  EXPECT_TRUE(t.commit().committed());
}

/// A commit that finds no memory gives its claims back, and may be tried once more. By then somebody may have changed
/// the record.
TEST_F(DrTmWithLocks, WhatWasReadUnderALockIsComparedAllTheSame) {
  const auto value = rows_.core()->index().find("x").value;
  record::Record& record = *record::record_of(value);
  const record::TidWord locked = record.tid() | record::kLocked;
  const std::vector<cc::LockEntry> none;
  ASSERT_TRUE(record.try_lock(record.tid()));
  const auto check = [&] {
    return cc::drtm::DrTm::check_local({&record, locked}, cc::Claims(none), {}, db_->worker().core()->state());
  };
  EXPECT_EQ(check(), AbortReason::kNone);
  record.unlock_unchanged();
  EXPECT_TRUE(writes_meanwhile("x", 'b'));
  ASSERT_TRUE(record.try_lock(record.tid()));
  EXPECT_EQ(check(), AbortReason::kReadChanged);
  record.unlock_unchanged();
}

/// On a processor that has Intel TSX this says nothing.
TEST(DrTmOptions, AProcessorWithoutHtmIsRefused) {
  if (htm::rtm_works()) GTEST_SKIP() << "it has Intel TSX";
  Options options = drtm_options();
  options.htm = Htm::kAuto;
  const auto opened = Database::open(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(opened.status().message().find("Intel TSX"), std::string::npos) << opened.status().message();
}

TEST(DrTmOptions, ADatabaseWithoutRegionsIsRefused) {
  Options options = drtm_options();
  options.htm = Htm::kOff;
  const auto opened = Database::open(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(opened.status().message().find("HTM regions"), std::string::npos) << opened.status().message();
}

}  // namespace
}  // namespace granary::tests
