// The verdict on courses of memory that are level, growing, or too short to tell.

#include "bench/soak/verdict.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/units.h"

namespace granary::bench::soak {
namespace {

using tests::kMiB;

/// `missing`: seconds of which there is no sample.
Finding judge(const std::function<std::uint64_t(int second)>& course, int seconds, const std::set<int>& missing = {}) {
  std::vector<Sample> samples;
  for (int second = -2; second <= seconds; ++second) {
    if (missing.contains(second)) continue;
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

/// Old versions wait for two seconds, say, so there are more of them where more is done, as when other programs have
/// ended.
TEST(Verdict, MemoryMayFollowTheRate) {
  constexpr double kKept = 400;
  const auto judge_at = [](const std::function<std::uint64_t(int second)>& rate, std::uint64_t leak) {
    std::vector<Sample> samples;
    for (int second = 1; second <= 60; ++second) {
      Sample sample;
      sample.seconds = second;
      sample.requests = rate(second);
      sample.resident_bytes =
          100 * kMiB + static_cast<std::uint64_t>(kKept) * sample.requests + leak * static_cast<std::uint64_t>(second);
      samples.push_back(sample);
    }
    return judge_level(
               "memory", samples, [](const Sample& sample) { return sample.resident_bytes; }, kKept)
        .holds;
  };
  const auto steady = [](int) { return std::uint64_t{100'000}; };
  const auto faster = [](int second) { return std::uint64_t{second < 40 ? 100'000u : 200'000u}; };
  const auto slower = [](int second) { return std::uint64_t{second < 40 ? 200'000u : 100'000u}; };
  for (const auto& rate : {+steady, +faster, +slower}) EXPECT_TRUE(judge_at(rate, 0));
  EXPECT_FALSE(judge_at(steady, kMiB));
  EXPECT_FALSE(judge_at(faster, kMiB));
}

/// As of the shortest run, of which a busy machine has left out some samples.
TEST(Verdict, SomeSamplesMayBeMissing) {
  for (int missing = 1; missing <= 9; ++missing) {
    EXPECT_TRUE(judge([](int) { return 500 * kMiB; }, 9, {missing}).holds) << missing;
    const auto growing = [](int second) { return (500 + 40 * static_cast<unsigned>(second + 2)) * kMiB; };
    EXPECT_FALSE(judge(growing, 9, {missing}).holds) << missing;
  }
  std::set<int> many;
  for (int second = 30; second < 59; ++second) many.insert(second);
  EXPECT_TRUE(judge([](int second) { return (second < 20 ? 100u : 500u) * kMiB; }, 60, many).holds)
      << "the thirds are those of the time";
}

TEST(Verdict, TooFewSamplesFailWithTheReason) {
  for (const std::set<int>& missing : {std::set{4, 5}, std::set{7, 8}, std::set{1, 2, 3, 4, 5, 6, 7, 8, 9}}) {
    const Finding finding = judge([](int) { return kMiB; }, 9, missing);
    EXPECT_FALSE(finding.holds);
    EXPECT_NE(finding.detail.find("at least 2 of each are needed"), std::string::npos) << finding.detail;
  }
}

}  // namespace
}  // namespace granary::bench::soak
