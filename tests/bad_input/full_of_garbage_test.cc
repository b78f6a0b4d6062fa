// Memory full of garbage: of old versions and deleted records that wait for their epoch, of versions that a snapshot
// holds, of a worker whose thread sleeps. Writers get a typed error or wait a bounded while, reads go on, and
// afterwards all is as before. With the database's threads; times are generous, as the machine may be loaded. Epoch by
// epoch: full_of_garbage_by_hand_test.cc. Not covered: other nodes' snapshots.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/bad_input/garbage_rows.h"
#include "tests/support/manual_database.h"
#include "tests/support/units.h"

namespace granary::tests {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLive = 1000;

enum class Kind { kOrdered, kHash, kShared, kIndexed };

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
  RunResult run_step() {
    const RunResult done = worker_.run([&](Transaction& t) { step(t); });
    next_ += done.committed() ? 1 : 0;
    return done;
  }
  template <typename Step>
  std::size_t steps_within(milliseconds time, Step&& one) {
    std::size_t done = 0;
    for (const auto end = Clock::now() + time; Clock::now() < end;) done += one() ? 1 : 0;
    return done;
  }
  void pass_periods(std::uint64_t periods) {
    const std::uint64_t end = database_->statistics().epoch + periods * options().snapshot_epochs;
    while (database_->statistics().epoch < end) std::this_thread::sleep_for(milliseconds(5));
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
  /// In the best of three windows, so that a moment in which others have the processor does not count.
  std::size_t most_steps() {
    std::size_t most = 0;
    for (int window = 0; window < 3; ++window)
      most = std::max(most, steps_within(milliseconds(300), [&] { return step(); }));
    return most;
  }
  /// Commits until memory is used up; returns false if it never is.
  /// A snapshot is open meanwhile, so nothing is freed, and memory gets full however slowly this build fills it.
  bool fill_until_refused() {
    Worker reader = database_->register_worker().value();
    const Snapshot holds_versions = reader.snapshot();
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
  // What fills memory waits for two snapshot periods at most, so this many steps have room again and again, however
  // long a period takes. Records of a shared table never move, so a removal copies the old version, and when the table
  // has taken all other memory there is only the reserve for it, a 32nd.
  const std::uint64_t memory = options().memory_limit_bytes / (GetParam() == Kind::kShared ? 32 : 1);
  const std::size_t room = memory / (4 * kValueBytes);
  std::size_t done = 0;
  const auto pass = [&](std::uint64_t periods) {
    const std::uint64_t end = database_->statistics().epoch + periods * options().snapshot_epochs;
    for (done = 0; done < room && database_->statistics().epoch < end;) done += step() ? 1 : 0;
  };
  pass(256);
  EXPECT_GE(done, room);
  pass(8);
  EXPECT_GT(done, 0u) << "and not only once";
  EXPECT_EQ(count(), kLive);
}

TEST_P(FullOfGarbage, RunWaitsForWhatBecomesFree) {
  load();
  ASSERT_TRUE(fill_until_refused());
  const std::uint64_t begun = database_->statistics().epoch;
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(run_step().committed()) << i;
  EXPECT_GT(database_->statistics().epoch, begun);
  EXPECT_EQ(count(), kLive);
}

TEST_P(FullOfGarbage, WhileASnapshotHoldsItWritersAreToldAndReadsGoOn) {
  load();
  ASSERT_TRUE(fill_until_refused());
  pass_periods(2);  // the snapshot is to see all of it
  Worker reader = database_->register_worker().value();
  Snapshot snapshot = reader.snapshot();
  const std::size_t seen = next_ - 1;
  ASSERT_TRUE(fill_until_refused());
  pass_periods(2);
  // Single attempts are refused even where there is garbage to free, as long as the database's thread is at it. run()
  // waits for that.
  const auto begun = Clock::now();
  auto before = begun;
  RunResult refused = run_step();
  for (; refused.committed() && before - begun < milliseconds(20'000); refused = run_step()) before = Clock::now();
  EXPECT_EQ(refused.reason, AbortReason::kOutOfMemory);
  EXPECT_LT(Clock::now() - before, milliseconds(5000)) << "bounded, whatever the machine does";
  EXPECT_EQ(count(), kLive) << "reads go on";
  std::string value;
  EXPECT_EQ(snapshot.get(table_, key(seen), value), Outcome::kOk);
}

/// Half the rate of before, within a second. The two rates are measured one after the other, and several times if it
/// must be, as others may have the processor at one time and not at the other.
TEST_P(FullOfGarbage, WhenTheSnapshotEndsWritersAreBackWithinASecond) {
  load();
  ASSERT_TRUE(fill_until_refused());
  Worker reader = database_->register_worker().value();
  std::size_t before = 0, after = 0;
  for (int tries = 0; tries < 5 && (after == 0 || after < before / 2); ++tries) {
    before = most_steps();
    Snapshot snapshot = reader.snapshot();
    for (std::size_t done = 1; done != 0;) done = steps_within(milliseconds(100), [&] { return step(); });
    snapshot.finish();
    after = most_steps();
  }
  EXPECT_GT(after, 0u);
  EXPECT_GE(after, before / 2);
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
  // A run waits for so many epochs, in which a slow build may not have freed enough; sooner or later each gets what it
  // needs.
  const auto end = Clock::now() + milliseconds(20'000);
  for (int i = 0; i < 1000;) {
    if (run_step())
      ++i;
    else
      ASSERT_LT(Clock::now(), end) << i;
  }
  {
    const std::lock_guard lock(mutex);
    done = false;
  }
  signal.notify_all();
  sleeper.join();
  EXPECT_EQ(count(), kLive);
}

/// Their memory is borrowed while they sleep, and sometimes just when they wake.
TEST_P(FullOfGarbage, OfWorkersThatSleepNowAndThenIsFreedForTheOthers) {
  constexpr std::size_t kWorkers = 3, kOwn = 100;
  load();
  ASSERT_TRUE(fill_until_refused());
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < kWorkers; ++me) {
    threads.emplace_back([&, me] {
      Worker worker = database_->register_worker().value();
      const auto own = [&](std::size_t number) { return key((me + 1) * 1'000'000 + number); };
      std::size_t next = 0;
      const auto begun = Clock::now();
      // A slow build, or a busy machine, may need longer for more rows than it keeps.
      while (Clock::now() < begun + milliseconds(next > kOwn ? 500 : 20'000)) {
        const RunResult done = worker.run([&](Transaction& t) {
          (void)t.insert(table_, own(next), value());
          if (next >= kOwn) (void)t.remove(table_, own(next - kOwn));
        });
        next += done ? 1 : 0;
        if (!done || next % 64 == 0) std::this_thread::sleep_for(milliseconds(me));
      }
      EXPECT_GT(next, kOwn);
      for (std::size_t i = next - std::min(next, kOwn); i < next; ++i) {
        Transaction t = worker.begin();
        std::string seen;
        EXPECT_EQ(t.get(table_, own(i), seen), Outcome::kOk);
        EXPECT_EQ(seen, value());
        EXPECT_TRUE(t.commit().committed());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
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
  pass_periods(2);  // snapshots need all of it
  for (std::size_t i = 0; i < next_; ++i) {
    const RunResult removed = worker_.run([&](Transaction& t) { (void)t.remove(table_, key(i)); });
    ASSERT_TRUE(removed) << i << " of " << next_ << ": " << name(removed.reason);
  }
  next_ = 0;
  load();
}

/// Each update keeps an old version, of a shared record in memory that the table itself cannot have.
TEST_P(FullOfGarbage, WhatStaysWhenMostIsDeletedCanBeUpdated) {
  constexpr std::size_t kOneStays = 10, kRounds = 5;
  while (worker_.run([&](Transaction& t) { (void)t.insert(table_, key(next_), value()); })) ++next_;
  for (std::size_t i = 0; i < next_; ++i) {
    if (i % kOneStays == 0) continue;
    const RunResult removed = worker_.run([&](Transaction& t) { (void)t.remove(table_, key(i)); });
    ASSERT_TRUE(removed) << i << " of " << next_ << ": " << name(removed.reason);
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    pass_periods(4);
    for (std::size_t i = 0; i < next_; i += kOneStays) {
      const RunResult updated = worker_.run([&](Transaction& t) { (void)t.update(table_, key(i), value()); });
      ASSERT_TRUE(updated) << i << " of " << next_ << " in round " << round << ": " << name(updated.reason);
    }
  }
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  constexpr const char* kNames[] = {"Ordered", "Hash", "Shared", "Indexed"};
  return kNames[static_cast<std::size_t>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(Tables, FullOfGarbage,
                         testing::Values(Kind::kOrdered, Kind::kHash, Kind::kShared, Kind::kIndexed), name_of);

}  // namespace
}  // namespace granary::tests
