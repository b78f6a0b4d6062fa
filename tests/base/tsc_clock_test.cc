// TscClock against CLOCK_MONOTONIC, both ways of reading it; and what the build says of itself.

#include "src/base/tsc_clock.h"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "src/base/build_info.h"

namespace granary::base {
namespace {

/// One moment, by the wall clock and in ticks.
struct Moment {
  std::uint64_t wall_ns, ticks;
};

/// Returns the reads that lie closest together of several, as the thread may lose its processor between two of them.
template <typename Clock>
Moment moment_of(const Clock& clock) {
  constexpr int kReads = 1000;
  Moment closest{};
  std::uint64_t least_ns = ~std::uint64_t{0};
  for (int i = 0; i < kReads; ++i) {
    const std::uint64_t before = monotonic_ns(), ticks = clock.ticks(), took = monotonic_ns() - before;
    if (took < least_ns) closest = {before, ticks};
    least_ns = std::min(least_ns, took);
  }
  return closest;
}

void expect_true_to_time(const TscClock& clock) {
  const Moment start = moment_of(clock);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Moment end = moment_of(clock);
  const double measured = clock.nanoseconds(end.ticks - start.ticks);
  EXPECT_NEAR(measured / static_cast<double>(end.wall_ns - start.wall_ns), 1.0, 0.02);
}

TEST(TscClock, KeepsPaceWithTheWallClock) { expect_true_to_time(TscClock::calibrated()); }
TEST(TscClock, FallbackKeepsPaceAsWell) { expect_true_to_time(TscClock::fallback()); }

TEST(TickMeter, KeepsPaceWithTheWallClock) {
  const TickMeter meter;
  EXPECT_GT(meter.nanoseconds_per_tick(), 0) << "also at once";
  const Moment start = moment_of(meter);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Moment end = moment_of(meter);
  const double rate = meter.nanoseconds_per_tick(), ticks = static_cast<double>(end.ticks - start.ticks);
  EXPECT_NEAR(ticks * rate / static_cast<double>(end.wall_ns - start.wall_ns), 1.0, 0.02);
  EXPECT_EQ(meter.nanoseconds_per_tick(), rate) << "it stays what it was once it is known";
}

TEST(BuildInfo, NamesVersionCommitAndType) {
  EXPECT_FALSE(build_info().version.empty());
  EXPECT_FALSE(build_info().commit.empty());
  EXPECT_NE(version_text().find("(commit "), std::string::npos);
  EXPECT_EQ(version_text().find('@'), std::string::npos);
}

}  // namespace
}  // namespace granary::base
