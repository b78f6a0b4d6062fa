// TscClock against CLOCK_MONOTONIC, both ways of reading it; and what the build says of itself.

#include "src/base/tsc_clock.h"

#include <thread>

#include <gtest/gtest.h>

#include "src/base/build_info.h"

namespace granary::base {
namespace {

void expect_true_to_time(const TscClock& clock) {
  const std::uint64_t wall_start = monotonic_ns(), start = clock.ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::uint64_t wall = monotonic_ns() - wall_start;
  const double measured = clock.nanoseconds(clock.ticks() - start);
  EXPECT_NEAR(measured / static_cast<double>(wall), 1.0, 0.02);
}

TEST(TscClock, KeepsPaceWithTheWallClock) { expect_true_to_time(TscClock::calibrated()); }
TEST(TscClock, FallbackKeepsPaceAsWell) { expect_true_to_time(TscClock::fallback()); }

TEST(TickMeter, KeepsPaceWithTheWallClock) {
  const TickMeter meter;
  EXPECT_GT(meter.nanoseconds_per_tick(), 0) << "also at once";
  const std::uint64_t wall_start = monotonic_ns(), start = meter.ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::uint64_t wall = monotonic_ns() - wall_start, ticks = meter.ticks() - start;
  const double rate = meter.nanoseconds_per_tick();
  EXPECT_NEAR(static_cast<double>(ticks) * rate / static_cast<double>(wall), 1.0, 0.02);
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
