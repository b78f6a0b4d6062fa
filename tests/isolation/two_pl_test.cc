// Two-phase locking: what is read or about to be written is locked until the end; who meets a lock aborts (no_wait), or
// waits unless that would be for ever (dl_detect).

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "src/base/test_hooks.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

Options locking_options(const std::string& protocol) {
  Options options = manual_options();
  options.protocol = protocol;
  options.htm = Htm::kOff;
  return options;
}

class TwoPhaseLocking : public testing::TestWithParam<const char*> {
 protected:
  TwoPhaseLocking() {
    for (const char* key : {"x", "y", "gone"}) db_.put(table_, key, "old");
  }

  Outcome get(Transaction& t, std::string_view key) {
    std::string value;
    return t.get(table_, key, value);
  }
  static bool commits(Transaction& t) { return t.commit().committed(); }

  ManualDatabase db_{4, locking_options(GetParam())};
  Table table_ = db_->create_table("rows").value();
};
INSTANTIATE_TEST_SUITE_P(Both, TwoPhaseLocking, testing::Values("no_wait", "dl_detect"),
                         [](const auto& made) { return std::string(made.param); });

TEST_P(TwoPhaseLocking, RefusesRegions) {
  Options regions = locking_options(GetParam());
  regions.htm = Htm::kAuto;
  EXPECT_EQ(Database::open(regions).status().message(),
            "Options::protocol is '" + std::string(GetParam()) +
                "', which does not commit in HTM regions: leave Options::htm off");
}

TEST_P(TwoPhaseLocking, WhatIsReadIsNotWrittenMeanwhile) {
  Transaction reader = db_.begin(), other = db_.begin(), writer = db_.begin();
  EXPECT_EQ(get(reader, "x"), Outcome::kOk);
  EXPECT_EQ(get(other, "x"), Outcome::kOk) << "readers share the lock";
  EXPECT_EQ(writer.put(table_, "x", "new"), Outcome::kOk);
  EXPECT_EQ(writer.commit().reason, AbortReason::kWriteLocked);
  EXPECT_TRUE(commits(reader));
  EXPECT_TRUE(commits(other));
  Transaction again = db_.begin();
  EXPECT_EQ(again.put(table_, "x", "new"), Outcome::kOk);
  EXPECT_TRUE(commits(again));
}

/// A worker may have 16 transactions open, and all workers together have 38 owners of locks. So those that have ended
/// keep none from the others, but for the first of each worker.
TEST_P(TwoPhaseLocking, EachWorkerInTurnMayHaveAllOfItsTransactionsOpen) {
  for (std::size_t worker = 0; worker < 4; ++worker) {
    std::vector<Transaction> open;
    for (int i = 0; i < 16; ++i) {
      open.push_back(db_.worker(worker).begin());
      EXPECT_EQ(get(open.back(), "x"), Outcome::kOk) << "worker " << worker << ", transaction " << i;
    }
    for (Transaction& t : open) EXPECT_TRUE(commits(t));
  }
}

TEST_P(TwoPhaseLocking, WhatIsUpdatedIsNotReadMeanwhile) {
  Transaction writer = db_.begin(), reader = db_.begin();
  EXPECT_EQ(writer.update(table_, "x", "new"), Outcome::kOk);
  EXPECT_EQ(get(reader, "x"), Outcome::kAborted);
  EXPECT_EQ(reader.commit().reason, AbortReason::kRecordBusy);
  EXPECT_TRUE(commits(writer));
  EXPECT_EQ(db_.value(table_, "x"), "new");
}

TEST_P(TwoPhaseLocking, TheOnlyReaderMayWrite) {
  Transaction t = db_.begin();
  EXPECT_EQ(get(t, "x"), Outcome::kOk);
  EXPECT_EQ(t.update(table_, "x", "new"), Outcome::kOk);
  EXPECT_EQ(get(t, "x"), Outcome::kOk);
  EXPECT_TRUE(commits(t));
}

TEST_P(TwoPhaseLocking, AnAbortGivesBackItsLocks) {
  for (const bool dropped : {false, true}) {
    {
      Transaction t = db_.begin();
      EXPECT_EQ(get(t, "x"), Outcome::kOk);
      EXPECT_EQ(t.update(table_, "y", "never"), Outcome::kOk);
      if (!dropped) t.abort();
    }
    Transaction writer = db_.begin();
    EXPECT_EQ(writer.put(table_, "x", "new"), Outcome::kOk);
    EXPECT_EQ(writer.update(table_, "y", "new"), Outcome::kOk);
    EXPECT_TRUE(commits(writer));
  }
}

