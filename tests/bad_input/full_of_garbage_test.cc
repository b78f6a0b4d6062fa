// Memory full of garbage: of old versions and deleted records that wait for their epoch, of versions that a snapshot holds, of a worker
// whose thread sleeps. Writers get a typed error or wait a bounded while, reads go on, and afterwards all is as before. With the
// database's threads; times are generous, as the machine may be loaded. Not covered: other nodes' snapshots.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "src/txn/worker_core.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::size_t kLive = 1000;
constexpr std::size_t kValueBytes = 500;

enum class Kind { kOrdered, kHash, kShared, kIndexed };

std::string key(std::size_t number) { return std::string(encode_key(static_cast<std::uint64_t>(number)).view()); }

class FullOfGarbage : public testing::TestWithParam<Kind> {
 protected:
  FullOfGarbage()
      : database_(Database::open(options()).value()),
        table_(make_table()),
        worker_(database_->register_worker().value()) {}

  static Options options() {
    Options options;
    options.epoch_ms = 5;
    options.max_open_epochs = 400;  // as the machine may be loaded
    options.memory_limit_bytes = 12 * kMiB;
    options.huge_pages = HugePages::kOff;
    return options;
  }
  Table make_table() {
    TableOptions options{.max_value_bytes = kValueBytes};
    if (GetParam() == Kind::kHash || GetParam() == Kind::kShared) options.index = IndexKind::kHash;
    options.expected_keys = 4 * kLive;
    options.shared = GetParam() == Kind::kShared;
    Table table = database_->create_table("t", options).value();
    if (GetParam() == Kind::kIndexed) {
      const IndexOptions by_value{.parts = {{.source = IndexPart::Source::kValue, .length = 8}}};
      EXPECT_TRUE(database_->create_index(table, "i", by_value).ok());
    }
    return table;
  }

  void load() {
    for (; next_ < kLive; ++next_) {
      const RunResult done = worker_.run([&](Transaction& t) { (void)t.insert(table_, key(next_), value()); });
      ASSERT_TRUE(done) << name(done.reason);
    }
  }
  std::string value() const { return key(next_) + std::string(kValueBytes - 8, 'v'); }

