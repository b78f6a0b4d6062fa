// Transactions of one worker that take turns (Worker::run_many, run_together): that each runs, that the others go on
// wherever one looks for a key or waits, and that what they do is serializable. Threads, and histories, are in
// tests/stress/append_test.cc.

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/manual_database.h"
#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

class Turns : public testing::TestWithParam<IndexKind> {
 protected:
  Turns() {
    for (int i = 0; i < kKeys; ++i) db_.put(table_, key(i), text(0));
  }

  static std::string key(int i) { return "account " + std::to_string(i); }
  static std::string text(int count) { return std::to_string(count); }
  int count(int i) { return std::stoi(db_.value(table_, key(i))); }
  /// Adds one to the record's number.
  bool add(Transaction& t, int i) {
    std::string value;
    return t.get(table_, key(i), value) == Outcome::kOk &&
           t.put(table_, key(i), text(std::stoi(value) + 1)) == Outcome::kOk;
  }
  /// Whether transactions can take turns at all.
  static bool takes_turns() { return !asked_protocol.runs_in_region; }

  static constexpr int kKeys = 8;
  ManualDatabase db_{2};
  Table table_ = db_.table("t", {.max_value_bytes = 200, .index = GetParam(), .expected_keys = 200});
  Worker& worker_ = db_.worker();
};
INSTANTIATE_TEST_SUITE_P(Both, Turns, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& made) { return made.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Turns, EachRunsAndEndsOnItsOwn) {
  for (const std::size_t many : {0, 1, 2, 15, 16, 17, 100}) {
    std::vector<RunResult> results(many);
    std::vector<int> runs(many);
    worker_.run_many(results, [&](std::size_t i, Transaction& t) {
      ++runs[i];
      EXPECT_EQ(t.put(table_, "of " + std::to_string(i), text(static_cast<int>(many))), Outcome::kOk);
      if (i % 5 == 3) t.abort();
    });
    for (std::size_t i = 0; i < many; ++i) {
      EXPECT_EQ(results[i].reason, i % 5 == 3 ? AbortReason::kUser : AbortReason::kNone) << i;
      EXPECT_EQ(results[i].attempts, static_cast<std::uint32_t>(runs[i]));
      if (i % 5 != 3) {
        EXPECT_EQ(db_.value(table_, "of " + std::to_string(i)), text(static_cast<int>(many)));
        EXPECT_NE(results[i].ticket.tid, 0u);
      }
    }
  }
}

/// A worker has 16 transactions and snapshots open at most, and one is open already.
TEST_P(Turns, LeaveRoomForWhatIsOpenAlready) {
  const Snapshot open = worker_.snapshot();
  std::vector<RunResult> results(40);
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    std::string value;
    EXPECT_EQ(t.get(table_, key(static_cast<int>(i) % kKeys), value), Outcome::kOk) << i;
  });
  for (const RunResult& result : results) EXPECT_TRUE(result.committed()) << name(result.reason);
}

TEST_P(Turns, OthersGoOnWhereOneLooksForAKey) {
  std::string order;
  std::array<RunResult, 3> results;
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    std::string value;
    order += static_cast<char>('a' + i);
    EXPECT_EQ(t.get(table_, key(static_cast<int>(i)), value), Outcome::kOk);
    order += static_cast<char>('A' + i);
  });
  EXPECT_EQ(order.substr(0, 3), takes_turns() ? "abc" : "aAb");
  for (const RunResult& result : results) EXPECT_TRUE(result.committed());
}

TEST_P(Turns, AreSerializable) {
  constexpr std::size_t kMany = 200;
  std::vector<RunResult> results(kMany);
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    const int first = static_cast<int>(i * 7 % kKeys), second = static_cast<int>((i * 3 + 1) % kKeys);
    (void)(add(t, first) && add(t, second));  // else it is doomed, and runs again
  });
  for (const RunResult& result : results) EXPECT_TRUE(result.committed()) << name(result.reason);
  int sum = 0;
  for (int i = 0; i < kKeys; ++i) sum += count(i);
  EXPECT_EQ(sum, 2 * static_cast<int>(kMany));
}

