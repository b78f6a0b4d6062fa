// A transaction that meets an x-lock of another open transaction of its own worker: it cannot wait for it, unless the
// other one is of another fiber. Locks at the worker's own node are in tests/isolation/two_pl_test.cc.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

class OwnLocks : tests::WithLeasesAlone, public testing::TestWithParam<IndexKind> {
 protected:
  using Act = std::function<void(Transaction&)>;

  OwnLocks() : tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    cluster_.set_time(1'000'000);
    for (const std::string key : {"1x", "1y", "2x"}) EXPECT_TRUE(run(put(key)));
  }
  /// By node 0. The body gives up by itself after some attempts, so that a test ends where run() does not.
  RunResult run(const Act& act, std::size_t worker = 0) {
    return cluster_.node(0).worker(worker).run([&, attempt = 0](Transaction& t) mutable {
      if (++attempt == 20) return t.abort();
      act(t);
    });
  }
  void expect_refused(const Act& act) {
    const RunResult done = run(act);
    EXPECT_EQ(done.reason, AbortReason::kLockedByOwnWorker) << name(done.reason);
    EXPECT_EQ(done.attempts, 1u);
  }
  static Act both(Act first, Act second) {
    return [=](Transaction& t) {
      first(t);
      second(t);
    };
  }
  Act put(std::string key) const {
    return [this, key](Transaction& t) { (void)t.put(tables_[0], key, "new"); };
  }
  Act read(std::string key) const {
    return [this, key](Transaction& t) {
      std::string value;
      (void)t.get(tables_[0], key, value);
    };
  }
  Act declare(std::string key, bool write) const {
    return [this, key, write](Transaction& t) {
      const Declared declared{tables_[0], key, write};
      (void)t.declare({&declared, 1});
    };
  }

  SimCluster cluster_{3};
  const std::vector<Table> tables_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, OwnLocks, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(OwnLocks, WhatAnOuterRunHasDeclaredIsNotWaitedFor) {
  const RunResult outer = run([&](Transaction& t) {
    declare("1x", /*write=*/true)(t);
    expect_refused(put("1x"));
    expect_refused(read("1x"));
    expect_refused(declare("1x", true));
    expect_refused(declare("1x", false));
    expect_refused(both(put("2x"), put("1x")));
    EXPECT_TRUE(run(both(put("1y"), put("2x")))) << "nothing that the outer one holds, and nothing was left locked";
    EXPECT_EQ(t.put(tables_[0], "1x", "outer"), Outcome::kOk);
  });
  EXPECT_TRUE(outer) << name(outer.reason);
  EXPECT_EQ(outer.attempts, 1u);
  EXPECT_TRUE(run(put("1x"))) << "free again";
}

TEST_P(OwnLocks, AnotherWorkersTransactionMayEndMeanwhile) {
  Transaction holder = cluster_.node(0).worker(1).begin();
  declare("1x", true)(holder);
  int attempts = 0;
  const RunResult done = run([&](Transaction& t) {
    if (++attempts == 5) holder.abort();
    put("1x")(t);
  });
  EXPECT_TRUE(done) << name(done.reason);
  EXPECT_EQ(attempts, 5);
}

TEST_P(OwnLocks, AnotherFibersTransactionMayEndMeanwhile) {
  bool held = false;
  cluster_.scheduler.spawn([&] {
    Transaction t = cluster_.node(0).worker().begin();
    declare("1x", true)(t);
    held = true;
    for (int turn = 0; turn < 50; ++turn) cluster_.scheduler.yield();
    EXPECT_EQ(t.put(tables_[0], "1x", "first"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
  });
  cluster_.scheduler.spawn([&] {
    while (!held) cluster_.scheduler.yield();
    const RunResult done = cluster_.node(0).worker().run(put("1x"));
    EXPECT_TRUE(done) << name(done.reason);
  });
  cluster_.scheduler.run();
}

/// The fiber that has begun the transaction ends. Another one drops it while a third one is about to meet its lock: the
/// worker ends it when the third one tries again.
TEST_P(OwnLocks, WhatAnotherFiberHasDroppedIsTriedAgain) {
  for (const Act& act : {put("1x"), read("1x"), declare("1x", false)}) {
    std::vector<Transaction> left;
    bool held = false, met = false;
    cluster_.scheduler.spawn([&] {
      left.push_back(cluster_.node(0).worker().begin());
      declare("1x", true)(left.back());
      held = true;
    });
    cluster_.scheduler.spawn([&] {
      while (!met) cluster_.scheduler.yield();
      left.clear();
    });
    cluster_.scheduler.spawn([&] {
      while (!held) cluster_.scheduler.yield();
      const RunResult done = run([&](Transaction& t) {
        met = true;
        while (!left.empty()) cluster_.scheduler.yield();
        act(t);
      });
      EXPECT_TRUE(done) << name(done.reason);
      EXPECT_EQ(done.attempts, 2u);
    });
    cluster_.scheduler.run();
  }
}

/// A transaction that was begun before the fibers cannot end while they run. Each of them has another one beside it.
TEST_P(OwnLocks, WhatIsOpenOutsideOfFibersIsNotWaitedFor) {
  Transaction outer = cluster_.node(0).worker().begin();
  declare("1x", true)(outer);
  for (int fiber = 0; fiber < 2; ++fiber) {
    cluster_.scheduler.spawn([&] {
      expect_refused(put("1x"));
      expect_refused(read("1x"));
      expect_refused(declare("1x", true));
    });
  }
  cluster_.scheduler.run();
  EXPECT_EQ(outer.put(tables_[0], "1x", "outer"), Outcome::kOk);
  EXPECT_TRUE(outer.commit().committed());
}

TEST_P(OwnLocks, WhatAnOuterRunOfTheSameFiberHasDeclaredIsNotWaitedFor) {
  for (const std::string key : {"1x", "1y"}) {
    cluster_.scheduler.spawn([this, key] {
      const RunResult outer = run([&](Transaction& t) {
        declare(key, true)(t);
        expect_refused(put(key));
      });
      EXPECT_TRUE(outer) << name(outer.reason);
    });
  }
  cluster_.scheduler.run();
}

/// A read that is to be followed by a write has x-locked the record, which is the declared hold or more.
TEST(LockedByARead, IsHeldAlreadyWhenItIsDeclared) {
  SimCluster cluster(2);
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  cluster.set_time(1'000'000);
  Worker& worker = cluster.node(0).worker();
  std::string value;
  EXPECT_TRUE(worker.run([&](Transaction& t) { (void)t.put(tables[0], "1x", "old"); }));
  EXPECT_TRUE(worker.run([&](Transaction& t) { (void)t.get(tables[0], "1x", value); })) << "its place is known now";
  for (const bool write : {true, false}) {
    const auto& swaps = cluster.node(0).remote().counters().compare_swaps;
    const std::uint64_t before = swaps;
    Transaction t = worker.begin();
    std::array<char, 32> buffer;
    EXPECT_EQ(t.get_to_write(tables[0], "1x", buffer).outcome, Outcome::kOk);
    EXPECT_EQ(swaps - before, 1u) << "locked";
    const Declared declared{tables[0], "1x", write};
    EXPECT_EQ(t.declare({&declared, 1}), Outcome::kOk) << name(t.doom());
    EXPECT_EQ(swaps - before, 1u) << "not once more";
    EXPECT_EQ(t.put(tables[0], "1x", "new"), Outcome::kOk);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }
}

}  // namespace
}  // namespace granary::cluster::test