  /// One insert and one removal: what is live stays the same.
  void step(Transaction& t) {
    (void)t.insert(table_, key(next_), value());
    (void)t.remove(table_, key(next_ - kLive));
  }
  bool step() {
    Transaction t = worker_.begin();
    step(t);
    const bool committed = t.commit().committed();
    next_ += committed ? 1 : 0;
    return committed;
  }
  bool run_step() {
    const bool committed = worker_.run([&](Transaction& t) { step(t); }).committed();
    next_ += committed ? 1 : 0;
    return committed;
  }
  template <typename Step>
  std::size_t steps_within(milliseconds time, Step&& one) {
    std::size_t done = 0;
    for (const auto end = Clock::now() + time; Clock::now() < end;) done += one() ? 1 : 0;
    return done;
  }
  std::size_t count() {
    std::size_t found = 0;
    for (std::size_t i = next_ - kLive; i < next_; ++i) {
      Transaction t = worker_.begin();
      std::string seen;
      found += t.get(table_, key(i), seen) == Outcome::kOk && t.commit().committed() ? 1 : 0;
    }
    return found;
  }
  /// Commits until memory is used up; returns false if it never is.
  bool fill_until_refused() {
    for (const auto end = Clock::now() + milliseconds(20'000); Clock::now() < end;) {
      if (!step()) return true;
    }
    return false;
  }

  std::unique_ptr<Database> database_;
  Table table_;
  Worker worker_;
  std::size_t next_ = 0;  ///< keys from next_ - kLive on are there
};

TEST_P(FullOfGarbage, ChurnGoesOn) {
  load();
  ASSERT_TRUE(fill_until_refused()) << "the limit is to be met";
  steps_within(milliseconds(300), [&] { return step(); });
  EXPECT_GT(steps_within(milliseconds(500), [&] { return step(); }), 200u) << "time for a multiple of that";
  EXPECT_EQ(count(), kLive);
}

TEST_P(FullOfGarbage, RunWaitsForWhatBecomesFree) {
  load();
  ASSERT_TRUE(fill_until_refused());
  const std::uint64_t begun = database_->statistics().epoch;
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(run_step()) << i;
  EXPECT_GT(database_->statistics().epoch, begun);
  EXPECT_EQ(count(), kLive);
}

TEST_P(FullOfGarbage, WhileASnapshotHoldsItWritersAreToldAndReadsGoOn) {
  load();
  ASSERT_TRUE(fill_until_refused());
  std::this_thread::sleep_for(milliseconds(300));  // the snapshot is to see all of it
  Worker reader = database_->register_worker().value();
  Snapshot snapshot = reader.snapshot();
  const std::size_t seen = next_ - 1;
  ASSERT_TRUE(fill_until_refused());
  std::this_thread::sleep_for(milliseconds(300));
  while (step()) {
  }
  const auto before = Clock::now();
  const RunResult refused = worker_.run([&](Transaction& t) { step(t); });
  EXPECT_EQ(refused.reason, AbortReason::kOutOfMemory);
  EXPECT_LT(Clock::now() - before, milliseconds(5000)) << "bounded, whatever the machine does";
  EXPECT_EQ(count(), kLive) << "reads go on";
  std::string value;
  EXPECT_EQ(snapshot.get(table_, key(seen), value), Outcome::kOk);

  snapshot.finish();
  steps_within(milliseconds(500), [&] { return step(); });
  EXPECT_GT(steps_within(milliseconds(500), [&] { return step(); }), 1000u)
      << "back within a second of the snapshot's end";
}

TEST_P(FullOfGarbage, OfAWorkerThatSleepsIsFreedForTheOthers) {
  load();
  Worker other = database_->register_worker().value();
  std::mutex mutex;
  std::condition_variable signal;
  bool done = false;
  std::thread sleeper([&] {
    other.attach_thread();
    // All memory becomes garbage of this worker, which then does nothing any more.
    std::swap(worker_, other);
    EXPECT_TRUE(fill_until_refused());
    std::unique_lock lock(mutex);
    std::swap(worker_, other);
    done = true;
    signal.notify_all();
    signal.wait(lock, [&] { return !done; });
  });
  {
    std::unique_lock lock(mutex);
    signal.wait(lock, [&] { return done; });
  }
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(run_step()) << i;
  {
    const std::lock_guard lock(mutex);
    done = false;
  }
  signal.notify_all();
  sleeper.join();
  EXPECT_EQ(count(), kLive);
}

TEST_P(FullOfGarbage, EverythingCanBeDeleted) {
  load();
  for (std::size_t refusals = 0; refusals < 1;) {
    if (!worker_.run([&](Transaction& t) { (void)t.insert(table_, key(next_), value()); }))
      ++refusals;
    else
      ++next_;
  }
  std::this_thread::sleep_for(milliseconds(300));  // snapshots need all of it
  for (std::size_t i = 0; i < next_; ++i) {
    const RunResult removed = worker_.run([&](Transaction& t) { (void)t.remove(table_, key(i)); });
    ASSERT_TRUE(removed) << i << " of " << next_ << ": " << name(removed.reason);
  }
  next_ = 0;
  load();
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  constexpr const char* kNames[] = {"Ordered", "Hash", "Shared", "Indexed"};
  return kNames[static_cast<std::size_t>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(Tables, FullOfGarbage,
                         testing::Values(Kind::kOrdered, Kind::kHash, Kind::kShared, Kind::kIndexed), name_of);

// --- nobody but the test lets epochs pass ---

class FullOfGarbageByHand : public testing::Test {
 protected:
  FullOfGarbageByHand() : db_(2, options()), table_(db_.table("t")) {}
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

TEST_F(FullOfGarbageByHand, AWorkerInATransactionIsNotBorrowed) {
  txn::WorkerCore& core = *db_.worker(0).core();
  ASSERT_TRUE(core.borrow());
  EXPECT_EQ(core.collect(1), 0u) << "the borrower has its memory";
  core.give_back();
  Transaction open = db_.worker(0).begin();
  EXPECT_FALSE(core.borrow());
  open.abort();
  ASSERT_TRUE(core.borrow());
  core.give_back();
}

/// As long as another thread has the worker's memory, its next transaction waits.
TEST_F(FullOfGarbageByHand, ATransactionWaitsUntilItsWorkerIsGivenBack) {
  txn::WorkerCore& core = *db_.worker(0).core();
  ASSERT_TRUE(core.borrow());
  std::atomic<bool> given_back{false};
  std::thread borrower([&] {
    std::this_thread::sleep_for(milliseconds(50));
    given_back.store(true);
    core.give_back();
  });
  Transaction t = db_.worker(0).begin();
  EXPECT_TRUE(given_back.load());
  EXPECT_EQ(t.insert(table_, "a", "1"), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  borrower.join();
}

}  // namespace
}  // namespace granary::tests
