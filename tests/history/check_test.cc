// The judge is judged: every anomaly, made by hand, must be found under its own name, and good histories must pass.

#include "bench/append/history/check.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/history/history_builder.h"
#include "tests/support/seeds.h"

namespace granary::bench::history {
namespace {

constexpr Key kX = 1, kY = 2;

void expect_only(const HistoryBuilder& builder, std::initializer_list<Anomaly> wanted, bool strict = true) {
  const Verdict verdict = check(builder.history(), {.strict = strict});
  for (const Anomaly anomaly : wanted)
    EXPECT_TRUE(verdict.has(anomaly)) << name(anomaly) << " not found; " << verdict.text();
  for (const Found& one : verdict.found) {
    EXPECT_NE(std::find(wanted.begin(), wanted.end(), one.anomaly), wanted.end()) << "unexpected: " << verdict.text();
  }
}

TEST(HistoryCheck, EmptyAndSerialHistoriesAreValid) {
  expect_only(HistoryBuilder(), {});
  HistoryBuilder serial;
  serial.run({a(kX, 1), r(kX, {1})}).run({r(kX, {1}), a(kX, 2), a(kY, 1)}).run({r(kX, {1, 2}), r(kY, {1})});
  expect_only(serial, {});
  EXPECT_EQ(check(serial.history()).elements, 3u);
}

TEST(HistoryCheck, WithoutACommittedWriteThereIsNothingToJudge) {
  HistoryBuilder builder;
  EXPECT_FALSE(check(builder.history()).valid());
  builder.run({a(kX, 1)}, EventType::kFail).run({a(kX, 2)}, EventType::kInfo).run({r(kX, {})});
  expect_only(builder, {});
  EXPECT_FALSE(check(builder.history()).valid());
  EXPECT_NE(check(builder.history()).text().find("NOTHING TO JUDGE"), std::string::npos);
  builder.run({a(kX, 3)});
  EXPECT_TRUE(check(builder.history()).valid());
}

TEST(HistoryCheck, MalformedHistoriesAreToldFromWrongOnes) {
  History history = HistoryBuilder().run({a(kX, 1)}).history();
  history.push_back(history.back());  // a completion without an invocation
  EXPECT_TRUE(check(history).malformed()) << check(history).text();
  EXPECT_FALSE(check(HistoryBuilder().run({a(kX, 1)}).run({r(kX, {})}).history()).malformed());
}

/// A last element tells the version as a whole list does.
TEST(HistoryCheck, LastElements) {
  HistoryBuilder good;
  good.run({last(kX, 0), a(kX, 1), last(kX, 1)}).run({a(kX, 2)}).run({last(kX, 2), r(kX, {1, 2})}).run({a(kX, 3)});
  expect_only(good, {});
  EXPECT_TRUE(check(good.history()).valid());
  expect_only(HistoryBuilder().run({a(kX, 1), last(kX, 2)}).run({r(kX, {1})}),
              {Anomaly::kInternal, Anomaly::kUnknownElement});
  expect_only(HistoryBuilder().run({a(kX, 1)}).run({a(kX, 2)}).run({r(kX, {1, 2}), last(kX, 1)}),
              {Anomaly::kInternal, Anomaly::kGSingle}, false);
  expect_only(HistoryBuilder().run({a(kX, 1)}, EventType::kFail).run({last(kX, 1)}), {Anomaly::kG1a});
  expect_only(HistoryBuilder().run({a(kX, 1)}).run({last(kX, 5)}), {Anomaly::kUnknownElement});
}

TEST(HistoryCheck, LastElementsShowCycles) {
  // Stale by real time alone.
  expect_only(HistoryBuilder().run({a(kX, 1)}).run({a(kX, 2)}).run({last(kX, 1)}).run({r(kX, {1, 2})}),
              {Anomaly::kGSingleRealTime});
  expect_only(
      HistoryBuilder().overlap({{last(kX, 0), a(kY, 1)}, {last(kY, 0), a(kX, 1)}}).run({r(kX, {1}), r(kY, {1})}),
      {Anomaly::kG2Item});
  expect_only(HistoryBuilder().overlap({{a(kX, 1), a(kX, 2)}, {last(kX, 1)}}).run({r(kX, {1, 2})}),
              {Anomaly::kG1b, Anomaly::kGSingle});
  expect_only(HistoryBuilder()
                  .run({a(kX, 1)})
                  .overlap({{last(kX, 1), a(kX, 2)}, {last(kX, 1), a(kX, 3)}})
                  .run({r(kX, {1, 2, 3})}),
              {Anomaly::kLostUpdate, Anomaly::kGSingle});
}

/// Returns the history with process processes[i] in the place of process i.
History run_by(std::initializer_list<std::uint64_t> processes, const HistoryBuilder& builder) {
  History history = builder.history();
  for (Event& event : history) event.process = processes.begin()[event.process];
  return history;
}

TEST(HistoryCheck, SessionsKeepTheirOwnOrder) {
  constexpr CheckOptions kSerializable{.strict = false}, kSessions{.strict = false, .sessions = true};
  // The second transaction has not seen what the first one wrote; nor has the fourth what the third one saw.
  HistoryBuilder stale_own, stale_seen;
  stale_own.run({a(kX, 1)}).run({r(kX, {})}).run({r(kX, {1})});
  EXPECT_TRUE(check(run_by({0, 0, 1}, stale_own), kSessions).has(Anomaly::kGSingleRealTime));
  EXPECT_TRUE(check(run_by({0, 1, 0}, stale_own), kSessions).valid()) << "two sessions";
  EXPECT_TRUE(check(run_by({0, 0, 1}, stale_own), kSerializable).valid());
  stale_seen.run({a(kX, 1)}).run({r(kX, {1})}).run({a(kY, 1)}).run({r(kX, {})});
  EXPECT_TRUE(check(run_by({0, 1, 2, 1}, stale_seen), kSessions).has(Anomaly::kGSingleRealTime));
  EXPECT_TRUE(check(run_by({0, 1, 2, 2}, stale_seen), kSessions).valid());
}

TEST(HistoryCheck, OverlappingTransactionsMayTakeAnyOrder) {
  expect_only(HistoryBuilder().overlap({{r(kX, {1}), a(kY, 1)}, {a(kX, 1)}, {r(kX, {}), r(kY, {})}}), {});
}

TEST(HistoryCheck, AbortedAndUnknownTransactionsAreNoAnomaly) {
  HistoryBuilder builder;
  builder.run({a(kX, 1)}, EventType::kFail).run({a(kX, 2)}, EventType::kInfo).run({a(kX, 3)}, EventType::kInfo);
  builder.begin({a(kX, 4)});  // never completes
  builder.run({r(kX, {3})}).run({r(kX, {3, 4, 2})});
  expect_only(builder, {});
}

TEST(HistoryCheck, G0DirtyWrite) {
  expect_only(
      HistoryBuilder().overlap({{a(kX, 1), a(kY, 1)}, {a(kX, 2), a(kY, 2)}}).run({r(kX, {1, 2}), r(kY, {2, 1})}),
      {Anomaly::kG0});
}

TEST(HistoryCheck, G0WhenOneTransactionsAppendsAreSplit) {
  EXPECT_TRUE(check(HistoryBuilder().overlap({{a(kX, 1), a(kX, 2)}, {a(kX, 3)}}).run({r(kX, {1, 3, 2})}).history())
                  .has(Anomaly::kG0));
}

TEST(HistoryCheck, G1aAbortedRead) {
  expect_only(HistoryBuilder().run({a(kX, 1)}, EventType::kFail).run({r(kX, {1})}), {Anomaly::kG1a});
}

TEST(HistoryCheck, G1bIntermediateRead) {
  HistoryBuilder builder;
  builder.overlap({{a(kX, 1), a(kX, 2)}, {r(kX, {1})}}).run({r(kX, {1, 2})});
  EXPECT_TRUE(check(builder.history()).has(Anomaly::kG1b));
}

TEST(HistoryCheck, G1cCircularInformationFlow) {
  expect_only(HistoryBuilder().overlap({{a(kX, 1), r(kY, {1})}, {a(kY, 1), r(kX, {1})}}), {Anomaly::kG1c});
}

TEST(HistoryCheck, LostUpdate) {
  HistoryBuilder builder;
  builder.overlap({{r(kX, {}), a(kX, 1)}, {r(kX, {}), a(kX, 2)}}).run({r(kX, {1, 2})});
  expect_only(builder, {Anomaly::kLostUpdate, Anomaly::kGSingle});
}

TEST(HistoryCheck, GSingleReadSkew) {
  HistoryBuilder builder;
  builder.overlap({{r(kX, {}), r(kY, {1})}, {a(kX, 1), a(kY, 1)}}).run({r(kX, {1})});
  expect_only(builder, {Anomaly::kGSingle});
}

TEST(HistoryCheck, G2ItemWriteSkew) {
  HistoryBuilder builder;
  builder.overlap({{r(kX, {}), a(kY, 1)}, {r(kY, {}), a(kX, 1)}}).run({r(kX, {1}), r(kY, {1})});
  expect_only(builder, {Anomaly::kG2Item});
}

TEST(HistoryCheck, LongFork) {
  HistoryBuilder builder;
  builder.overlap({{a(kX, 1)}, {a(kY, 1)}, {r(kX, {1}), r(kY, {})}, {r(kX, {}), r(kY, {1})}});
  expect_only(builder, {Anomaly::kG2Item});
}

TEST(HistoryCheck, FeketeReadOnlyAnomaly) {
  HistoryBuilder builder;
  const auto t2 = builder.begin({r(kX, {}), r(kY, {}), a(kX, 1)});
  builder.run({r(kY, {}), a(kY, 1)}).run({r(kX, {}), r(kY, {1})});
  builder.end(t2);
  builder.run({r(kX, {1})});
  expect_only(builder, {Anomaly::kG2Item}, false);
}

TEST(HistoryCheck, IncompatibleOrders) {
  HistoryBuilder builder;
  builder.overlap({{a(kX, 1)}, {a(kX, 2)}}).overlap({{r(kX, {1, 2})}, {r(kX, {2})}});
  expect_only(builder, {Anomaly::kIncompatibleOrder});
}

TEST(HistoryCheck, DuplicateElement) {
  EXPECT_TRUE(check(HistoryBuilder().run({a(kX, 1)}).run({r(kX, {1, 1})}).history()).has(Anomaly::kDuplicateElement));
}

TEST(HistoryCheck, UnknownElement) { expect_only(HistoryBuilder().run({r(kX, {7})}), {Anomaly::kUnknownElement}); }

TEST(HistoryCheck, MissingElement) {
  const HistoryBuilder builder = HistoryBuilder().run({a(kX, 1)}).run({a(kX, 2)}).run({r(kX, {1})});
  expect_only(builder, {Anomaly::kMissingElement});
  expect_only(builder, {}, false);  // a stale read is serializable
}

TEST(HistoryCheck, InternalInconsistency) {
  expect_only(HistoryBuilder().run({a(kX, 1), r(kX, {})}), {Anomaly::kInternal});
  HistoryBuilder twice;
  twice.overlap({{r(kX, {}), r(kX, {1})}, {a(kX, 1)}});
  EXPECT_TRUE(check(twice.history()).has(Anomaly::kInternal));
}

TEST(HistoryCheck, StaleReadIsSerializableButNotStrict) {
  const HistoryBuilder builder = HistoryBuilder().run({a(kX, 1)}).run({r(kX, {})}).run({r(kX, {1})});
  expect_only(builder, {Anomaly::kGSingleRealTime});
  expect_only(builder, {}, false);
}

TEST(HistoryCheck, WritesAgainstRealTime) {
  expect_only(HistoryBuilder().run({a(kX, 1)}).run({a(kX, 2)}).run({r(kX, {2, 1})}), {Anomaly::kG0RealTime});
}

TEST(HistoryCheck, ReadFromTheFuture) {
  HistoryBuilder builder;
  const auto early = builder.begin({a(kY, 1), r(kX, {1})});
  builder.end(early);
  builder.run({a(kX, 1)});
  expect_only(builder, {Anomaly::kG1cRealTime});
}

TEST(HistoryCheck, WriteSkewAcrossRealTime) {
  // T0 saw nothing of x although T1, which wrote it, was over; T2 likewise with y: two rw and two real-time steps.
  HistoryBuilder builder;
  const auto t1 = builder.begin({a(kX, 1)});
  const auto t3 = builder.begin({a(kY, 1)});
  builder.end(t1);
  const auto t2 = builder.begin({r(kY, {})});
  builder.end(t3);
  const auto t0 = builder.begin({r(kX, {})});
  builder.end(t2);
  builder.end(t0);
  builder.run({r(kX, {1}), r(kY, {1})});
  EXPECT_FALSE(check(builder.history()).valid());
}

TEST(HistoryCheck, MalformedHistories) {
  EXPECT_TRUE(check(HistoryBuilder().run({a(kX, 1)}).run({a(kX, 1)}).history()).has(Anomaly::kMalformed));
  EXPECT_TRUE(check({{EventType::kOk, 0, 1, {}}}).has(Anomaly::kMalformed));
  EXPECT_TRUE(check({{EventType::kInvoke, 0, 1, {}}, {EventType::kInvoke, 0, 2, {}}}).has(Anomaly::kMalformed));
}

TEST(HistoryCheck, PrintsAShortestCycle) {
  HistoryBuilder builder;
  for (Element i = 1; i <= 50; ++i) builder.run({a(3, i)});  // a long chain that is not part of it
  builder.overlap({{r(kX, {}), a(kY, 1)}, {r(kY, {}), a(kX, 1)}}).run({r(kX, {1}), r(kY, {1})});
  const std::string text = check(builder.history()).text();
  EXPECT_NE(text.find("T50 did not see [rw 1 of key 1] T51 did not see [rw 1 of key 2] T50"), std::string::npos)
      << text;
}

/// A serial execution, whose transactions are stretched in time so that they overlap, is always valid; the same with
/// one read made stale is not.
TEST(HistoryCheck, RandomSerialExecutionsPassAndOneStaleReadFails) {
  for (const std::uint64_t seed : tests::seeds(30, 0)) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<std::vector<Element>> lists(4);
    HistoryBuilder builder;
    for (int i = 0; i < 300; ++i) {
      HistoryBuilder::Ops ops;
      for (unsigned op = 0; op <= random() % 5; ++op) {
        const Key key = static_cast<Key>(random() % lists.size());
        auto& list = lists[static_cast<std::size_t>(key)];
        if (random() % 2 == 0) {
          list.push_back(static_cast<Element>(list.size()) + 1);
          ops.push_back(a(key, list.back()));
        } else {
          ops.push_back(r(key, list));
        }
      }
      if (ops.empty()) continue;
      builder.run(std::move(ops));
    }
    for (std::size_t key = 0; key < lists.size(); ++key) builder.run({r(static_cast<Key>(key), lists[key])});
    ASSERT_TRUE(check(builder.history()).valid()) << check(builder.history()).text();
    History stale = builder.history();
    MicroOp& last = stale.back().ops.front();
    last.list.pop_back();
    EXPECT_FALSE(check(stale).valid()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace granary::bench::history