/// A value that has outgrown its record moves; who waited for the old record finds the new one, which is nobody's.
TEST_P(TwoPhaseLocking, ARecordThatMovesIsFreeAfterwards) {
  for (std::size_t bytes : {std::size_t{10}, std::size_t{500}, std::size_t{5000}}) {
    Transaction t = db_.begin();
    EXPECT_EQ(t.update(table_, "x", std::string(bytes, 'x')), Outcome::kOk);
    EXPECT_TRUE(commits(t));
    Transaction reader = db_.begin();
    EXPECT_EQ(get(reader, "x"), Outcome::kOk);
    EXPECT_TRUE(commits(reader));
  }
}

/// Who has read that a key is absent finds it so until it ends, though the garbage collection would take the absent
/// record away. The deletion's garbage is another worker's, which frees it only when it is told to.
TEST_P(TwoPhaseLocking, AnAbsenceThatWasReadStays) {
  Worker remover = db_->register_worker().value();
  Transaction removal = remover.begin();
  EXPECT_EQ(removal.remove(table_, "gone"), Outcome::kOk);
  EXPECT_TRUE(commits(removal));
  db_.pass_snapshot_period();
  db_.pass_snapshot_period();
  Transaction reader = db_.begin();
  EXPECT_EQ(get(reader, "gone"), Outcome::kNotFound);
  remover.collect_garbage();
  Transaction inserter = db_.begin();
  const bool inserted = inserter.insert(table_, "gone", "new") == Outcome::kOk && commits(inserter);
  const bool still = get(reader, "gone") == Outcome::kNotFound;
  EXPECT_FALSE(inserted && commits(reader));
  EXPECT_TRUE(still || !inserted);
  reader.abort();
}

/// An aborted insert leaves an absent record in the index, which is read like a deleted one and must stay as long.
TEST_P(TwoPhaseLocking, AnAbsenceOfAPlaceholderStays) {
  Worker inserter = db_->register_worker().value();
  Transaction given_up = inserter.begin();
  EXPECT_EQ(given_up.insert(table_, "never", "old"), Outcome::kOk);
  given_up.abort();
  db_.pass_epochs(4);
  Transaction reader = db_.begin();
  EXPECT_EQ(get(reader, "never"), Outcome::kNotFound);
  inserter.collect_garbage();
  Transaction other = db_.begin();
  const bool inserted = other.insert(table_, "never", "new") == Outcome::kOk && commits(other);
  EXPECT_TRUE(get(reader, "never") == Outcome::kNotFound || !inserted);
  reader.abort();
}

/// A transaction of the same worker that is still open gives nothing back while the other one waits or is run again.
/// Each body gives up by itself after some attempts, so that this test ends where run() does not.
TEST_P(TwoPhaseLocking, ALockOfTheSameWorkersOpenTransactionIsNotWaitedFor) {
  Worker& worker = db_.worker();
  const auto run = [&](auto&& act) {
    return worker.run([&, attempt = 0](Transaction& t) mutable {
      if (++attempt == 20) return t.abort();
      act(t);
    });
  };
  const auto put = [&](Transaction& t) { (void)t.put(table_, "x", "inner"); };
  const auto update = [&](Transaction& t) { (void)t.update(table_, "x", "inner"); };
  const auto read = [&](Transaction& t) { (void)get(t, "x"); };
  const auto expect_refused = [](const RunResult& done) {
    EXPECT_EQ(done.reason, AbortReason::kLockedByOwnWorker) << name(done.reason);
    EXPECT_EQ(done.attempts, 1u);
  };
  const RunResult outer = worker.run([&](Transaction& t) {
    EXPECT_EQ(get(t, "x"), Outcome::kOk);
    expect_refused(run(put));
    expect_refused(run(update));
    EXPECT_TRUE(run(read)) << "both only read";
    EXPECT_EQ(t.update(table_, "x", "outer"), Outcome::kOk);
    expect_refused(run(read));
    EXPECT_TRUE(run([&](Transaction& inner) { EXPECT_EQ(inner.put(table_, "y", "inner"), Outcome::kOk); }));
  });
  EXPECT_TRUE(outer) << name(outer.reason);
  EXPECT_TRUE(run(put)) << "the lock is free again";
  EXPECT_EQ(db_.value(table_, "x"), "inner");
  EXPECT_EQ(db_.value(table_, "y"), "inner");
  EXPECT_FALSE(is_retryable(AbortReason::kLockedByOwnWorker));
}

