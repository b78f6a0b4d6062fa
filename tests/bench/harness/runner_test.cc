// The runner on a workload whose figures are known. Does not cover the overhead of measuring.

#include "bench/harness/runner.h"

#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

#include "bench/harness/progress.h"
#include "tests/bench/harness/fake_workload.h"

namespace granary::bench {
namespace {

RunPlan short_plan() { return {.workers = 2, .seconds = 0.3, .warmup_seconds = 0.2, .pin = false, .progress = false}; }

Result<Measurement> run(FakeWorkload& workload, const RunPlan& plan) {
  StopSignals signals;
  return measure(workload, plan, base::TscClock::calibrated(), signals);
}

TEST(Runner, MeasuresTheTimeItWasGivenAndLeavesOutTheWarmUp) {
  FakeWorkload workload;
  const auto result = run(workload, short_plan());
  ASSERT_TRUE(result.ok());
  EXPECT_GE(result->seconds(), 0.3);
  EXPECT_LT(result->seconds(), 0.6);
  const TypeResult total = result->total();
  EXPECT_GT(total.finished(), 100u);
  EXPECT_LT(total.finished(), static_cast<std::uint64_t>(2 * result->seconds() / 100e-6) + 4);
  EXPECT_EQ(total.aborted(), total.finished()) << "each request has one failed attempt, warm-up excluded";
  EXPECT_EQ(total.aborts[static_cast<std::size_t>(AbortReason::kReadChanged)], total.aborted());
  EXPECT_NEAR(static_cast<double>(total.rolled_back) / static_cast<double>(total.finished()), 0.1, 0.02);
  EXPECT_FALSE(result->interrupted);
}

TEST(Runner, TellsTypesApart) {
  FakeWorkload workload;
  const auto result = run(workload, short_plan());
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->types.size(), 2u);
  EXPECT_EQ(result->types[1].name, "odd");
  EXPECT_EQ(result->types[1].rolled_back, 0u);
  EXPECT_GT(result->types[0].rolled_back, 0u);
  EXPECT_NEAR(static_cast<double>(result->types[0].finished()), static_cast<double>(result->types[1].finished()), 4);
}

/// A workload that notes how many requests there were at each look at the run: at the end of the warm-up and of the
/// measurement, if they are short.
class CountedWorkload final : public FakeWorkload {
 public:
  void observe(const Sample& sample) override {
    FakeWorkload::observe(sample);
    requests.push_back(figures().log_entries);
  }
  std::vector<std::uint64_t> requests;
};

/// The runner may lose its processor between its look at the figures and the beginning, or the end, of the measurement.
/// So they count a few requests more than the measurement has, but none of those before the end of the warm-up.
TEST(Runner, LeavesTheWarmUpOutOfWhatTheStoreAndTheClusterCount) {
  CountedWorkload workload;
  const auto result = run(workload, short_plan());
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(workload.requests.size(), 2u);
  const std::uint64_t warm_up = workload.requests[0], measured = result->samples.back().requests;
  EXPECT_GT(warm_up, result->loaded.log_entries + 100);
  EXPECT_GE(result->baseline().log_entries, warm_up);
  EXPECT_GE(result->store.log_entries - result->baseline().log_entries, measured);
  ASSERT_TRUE(result->cluster);
  EXPECT_GE(result->cluster->attempts, measured);
  EXPECT_LE(result->cluster->attempts, workload.figures().log_entries - warm_up);
}

TEST(Runner, CountsTheTransactionsOfRequests) {
  FakeWorkload workload;
  const auto result = run(workload, short_plan());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->types[0].transactions, result->types[0].finished()) << "warm-up excluded";
  EXPECT_EQ(result->types[1].transactions, 3 * result->types[1].finished());
  EXPECT_EQ(Request({.ending = Ending::kGaveUp, .transactions_before = 6}).transactions(), 6u);
  EXPECT_EQ(Request({.ending = Ending::kTooLong}).transactions(), 0u);
}

/// The line of each second counts as the table at the end does.
TEST(Runner, CountsAbortsOfASecondAmongItsTransactions) {
  FakeWorkload workload;
  const auto result = run(workload, short_plan());
  ASSERT_TRUE(result.ok());
  const Sample& last = result->samples.back();
  ASSERT_GT(last.seconds, 0);
  EXPECT_NEAR(abort_share(last), abort_share(result->total()), 0.05);
}

TEST(Runner, LatenciesAreThoseOfTheRequests) {
  for (const std::uint64_t sample : {1u, 4u}) {
    FakeWorkload workload;
    RunPlan plan = short_plan();
    plan.latency_sample = sample;
    const auto result = run(workload, plan);
    ASSERT_TRUE(result.ok());
    const TypeResult total = result->total();
    EXPECT_GE(result->microseconds(static_cast<double>(total.latency.min())), 99);
    EXPECT_GE(result->percentile_us(total, 50), 100);
    EXPECT_LT(result->percentile_us(total, 50), 20000);
    const double expected = static_cast<double>(total.finished()) / static_cast<double>(sample);
    EXPECT_NEAR(static_cast<double>(total.latency.count()), expected, 4);
  }
}

TEST(Runner, SamplesWarmUpAndMeasurement) {
  FakeWorkload workload;
  RunPlan plan = short_plan();
  plan.seconds = 1.2;
  const auto result = run(workload, plan);
  ASSERT_TRUE(result.ok());
  ASSERT_GE(result->samples.size(), 2u);
  EXPECT_LE(result->samples.front().seconds, 0.001);
  EXPECT_GT(result->samples.back().seconds, 0.9);
  EXPECT_GT(result->samples.back().resident_bytes, 0u);
  EXPECT_EQ(result->samples.back().store.records_bytes, 1000u);
  EXPECT_EQ(workload.observed.size(), result->samples.size());
}

/// A workload whose process is told to end once something has been measured.
class InterruptedWorkload final : public FakeWorkload {
 public:
  void observe(const Sample& sample) override {
    FakeWorkload::observe(sample);
    if (sample.seconds > 0 && sample.requests > 0) kill(getpid(), SIGTERM);
  }
};

TEST(Runner, ASignalEndsTheMeasurementEarlyAndKeepsWhatWasMeasured) {
  InterruptedWorkload workload;
  RunPlan plan = short_plan();
  plan.seconds = 60;
  const auto result = run(workload, plan);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_LT(result->seconds(), 5);
  EXPECT_GT(result->total().finished(), 0u);
}

TEST(Runner, AWorkerThatCannotStartEndsTheRun) {
  FakeWorkload workload;
  workload.refused_worker = 1;
  const auto result = run(workload, short_plan());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "no client for this worker");
}

}  // namespace
}  // namespace granary::bench