TEST_P(Turns, SeeNoPhantomsOfEachOther) {
  constexpr std::size_t kMany = 32;
  std::vector<RunResult> results(kMany);
  std::array<int, kMany> made{};
  // Only one of each two may find that the name is free.
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    std::string value;
    made[i] = 0;
    const std::string name = "name " + std::to_string(i / 2);
    if (t.get(table_, name, value) != Outcome::kNotFound) return;
    if (!add(t, 0)) return;
    made[i] = t.insert(table_, name, text(static_cast<int>(i))) == Outcome::kOk ? 1 : 0;
  });
  for (std::size_t i = 0; i < kMany; i += 2) EXPECT_EQ(made[i] + made[i + 1], 1) << i;
  EXPECT_EQ(count(0), static_cast<int>(kMany / 2));
}

TEST_P(Turns, SnapshotsAndScansTakePart) {
  db_.pass_snapshot_period();
  std::array<std::size_t, 20> seen{};
  worker_.run_together(seen.size(), [&](std::size_t i) {
    if (i % 2 == 0) {
      Snapshot snapshot = worker_.snapshot();
      std::string value;
      for (int k = 0; k < kKeys; ++k) seen[i] += snapshot.get(table_, key(k), value) == Outcome::kOk ? 1 : 0;
      return;
    }
    EXPECT_TRUE(worker_.run([&](Transaction& t) {
      seen[i] = 0;
      (void)add(t, static_cast<int>(i) % kKeys);
      if (GetParam() == IndexKind::kHash) {
        seen[i] = kKeys;
        return;
      }
      (void)t.scan(table_, {.from = "account", .to = "account~"}, [&](std::string_view, std::string_view) {
        ++seen[i];
        return true;
      });
    }));
  });
  EXPECT_THAT(seen, testing::Each(std::size_t{kKeys}));
}

/// The first holds what the second wants until it has had two more turns. If a wait gave none, the second would wait in
/// vain, and try again.
TEST_P(Turns, OthersGoOnWhereOneWaits) {
  if (asked_protocol.name != "dl_detect") GTEST_SKIP() << asked_protocol.name << " does not wait for who has read";
  std::array<RunResult, 2> results;
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    if (i == 1) {
      EXPECT_EQ(t.put(table_, key(0), text(7)), Outcome::kOk);
      return;
    }
    std::string value;
    EXPECT_EQ(t.get(table_, key(0), value), Outcome::kOk);
    for (int turn = 0; turn < 2; ++turn) worker_.let_others_run();
    EXPECT_EQ(t.get(table_, key(1), value), Outcome::kOk);
  });
  for (const RunResult& result : results) {
    EXPECT_TRUE(result.committed()) << name(result.reason);
    EXPECT_EQ(result.attempts, 1u);
  }
  EXPECT_EQ(count(0), 7);
}

/// Half of them in the opposite order, so that they deadlock where reads are locked.
TEST_P(Turns, InOppositeOrdersEndAll) {
  std::vector<RunResult> results(16);
  worker_.run_many(results, [&](std::size_t i, Transaction& t) {
    for (int k = 0; k < kKeys; ++k) {
      if (!add(t, i % 2 == 0 ? k : kKeys - 1 - k)) return;
    }
  });
  for (const RunResult& result : results) EXPECT_TRUE(result.committed()) << name(result.reason);
  for (int k = 0; k < kKeys; ++k) EXPECT_EQ(count(k), 16);
}