/// Bodies that take turns give their locks back while others of them wait, but what was open before does not.
TEST_P(TwoPhaseLocking, BodiesThatTakeTurnsWaitForEachOther) {
  Worker& worker = db_.worker();
  constexpr std::size_t kBodies = 8;
  std::vector<RunResult> results(kBodies);
  const auto add = [&](std::size_t, Transaction& t) {
    if (get(t, "x") != Outcome::kOk) return;
    worker.let_others_run();
    (void)t.update(table_, "x", "added");
  };
  worker.run_many(results, add);
  for (const RunResult& done : results) EXPECT_TRUE(done) << name(done.reason);
  Transaction before = worker.begin();
  EXPECT_EQ(get(before, "x"), Outcome::kOk);
  worker.run_many(results, add, {.max_attempts = 20});
  for (const RunResult& done : results) EXPECT_FALSE(done);
  const auto refused = [](const RunResult& done) { return done.reason == AbortReason::kLockedByOwnWorker; };
  EXPECT_NE(std::count_if(results.begin(), results.end(), refused), 0);
  EXPECT_TRUE(commits(before));
  worker.run_many(results, add);
  for (const RunResult& done : results) EXPECT_TRUE(done) << name(done.reason);
}

/// The worker ends it when the one that has met its lock tries again. Each body gives up by itself after some attempts.
TEST_P(TwoPhaseLocking, ALockOfATransactionThatWasDroppedIsTriedAgain) {
  Worker& worker = db_.worker();
  const auto put = [&](Transaction& t) { (void)t.put(table_, "x", "new"); };
  const auto update = [&](Transaction& t) { (void)t.update(table_, "x", "new"); };
  const auto read = [&](Transaction& t) { (void)get(t, "x"); };
  Transaction outer;
  const auto run = [&](auto&& act, auto&& drop) {
    return worker.run([&, attempt = 0](Transaction& t) mutable {
      if (++attempt == 20) return t.abort();
      if (attempt == 1) drop();
      act(t);
    });
  };
  const auto expect_tried_again = [](const RunResult& done) {
    EXPECT_TRUE(done) << name(done.reason);
    EXPECT_EQ(done.attempts, 2u);
  };
  const auto try_both = [&](auto&& act) {
    outer = worker.begin();
    EXPECT_EQ(outer.update(table_, "x", "never"), Outcome::kOk);
    worker.run_together(1, [&](std::size_t) { expect_tried_again(run(act, [&] { outer = Transaction(); })); });
    outer = worker.begin();
    EXPECT_EQ(outer.update(table_, "x", "never"), Outcome::kOk);
    expect_tried_again(run(act, [&] { std::thread([&] { outer = Transaction(); }).join(); }));
  };
  try_both(put);
  try_both(update);
  try_both(read);
  EXPECT_EQ(db_.value(table_, "x"), "new");
}

/// A body that takes turns and begins another transaction does what it must not. The inner one is refused what the
/// outer one has locked, since the outer one goes on only afterwards; what another body has locked is waited for.
TEST_P(TwoPhaseLocking, ABodyThatTakesTurnsDoesNotWaitForItself) {
  Worker& worker = db_.worker();
  const auto put = [&](Transaction& t, std::string_view key) { (void)t.put(table_, key, "inner"); };
  worker.run_together(2, [&](std::size_t i) {
    const std::string_view own = i == 0 ? "x" : "y", other = i == 0 ? "y" : "x";
    const RunResult outer = worker.run([&](Transaction& t) {
      if (t.update(table_, own, "outer") != Outcome::kOk) return;
      worker.let_others_run();
      const RunResult inner = worker.run([&](Transaction& in) { put(in, own); }, {.max_attempts = 20});
      EXPECT_EQ(inner.reason, AbortReason::kLockedByOwnWorker) << name(inner.reason);
      EXPECT_EQ(inner.attempts, 1u);
      const RunResult others = worker.run([&](Transaction& in) { put(in, other); }, {.max_attempts = 2});
      EXPECT_NE(others.reason, AbortReason::kLockedByOwnWorker);
    });
    EXPECT_TRUE(outer) << name(outer.reason);
  });
}

TEST_P(TwoPhaseLocking, NoMoreWorkersThanOwners) {
  std::vector<Worker> workers;
  for (;;) {
    auto worker = db_->register_worker();
    if (!worker.ok()) {
      EXPECT_EQ(worker.status().code(), StatusCode::kResourceExhausted);
      break;
    }
    workers.push_back(std::move(*worker));
    ASSERT_LT(workers.size(), 100u);
  }
  Transaction t = workers.back().begin();
  EXPECT_EQ(get(t, "x"), Outcome::kOk);
  EXPECT_TRUE(commits(t));
  workers.clear();
  EXPECT_TRUE(db_->register_worker().ok());
}

