// What a clock writes to softtime: jumps, sources without a bound, threads that come late; and the thread that drives
// it.

#include "cluster_config/clock/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/clock/clock_thread.h"
#include "cluster_config/clock/host_source.h"
#include "cluster_config/clock/manual_source.h"
#include "cluster_config/clock/open_source.h"

namespace granary::cluster_config::clock {
namespace {

constexpr std::uint64_t kSourceDelta = 100;
constexpr std::uint64_t kHold = 2'000'000;
constexpr std::int64_t kHourOfUs = 3'600'000'000;

class ClockTest : public testing::Test {
 protected:
  ClockTest() { step(); }

  /// A millisecond later.
  void step() { step_after(1'000); }
  void step_after(std::uint64_t us) {
    time_ns_ += us * 1000;
    clock_.step(time_ns_ / 1000);
  }
  void steps_for(std::uint64_t us) {
    for (std::uint64_t passed = 0; passed < us; passed += 1'000) step();
  }
  bool known() const { return clock_.time().read().known; }
  std::uint64_t now_us() const { return clock_.time().read().now_us; }

  std::atomic<std::uint64_t> time_ns_{1'000'000'000};
  ManualSource* source_ = new ManualSource(time_ns_, 0, Bound::within(kSourceDelta));
  Clock clock_{std::unique_ptr<TimeSource>(source_), base::TscClock::simulated(time_ns_), {.hold_us = kHold}};
};

TEST_F(ClockTest, TellsTheTimeAndItsBound) {
  ASSERT_TRUE(known());
  EXPECT_EQ(now_us(), time_ns_ / 1000);
  const ClockReport report = clock_.report();
  EXPECT_EQ(report.state, ClockState::kSynchronized);
  EXPECT_EQ(report.delta_us, kSourceDelta);
  EXPECT_EQ(report.age_us, 0u);
  EXPECT_EQ(clock_.time().read().error_us, kSourceDelta + report.reading_error_us);
  EXPECT_LE(report.reading_error_us, 50u) << "or short leases are worth nothing";
}

TEST(NoClock, NeverHasABound) {
  auto source = open_source({.kind = ClockKind::kNone});
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE((*source)->bound((*source)->time_us()).delta_us);
  Clock clock(std::move(*source), base::TscClock::calibrated());
  clock.step(1'000);
  EXPECT_FALSE(clock.time().read().known);
  EXPECT_EQ(clock.report().state, ClockState::kNoBound);
}

TEST_F(ClockTest, WithoutABoundThereIsNoTime) {
  source_->set_bound(Bound::none("no card"));
  step();
  EXPECT_FALSE(known());
  EXPECT_EQ(clock_.report().state, ClockState::kNoBound);
  EXPECT_EQ(clock_.report().cause, "no card");
  source_->set_bound(Bound::within(kSourceDelta));
  step();
  EXPECT_TRUE(known());
}

TEST_F(ClockTest, AClockThatNobodyStepsIsStale) {
  time_ns_ += 11'000'000;
  EXPECT_FALSE(known());
  EXPECT_EQ(clock_.report().state, ClockState::kStale);
  EXPECT_EQ(clock_.report().age_us, 11'000u);
  step();
  EXPECT_TRUE(known()) << "late, but it is the same clock";
}

TEST_F(ClockTest, BeingStoppedForLongIsNoJump) {
  step_after(kHourOfUs);
  EXPECT_TRUE(known());
  EXPECT_EQ(clock_.report().jumps, 0u);
}

class Jumps : public ClockTest, public testing::WithParamInterface<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(ForwardAndBack, Jumps, testing::Values(kHourOfUs, -kHourOfUs, 100'000, -100'000, 100, -100));

/// Until the step that finds out, readers count on by the counter; from then on there is no time.
TEST_P(Jumps, AreSeenBeforeTheyAreBelieved) {
  const std::uint64_t before = now_us();
  source_->set_skew(GetParam());
  time_ns_ += 500'000;
  EXPECT_EQ(now_us(), before + 500);
  step();
  EXPECT_FALSE(known());
  EXPECT_EQ(clock_.report().state, ClockState::kJumped);
  EXPECT_EQ(clock_.report().jumps, 1u);
  steps_for(kHold - 10'000);
  EXPECT_FALSE(known());
  steps_for(20'000);
  EXPECT_TRUE(known());
  EXPECT_EQ(now_us(), time_ns_ / 1000 + static_cast<std::uint64_t>(GetParam()));
}

TEST_P(Jumps, HoldTheTimeBackFromTheLast) {
  source_->set_skew(GetParam());
  steps_for(kHold / 2);
  source_->set_skew(0);
  steps_for(kHold - 10'000);
  EXPECT_FALSE(known());
  EXPECT_EQ(clock_.report().jumps, 2u);
}

TEST_F(ClockTest, SlewingIsNoJump) {
  for (int i = 1; i < 100; ++i) {
    source_->set_skew(500 * i);  // 500 ppm
    step_after(1'000'000);
    ASSERT_TRUE(known());
    ASSERT_EQ(clock_.report().jumps, 0u);
  }
}

/// By 0.9 % the clock gains less than a step may between any two steps, but more than readings allow for while the
/// thread is late.
TEST_F(ClockTest, ASlewThatEachStepAllowsIsNoticed) {
  for (int i = 1; i <= 100; ++i) {
    source_->set_skew(9 * i);
    step();
  }
  time_ns_ += 9'000'000;
  source_->set_skew(9 * 100 + 81);
  const std::uint64_t told = source_->time_us();
  const base::TimeReading reading = clock_.time().read();
  const std::uint64_t off = told > reading.now_us ? told - reading.now_us : reading.now_us - told;
  EXPECT_TRUE(!reading.known || off <= clock_.report().reading_error_us / 2) << "off by " << off << " us";
}

/// Two steps in a row may each be as large as one may be, but both are more than readings allow for.
TEST_F(ClockTest, TwoSmallStepsAreAJump) {
  steps_for(50'000);
  source_->set_skew(9);
  step();
  EXPECT_TRUE(known());
  source_->set_skew(18);
  step();
  EXPECT_FALSE(known());
  EXPECT_EQ(clock_.report().jumps, 1u);
  steps_for(50'000);
  EXPECT_EQ(clock_.report().jumps, 1u) << "what was read before the jump counts no more";
}

/// Disturbed readings are off in either direction, and never by so much that the next one shows more than a step may
/// be.
TEST_F(ClockTest, ReadingsThatAreOffAreNoSlew) {
  for (int i = 0; i < 200; ++i) {
    source_->set_skew(i % 3 == 0 ? 9 : 0);
    step();
    ASSERT_TRUE(known());
  }
  EXPECT_EQ(clock_.report().jumps, 0u);
}

/// By 0.05 % it stays within what two readings may be off and what counters drift, however long that goes on.
TEST_F(ClockTest, ASlewOfASystemThatKeepsItsClockIsNoJump) {
  for (int i = 1; i <= 1'000; ++i) {
    source_->set_skew(i / 2);
    step();
    ASSERT_TRUE(known());
  }
  EXPECT_EQ(clock_.report().jumps, 0u);
}

class ForgottenSource final : public TimeSource {
 public:
  explicit ForgottenSource(bool& forgotten) : forgotten_(forgotten) {}
  std::uint64_t time_us() override { return time_us_ += 1'000'000; }
  Bound bound(std::uint64_t) override { return Bound::within(1); }
  void forget() override { forgotten_ = true; }

 private:
  bool& forgotten_;
  std::uint64_t time_us_ = 0;
};

TEST_F(ClockTest, AJumpMakesTheSourceForget) {
  bool forgotten = false;
  Clock clock(std::make_unique<ForgottenSource>(forgotten), base::TscClock::simulated(time_ns_));
  clock.step(0);
  EXPECT_FALSE(forgotten);
  clock.step(1);
  EXPECT_TRUE(forgotten);
}

/// By as much as it may drift in the time, which is more than leases allow for.
TEST_F(ClockTest, ASmallStepWhileTheProcessWasStoppedMakesTheSourceForget) {
  bool forgotten = false;
  auto* const source = new ForgottenSource(forgotten);
  Clock clock(std::unique_ptr<TimeSource>(source), base::TscClock::simulated(time_ns_));
  clock.step(0);
  time_ns_ += 1'000'000'000;
  clock.step(1'000'000);
  EXPECT_FALSE(forgotten) << "it was on time";
  time_ns_ += 1'000'400'000;
  clock.step(2'000'400);
  EXPECT_TRUE(forgotten);
  EXPECT_EQ(clock.report().jumps, 0u);
}

TEST(ClockThread, KeepsTheTimeOfTheHost) {
  Result<std::unique_ptr<HostSource>> source = HostSource::open();
  ASSERT_TRUE(source.ok()) << source.status().message();
  Clock clock(std::move(*source), base::TscClock::calibrated(), {.max_age_us = 1'000'000});
  const std::unique_ptr<HostSource> host = std::move(*HostSource::open());
  const ClockThread thread(clock);
  while (!clock.time().read().known) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = host->time_us();
    const base::TimeReading reading = clock.time().read();
    const std::uint64_t after = host->time_us();
    ASSERT_TRUE(reading.known);
    EXPECT_GE(reading.now_us + reading.error_us, before);
    EXPECT_LE(reading.now_us, after + reading.error_us);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(clock.report().jumps, 0u);
  EXPECT_EQ(clock.report().delta_us, 0u);
}

}  // namespace
}  // namespace granary::cluster_config::clock
