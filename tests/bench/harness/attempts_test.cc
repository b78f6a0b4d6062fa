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

}  // namespace
}  // namespace granary::bench
