// How the factor analysis ends by what its steps have measured. The measurements are made up; the command itself is not
// run.

#include <gtest/gtest.h>

#include "bench/factor/bars.h"

namespace granary::bench::factor {
namespace {

std::vector<Bar> measured() {
  std::vector<Bar> steps = bars(/*logged=*/false);
  for (Bar& step : steps) {
    Measurement run;
    run.elapsed_ns = 1'000'000'000;
    run.types.resize(1);
    run.types[0].committed = 1000;
    run.findings = {{"3.3.2.1", true, "fine"}};
    step.runs = {run, run};
  }
  return steps;
}

TEST(Judge, StepsThatDidAllTheirWorkAreFine) { EXPECT_EQ(judge(measured()), ExitCode::kOk); }

TEST(Judge, AStepThatRanOutOfMemoryIsTheEnvironmentsFault) {
  std::vector<Bar> steps = measured();
  steps.back().runs[1].types[0].aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)] = 1234;
  testing::internal::CaptureStderr();
  EXPECT_EQ(judge(steps), ExitCode::kEnvironment);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("+no gc: 1,234 requests were given up for want of memory"),
            std::string::npos);
}

TEST(Judge, ACheckThatFailedComesBeforeRequestsThatWereGivenUp) {
  std::vector<Bar> steps = measured();
  steps[0].runs[0].types[0].aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)] = 1;
  steps[1].runs[0].findings[0].holds = false;
  testing::internal::CaptureStderr();
  EXPECT_EQ(judge(steps), ExitCode::kCheckFailed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("+allocator: 3.3.2.1 does not hold"), std::string::npos);
}

}  // namespace
}  // namespace granary::bench::factor
