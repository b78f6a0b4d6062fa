// The verdict on courses of memory that are level, growing, or too short to tell.

#include "bench/soak/verdict.h"

#include <gtest/gtest.h>

#include "tests/support/units.h"

namespace granary::bench::soak {
namespace {

using tests::kMiB;

Finding judge(const std::function<std::uint64_t(int second)>& course, int seconds) {
  std::vector<Sample> samples;
  for (int second = -2; second <= seconds; ++second) {
    Sample sample;
    sample.seconds = second;
    sample.resident_bytes = course(second);
    samples.push_back(sample);
  }
  return judge_level("memory", samples, [](const Sample& sample) { return sample.resident_bytes; });
}

TEST(Verdict, LevelMemoryPassesAlsoIfItGrewAtFirst) {
  EXPECT_TRUE(judge([](int) { return 500 * kMiB; }, 60).holds);
  EXPECT_TRUE(
      judge([](int second) { return (second < 15 ? 100u + 20u * static_cast<unsigned>(second + 2) : 500u) * kMiB; }, 60)
          .holds);
}

TEST(Verdict, SawteethPass) {
  EXPECT_TRUE(judge([](int second) { return (500 + static_cast<unsigned>(second + 10) % 5 * 20) * kMiB; }, 60).holds);
}

TEST(Verdict, SteadyGrowthFails) {
  EXPECT_FALSE(judge([](int second) { return (500 + 2 * static_cast<unsigned>(second + 2)) * kMiB; }, 60).holds);
}

TEST(Verdict, TooFewSamplesFailWithTheReason) {
  const Finding finding = judge([](int) { return kMiB; }, 5);
  EXPECT_FALSE(finding.holds);
  EXPECT_NE(finding.detail.find("at least"), std::string::npos);
}

}  // namespace
}  // namespace granary::bench::soak