TEST_P(Turns, WithinABodyRunOneAfterTheOther) {
  std::vector<int> order;
  worker_.run_together(1, [&](std::size_t) {
    worker_.run_together(3, [&](std::size_t i) {
      worker_.let_others_run();
      order.push_back(static_cast<int>(i));
      EXPECT_TRUE(worker_.run([&](Transaction& t) { (void)add(t, 1); }));
    });
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(count(1), 3);
}

/// Bodies that share one transaction or snapshot would change it behind each other's back, in the middle of an
/// operation: one could leave the epoch slot in which another one reads.
TEST_P(Turns, UseOnlyWhatTheyHaveBegunThemselves) {
  if (!takes_turns()) GTEST_SKIP() << asked_protocol.name << " runs bodies one after the other";
  db_.pass_snapshot_period();
  Snapshot snapshot = worker_.snapshot();
  Transaction t = worker_.begin();
  EXPECT_EQ(t.put(table_, key(0), "before"), Outcome::kOk);
  worker_.run_together(3, [&](std::size_t i) {
    std::string value;
    EXPECT_EQ(snapshot.get(table_, key(static_cast<int>(i)), value), Outcome::kWrongThread);
    EXPECT_EQ(t.get(table_, key(static_cast<int>(i)), value), Outcome::kWrongThread);
    EXPECT_EQ(t.put(table_, key(1), "within"), Outcome::kWrongThread);
    EXPECT_EQ(scan_text(snapshot, table_), "(wrong_thread)");
    EXPECT_FALSE(t.open());
    t.abort();
    snapshot.finish();
    EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
  });
  std::string value;
  EXPECT_EQ(snapshot.get(table_, key(0), value), Outcome::kOk);
  EXPECT_EQ(value, text(0));
  EXPECT_TRUE(t.open());
  EXPECT_EQ(t.get(table_, key(0), value), Outcome::kOk);
  EXPECT_EQ(value, "before");
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(db_.value(table_, key(1)), text(0));
}

TEST_P(Turns, LeaveEachOthersTransactionsAlone) {
  if (!takes_turns()) GTEST_SKIP() << asked_protocol.name << " runs bodies one after the other";
  Transaction shared, left;
  worker_.run_together(2, [&](std::size_t i) {
    std::string value;
    if (i == 0) {
      shared = worker_.begin();
      EXPECT_EQ(shared.get(table_, key(0), value), Outcome::kOk);  // lets the other one run
      EXPECT_EQ(shared.put(table_, key(0), "mine"), Outcome::kOk);
      EXPECT_TRUE(shared.commit().committed());
      left = worker_.begin();
      return;
    }
    EXPECT_EQ(shared.get(table_, key(1), value), Outcome::kWrongThread);
    shared.abort();
    EXPECT_EQ(shared.commit().reason, AbortReason::kMisuse);
  });
  EXPECT_EQ(db_.value(table_, key(0)), "mine");
  EXPECT_EQ(left.put(table_, key(1), "behind the bodies"), Outcome::kOk);
  EXPECT_TRUE(left.commit().committed());
  EXPECT_EQ(db_.value(table_, key(1)), "behind the bodies");
}

/// A body that ends makes room for the next one, in the same fiber.
TEST_P(Turns, UseNothingThatABodyBeforeThemHasLeft) {
  if (!takes_turns()) GTEST_SKIP() << asked_protocol.name << " runs bodies one after the other";
  db_.pass_snapshot_period();
  Transaction left;
  Snapshot left_snapshot;
  worker_.run_together(3, [&](std::size_t i) {
    std::string value;
    if (i == 0) {
      left_snapshot = worker_.snapshot();
      left = worker_.begin();
      return;
    }
    EXPECT_EQ(left.put(table_, key(0), "not its own"), Outcome::kWrongThread) << i;
    EXPECT_EQ(left_snapshot.get(table_, key(0), value), Outcome::kWrongThread) << i;
  });
  std::string value;
  EXPECT_EQ(left_snapshot.get(table_, key(0), value), Outcome::kOk);
  EXPECT_EQ(left.put(table_, key(0), "behind the bodies"), Outcome::kOk);
  EXPECT_TRUE(left.commit().committed());
}

TEST_P(Turns, OthersRunWhenABodySaysSo) {
  if (!takes_turns()) GTEST_SKIP() << asked_protocol.name << " runs bodies one after the other";
  std::string order;
  worker_.run_together(3, [&](std::size_t i) {
    for (int turn = 0; turn < 2; ++turn) {
      order += static_cast<char>('a' + i);
      worker_.let_others_run();
    }
  });
  EXPECT_EQ(order, "abcabc");
  worker_.let_others_run();  // outside of bodies: nothing happens
}

TEST_P(Turns, GoOnInAThreadThatTakesTheWorkerOver) {
  std::vector<RunResult> results(20);
  const auto add_one = [&](std::size_t i, Transaction& t) { (void)add(t, static_cast<int>(i) % kKeys); };
  worker_.run_many(results, add_one);
  std::thread([&] {
    worker_.attach_thread();
    worker_.run_many(results, add_one);
  }).join();
  worker_.attach_thread();
  worker_.run_many(results, add_one);
  int sum = 0;
  for (int i = 0; i < kKeys; ++i) sum += count(i);
  EXPECT_EQ(sum, 60);
}

TEST_P(Turns, OfAnotherThreadsWorkerDoNothing) {
  EXPECT_TRUE(worker_.run([&](Transaction& t) { (void)add(t, 2); }));
  std::array<RunResult, 2> results;
  std::thread([&] { worker_.run_many(results, [&](std::size_t, Transaction& t) { (void)add(t, 2); }); }).join();
  for (const RunResult& result : results) EXPECT_FALSE(result.committed());
  EXPECT_EQ(count(2), 1);
}

}  // namespace
}  // namespace granary::tests