/// Workers that rest keep an owner each, but not the last one. When all owners are those of open transactions, a
/// transaction within one of them gives up, as the others may be waiting in the same way.
TEST_P(TwoPhaseLocking, ATransactionWithinAnotherFindsAnOwner) {
  std::vector<Worker> workers;
  for (auto worker = db_->register_worker(); worker.ok(); worker = db_->register_worker())
    workers.push_back(std::move(*worker));
  for (Worker& worker : workers)
    EXPECT_TRUE(worker.run([&](Transaction& t) { (void)t.put(table_, "z", "0"); }).committed());
  EXPECT_TRUE(db_.worker().run([&](Transaction& t) { (void)t.put(table_, "z", "0"); }).committed());
  const auto inner = [&](Worker& worker) {
    return worker.run([&](Transaction& t) { (void)t.put(table_, "y", "inner"); }, {.max_attempts = 20}).reason;
  };
  Worker& nested = workers.front();
  EXPECT_TRUE(nested.run([&](Transaction& t) {
    EXPECT_EQ(get(t, "x"), Outcome::kOk);
    EXPECT_EQ(inner(nested), AbortReason::kNone);
  }));
  std::vector<Transaction> open;
  AbortReason refused = AbortReason::kNone;
  for (std::size_t i = 0; refused == AbortReason::kNone; ++i) {
    ASSERT_LT(i, 2 * workers.size());
    open.push_back(workers[i % workers.size()].begin());
    if (get(open.back(), "x") != Outcome::kOk) refused = open.back().commit().reason;
  }
  EXPECT_EQ(refused, AbortReason::kLockedByOwnWorker);
  EXPECT_EQ(inner(nested), AbortReason::kLockedByOwnWorker);
  EXPECT_TRUE(commits(open.front()));
  EXPECT_EQ(inner(workers.back()), AbortReason::kNone);
}

/// Each of some threads updates a record of its own and then its neighbour's. Of those who wait for each other in a
/// circle one must give way, and because it has seen the circle.
class Circle {
 public:
  explicit Circle(int size) : size_(size) {
    Worker loader = database_->register_worker().value();
    for (int i = 0; i < size; ++i)
      EXPECT_TRUE(loader.run([&](Transaction& t) { EXPECT_EQ(t.put(table_, std::to_string(i), "0"), Outcome::kOk); }));
  }
  /// Whether the circle was seen: a thread that gets no processor may come too late to close it.
  bool is_seen() {
    std::atomic<int> ready{0}, committed{0}, circles{0};
    std::vector<std::thread> threads;
    for (int me = 0; me < size_; ++me) {
      threads.emplace_back([&, me] {
        base::set_sync_hook([&](std::string_view point) { circles += point == "two_pl.circle" ? 1 : 0; });
        if (update_two(me, ready)) committed.fetch_add(1);
        base::set_sync_hook({});
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LT(committed.load(), size_);
    return circles.load() >= 1;
  }

 private:
  static Options options() {
    Options options = locking_options("dl_detect");
    options.background = Background::kThreads;
    return options;
  }
  bool update_two(int me, std::atomic<int>& ready) {
    Worker worker = database_->register_worker().value();
    Transaction t = worker.begin();
    EXPECT_EQ(t.update(table_, std::to_string(me), "1"), Outcome::kOk);
    ready.fetch_add(1);
    while (ready.load() < size_) std::this_thread::yield();
    return t.update(table_, std::to_string((me + 1) % size_), "1") == Outcome::kOk && t.commit().committed();
  }

  const int size_;
  const std::unique_ptr<Database> database_ = Database::open(options()).value();
  const Table table_ = database_->create_table("rows").value();
};
void expect_circle_of(int size) {
  constexpr int kTurns = 200;
  Circle circle(size);
  bool seen = !base::kTestHooks;
  for (int turn = 0; turn < kTurns && !seen; ++turn) seen = circle.is_seen();
  EXPECT_TRUE(seen);
}
TEST(DeadlockDetect, EndsACircleOfTwo) { expect_circle_of(2); }
TEST(DeadlockDetect, EndsACircleOfThree) { expect_circle_of(3); }

TEST(DeadlockDetect, WaitsForAHolderThatWaitsForNobody) {
  Options options = locking_options("dl_detect");
  options.background = Background::kThreads;
  const auto database = Database::open(options).value();
  const Table table = database->create_table("rows").value();
  Worker first = database->register_worker().value();
  ASSERT_TRUE(first.run([&](Transaction& t) { EXPECT_EQ(t.put(table, "a", "0"), Outcome::kOk); }));
  Transaction holder = first.begin();
  EXPECT_EQ(holder.update(table, "a", "1"), Outcome::kOk);
  std::atomic<bool> begun{false};
  std::thread waiter([&] {
    Worker second = database->register_worker().value();
    begun.store(true);
    const RunResult done = second.run([&](Transaction& t) { static_cast<void>(t.update(table, "a", "2")); });
    EXPECT_TRUE(done) << name(done.reason);
  });
  while (!begun.load()) std::this_thread::yield();
  EXPECT_TRUE(holder.commit().committed());
  waiter.join();
}

}  // namespace
}  // namespace granary::tests
