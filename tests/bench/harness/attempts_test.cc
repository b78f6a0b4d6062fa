// How a request ends whose attempts fail again and again. The session of the stores has a case of its own in
// tests/bench/store/worker_session_test.cc.

#include "bench/harness/attempts.h"

#include "tests/support/manual_database.h"

namespace granary::bench {
namespace {

using tests::ManualDatabase;

class Attempts : public testing::Test {
 protected:
  static Options options() {
    Options options = tests::manual_options();
    options.max_open_epochs = 3;
    return options;
  }
  /// A transaction that has done this has been open for too long.
  void let_epochs_pass() {
    for (int i = 0; i < 6; ++i) (void)database_->step();
  }
  template <typename Body>
  Ending run(Body&& body) {
    return run_to_end(database_.worker(), random_, aborts_, body);
  }
  std::uint64_t too_long() const { return aborts_[static_cast<std::size_t>(AbortReason::kOpenTooLong)]; }

  ManualDatabase database_{1, options()};
  const Table table_ = database_.table("t");
  base::Random random_{1};
  AbortCounts aborts_{};
};

/// The body ends by itself after many attempts, so that this test ends where the request does not.
TEST_F(Attempts, ARequestThatAlwaysTakesTooLongIsGivenUp) {
  int attempts = 0;
  const Ending ending = run([&](Transaction& t) {
    if (++attempts == 50) return t.abort();
    let_epochs_pass();
    EXPECT_EQ(t.put(table_, "k", "late"), Outcome::kAborted);
  });
  EXPECT_EQ(ending, Ending::kTooLong);
  EXPECT_TRUE(is_given_up(ending));
  EXPECT_EQ(attempts, 10);
  EXPECT_EQ(too_long(), 10u);
}

TEST_F(Attempts, ARequestThatTakesTooLongNowAndThenIsNot) {
  int attempts = 0;
  const Ending ending = run([&](Transaction& t) {
    if (++attempts < 10) let_epochs_pass();
    (void)t.put(table_, "k", "in time");
  });
  EXPECT_EQ(ending, Ending::kCommitted);
  EXPECT_EQ(attempts, 10);
  OpenTooLong counted;
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(counted.is_hopeless(AbortReason::kOpenTooLong));
    if (i % 9 == 8) {
      EXPECT_FALSE(counted.is_hopeless(AbortReason::kReadChanged));
    }
  }
}

/// The requests of a batch want each other's locks, and one that pauses holds up those that have them: they would abort
/// each other for ever, as each pause is longer than what the others do between two of them.
TEST(AttemptsInTurns, DoNotAbortEachOtherForEver) {
  constexpr int kKeys = 20, kSteps = 10;
  constexpr std::size_t kBatch = 4;
  Options options = tests::manual_options();
  options.protocol = "no_wait";
  ManualDatabase database(1, options);
  const Table table = database.table("t");
  const auto key = [](std::uint64_t number) { return "key " + std::to_string(number); };
  for (int number = 0; number < kKeys; ++number) database.put(table, key(static_cast<std::uint64_t>(number)), "v");
  Worker& worker = database.worker();
  AbortCounts aborts{};
  worker.run_together(kBatch, [&](std::size_t body) {
    base::Random random(body);
    for (int request = 0; request < 50; ++request) {
      const Ending ending = run_to_end(worker, random, aborts, [&](Transaction& t) {
        std::string value;
        for (int step = 0; step < kSteps; ++step) {
          const std::string wanted = key(random.below(kKeys));
          if (t.get(table, wanted, value) != Outcome::kOk || t.put(table, wanted, "w") != Outcome::kOk) return;
          worker.let_others_run();
        }
      });
      EXPECT_EQ(ending, Ending::kCommitted);
    }
  });
  std::uint64_t all = 0;
  for (const std::uint64_t count : aborts) all += count;
  EXPECT_LT(all, kBatch * 50 * 10) << "ten attempts a request";
}

}  // namespace
}  // namespace granary::bench
