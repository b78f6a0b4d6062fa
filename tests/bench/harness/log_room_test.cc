// What would fill the disk is refused after the warm-up. The command itself: tests/cli.

#include "bench/harness/log_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/harness/fresh_database.h"
#include "bench/harness/runner.h"
#include "tests/bench/harness/fake_workload.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench {
namespace {

using testing::HasSubstr;

class LogRoom : public testing::Test {
 protected:
  LogRoom() { options_.directory = directory_ / "data"; }
  std::uint64_t share(double of_free) const {
    return static_cast<std::uint64_t>(of_free * static_cast<double>(free_bytes(directory_.path())));
  }

  tests::TemporaryDirectory directory_;
  Options options_;
};

TEST_F(LogRoom, IsNineTenthsOfWhatIsFree) {
  EXPECT_TRUE(check_log_room(options_, share(0.8), "x").ok());
  const Status refused = check_log_room(options_, share(0.95), "x");
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), testing::ContainsRegex("x needs about .*B below '.*'; .*B are free\\. Choose"));
}

TEST_F(LogRoom, IsOfTheDeviceNotOfTheDirectory) {
  options_.log_directories = {directory_ / "a", directory_ / "b"};
  EXPECT_TRUE(check_log_room(options_, share(0.8), "x").ok());
  EXPECT_FALSE(check_log_room(options_, share(0.95), "x").ok());
}

TEST_F(LogRoom, IsNeededForTwoIntervalsIfThereAreCheckpoints) {
  const LogForecast forecast{.bytes_per_second = static_cast<double>(share(0.01)), .seconds = 1000, .data_bytes = 0};
  EXPECT_FALSE(check_log_room(options_, forecast, "x").ok());
  options_.checkpoint_interval_s = 10;
  EXPECT_TRUE(check_log_room(options_, forecast, "x").ok());
  EXPECT_FALSE(check_log_room(options_, {0, 1000, share(0.5)}, "x").ok()) << "two checkpoints";
}

TEST_F(LogRoom, IsNotNeededWithoutALog) {
  options_.directory.clear();
  EXPECT_TRUE(check_log_room(options_, share(2), "x").ok());
  EXPECT_TRUE(check_log_room(options_, {1e18, 1000, 0}, "x").ok());
}

TEST_F(LogRoom, IsLookedAtAfterTheWarmUp) {
  FakeWorkload workload;
  workload.log_growth = share(0.2);
  StopSignals signals;
  RunPlan plan{.workers = 1, .seconds = 0.05, .warmup_seconds = 0.1, .pin = false, .progress = false};
  const auto run = [&] { return measure(workload, plan, base::TscClock::calibrated(), signals).status(); };
  EXPECT_TRUE(run().ok()) << "it has no log";
  plan.options = options_;
  EXPECT_TRUE(run().ok());
  workload.observed.clear();
  plan.runs_on_this_data = 100;
  const Status refused = run();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("a second, for 5 s"));
  for (const Sample& sample : workload.observed) EXPECT_LE(sample.seconds, 0) << "it was measured nevertheless";
}

}  // namespace
}  // namespace granary::bench
