// Exceptions of bodies that take turns (Worker::run_many, run_together). One that a body catches itself is its own,
// whatever the others throw meanwhile. One that leaves a body ends its transaction, and comes out of the call.

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/allocations.h"
#include "tests/support/manual_database.h"
#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

class TurnsExceptions : public testing::TestWithParam<IndexKind> {
 protected:
  TurnsExceptions() {
    for (int i = 0; i < kKeys; ++i) db_.put(table_, key(i), "0");
  }

  static std::string key(int i) { return "account " + std::to_string(i); }
  void look(Transaction& t, std::size_t times) {
    std::string value;
    for (std::size_t k = 0; k < times; ++k) (void)t.get(table_, key(static_cast<int>(k) % kKeys), value);
  }
  std::string of(std::size_t body) { return db_.value(table_, "of " + std::to_string(body)); }
  /// Whether what a body has written is there says how its transaction has ended.
  void expect_one_of_each_is_told(const std::vector<RunResult>& results) {
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(of(i), results[i].committed() ? "written" : "(none)") << i;
  }
  void expect_usable() { expect_usable(worker_); }
  void expect_usable(Worker& worker) {
    std::vector<RunResult> results(40);
    worker.run_many(results, [&](std::size_t i, Transaction& t) {
      (void)t.put(table_, "of " + std::to_string(i), "written");
      look(t, 3);
    });
    for (const RunResult& result : results) EXPECT_TRUE(result.committed()) << name(result.reason);
    expect_one_of_each_is_told(results);
  }

  static constexpr int kKeys = 8;
  ManualDatabase db_{2};
  Table table_ = db_.table("t", {.max_value_bytes = 200, .index = GetParam(), .expected_keys = 200});
  Worker& worker_ = db_.worker();
};
INSTANTIATE_TEST_SUITE_P(Both, TurnsExceptions, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& made) { return made.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(TurnsExceptions, OneThatIsCaughtIsItsBodys) {
  constexpr std::size_t kMany = 64;
  std::vector<RunResult> results(kMany);
  std::vector<std::string> caught(kMany);
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    try {
      look(t, i % 3);
      throw std::runtime_error("of " + std::to_string(i));
    } catch (const std::runtime_error&) {
      look(t, 1 + i % 7);  // meanwhile others throw, and catch
      try {
        throw;
      } catch (const std::runtime_error& again) {
        caught[i] = again.what();
      }
    }
  });
  for (std::size_t i = 0; i < kMany; ++i) {
    EXPECT_TRUE(results[i].committed()) << name(results[i].reason);
    EXPECT_EQ(caught[i], "of " + std::to_string(i));
  }
}

TEST_P(TurnsExceptions, OneThatLeavesABodyComesOutOfTheCall) {
  constexpr std::size_t kMany = 64, kThrows = 20;
  // Left by another call.
  std::vector<RunResult> results(kMany, {.reason = AbortReason::kNone, .attempts = 1, .ticket = {}});
  std::vector<bool> begun(kMany);
  bool has_thrown = false;
  try {
    worker_.run_many(results, [&](std::size_t i, Transaction& t) {
      EXPECT_TRUE(begun[i] || !has_thrown) << i << " has begun afterwards";
      begun[i] = true;
      EXPECT_EQ(t.put(table_, "of " + std::to_string(i), "written"), Outcome::kOk);
      look(t, 1 + i % 3);
      if (i < kThrows) return;
      has_thrown = true;
      throw std::runtime_error("of " + std::to_string(i));
    });
    ADD_FAILURE() << "the exception was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::MatchesRegex("of (2|3).")) << "the first";
  }
  for (std::size_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(results[i].reason, i < kThrows ? AbortReason::kNone : AbortReason::kUser) << i;
  }
  expect_one_of_each_is_told(results);
  EXPECT_FALSE(begun[kMany - 1]);
  expect_usable();
}

TEST_P(TurnsExceptions, OneThatLeavesANestedCallComesOutOfTheOuterOne) {
  int ran = 0;
  const auto inner = [&](std::size_t) {
    ++ran;
    (void)worker_.run([&](Transaction& t) {
      look(t, 1);
      throw std::runtime_error("inner");
    });
  };
  EXPECT_THROW(worker_.run_together(1, [&](std::size_t) { worker_.run_together(3, inner); }), std::runtime_error);
  EXPECT_EQ(ran, 1);
  expect_usable();
}

TEST_P(TurnsExceptions, OneOfAScansVisitorEndsItsTransaction) {
  if (GetParam() == IndexKind::kHash) GTEST_SKIP() << "a hash table is not scanned";
  db_.pass_snapshot_period();
  const ScanRange all{.from = "account", .to = "account~"};
  const auto fails = [](std::string_view, std::string_view) -> bool { throw std::runtime_error("of the visitor"); };
  std::vector<RunResult> results(3);
  EXPECT_THROW(worker_.run_many(results,
                                [&](std::size_t i, Transaction& t) {
                                  (void)t.put(table_, "of " + std::to_string(i), "written");
                                  look(t, 1);
                                  if (i == 1) (void)t.scan(table_, all, fails);
                                }),
               std::runtime_error);
  EXPECT_FALSE(results[1].committed());
  expect_one_of_each_is_told(results);
  EXPECT_THROW((void)worker_.run([&](Transaction& t) {
    (void)t.put(table_, key(0), "from here");
    (void)t.scan(table_, all, fails);
  }),
               std::runtime_error);
  EXPECT_EQ(db_.value(table_, key(0)), "0");
  EXPECT_TRUE(worker_.run([&](Transaction& t) {
    EXPECT_THROW((void)t.scan(table_, all, fails), std::runtime_error);
    EXPECT_EQ(t.put(table_, key(0), "1"), Outcome::kOk);
  })) << "the transaction goes on";
  EXPECT_EQ(db_.value(table_, key(0)), "1");
  Snapshot snapshot = worker_.snapshot();
  EXPECT_THROW((void)snapshot.scan(table_, all, fails), std::runtime_error);
  std::string value;
  EXPECT_EQ(snapshot.get(table_, key(0), value), Outcome::kOk);
  snapshot.finish();
  expect_usable();
}

TEST_P(TurnsExceptions, OneThatKeepsBodiesFromBeginningComesOutOfTheCall) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  constexpr int kBodies = 4;
  std::vector<Worker> workers;
  for (bool thrown = true; thrown;) {
    workers.push_back(db_->register_worker().value());  // a new one, which has no fibers yet
    Worker& worker = workers.back();
    int begun = 0;
    thrown = false;
    failing_allocation = allocations + workers.size();
    try {
      worker.run_together(kBodies, [&](std::size_t) { ++begun; });
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    failing_allocation = 0;
    EXPECT_EQ(begun, thrown ? 0 : kBodies) << "none begins if not all do";
    EXPECT_FALSE(worker.let_others_run()) << "it runs no bodies any more";
    expect_usable(worker);
  }
  const std::size_t least = asked_protocol.runs_in_region ? 1 : 2 * kBodies;  // each body has a fiber
  EXPECT_GT(workers.size(), least - 1) << "allocations of the call";
}

}  // namespace
}  // namespace granary::tests
