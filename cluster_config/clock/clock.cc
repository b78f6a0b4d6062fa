#include "cluster_config/clock/clock.h"

#include <algorithm>
#include <cmath>

namespace granary::cluster_config::clock {
namespace {

/// If two readings of the counter are further apart, the reading of the source between them was disturbed.
constexpr double kMostWidthNs = 10'000;
constexpr int kLooks = 8;
/// The rate at which time and counter may drift apart: 500 ppm, by which systems slew their clocks, and the counter's
/// own error.
constexpr double kDrift = 600e-6;
/// The error of two readings, in addition to the drift.
constexpr double kJitterUs = 10;

double allowed_us(double elapsed_us) { return kJitterUs + elapsed_us * kDrift; }

/// Returns the greatest error of one node's readings: a jump or a slew that goes unnoticed while a reading ages, and
/// the rounding.
std::uint64_t reading_error_us(std::uint64_t max_age_us) {
  return 2 * static_cast<std::uint64_t>(std::ceil(allowed_us(static_cast<double>(max_age_us)) + 1));
}

}  // namespace

std::string_view name(ClockState state) {
  switch (state) {
    case ClockState::kSynchronized: return "synchronized";
    case ClockState::kNoBound: return "no bound known";
    case ClockState::kJumped: return "jumped";
    case ClockState::kStale: return "stale";
  }
  return "";
}

Clock::Clock(std::unique_ptr<TimeSource> source, const base::TscClock& ticks, const ClockOptions& options)
    : options_(options),
      source_(std::move(source)),
      time_(ticks, options.max_age_us, options.longest_lease_us) {
  report_.reading_error_us = reading_error_us(options.max_age_us);
}

void Clock::step(std::uint64_t now_us) {
  const std::optional<Moment> now = look();
  if (!now) return;  // the time that was written before counts on, as long as it may
  if (was_set(*now)) {
    time_.jump();
    hold_until_us_ = now_us + options_.hold_us;
    source_->forget();
    looks_.clear();
    const std::lock_guard lock(mutex_);
    ++report_.jumps;
  } else if (!looks_.empty() &&
             since(looks_.back(), *now).apart_us > allowed_us(static_cast<double>(options_.max_age_us))) {
    source_->forget();  // there was no look for long, in which the clock may have drifted, or have been set
  }
  remember(*now);
  write(*now, source_->bound(now_us), now_us < hold_until_us_);
}

/// Reads source and counter together. It takes the first tight one of several tries, so it does no harm if this thread
/// has to wait for its processor within a try.
std::optional<Clock::Moment> Clock::look() {
  const base::TscClock& ticks = time_.ticks();
  for (int attempt = 0; attempt < kLooks; ++attempt) {
    const std::uint64_t before = ticks.ticks();
    const std::uint64_t time_us = source_->time_us();
    const std::uint64_t width = ticks.ticks() - before;
    if (ticks.nanoseconds(width) <= kMostWidthNs) return Moment{time_us, before + width / 2};
  }
  return {};
}

Clock::Passed Clock::since(const Moment& then, const Moment& now) const {
  if (base::injected("ignore-clock-jump")) return {};
  const double counted_us = time_.ticks().nanoseconds(now.ticks - then.ticks) / 1000;
  const auto told_us = static_cast<double>(static_cast<std::int64_t>(now.time_us - then.time_us));
  return {.counted_us = counted_us, .apart_us = std::abs(told_us - counted_us)};
}

/// Whether the clock was set, or slewed faster than systems do. Two readings may differ by their jitter once for all
/// the time between them. If only the last look were compared, a clock could gain that much at each step.
bool Clock::was_set(const Moment& now) const {
  return std::any_of(looks_.begin(), looks_.end(), [&](const Moment& then) {
    const Passed passed = since(then, now);
    return passed.apart_us > allowed_us(passed.counted_us);
  });
}

void Clock::remember(const Moment& now) {
  const auto is_old = [&](const Moment& then) {
    return time_.ticks().nanoseconds(now.ticks - then.ticks) / 1000 >= static_cast<double>(options_.max_age_us);
  };
  looks_.push_back(now);
  while (looks_.size() > 1 && is_old(looks_[1])) looks_.pop_front();
}

void Clock::write(const Moment& now, const Bound& bound, bool held) {
  const std::lock_guard lock(mutex_);
  report_.state = held ? ClockState::kJumped : bound.delta_us ? ClockState::kSynchronized : ClockState::kNoBound;
  report_.cause = held ? "the clock was set; it counts again after a while without jumps" : bound.cause;
  report_.delta_us = bound.delta_us.value_or(0);
  if (report_.state == ClockState::kSynchronized) {
    time_.write(now.time_us, now.ticks, report_.delta_us + report_.reading_error_us);
  } else {
    time_.withdraw();
  }
  written_ticks_ = now.ticks;
}

ClockReport Clock::report() const {
  const std::lock_guard lock(mutex_);
  ClockReport report = report_;
  const base::TscClock& ticks = time_.ticks();
  report.age_us = written_ticks_ ? static_cast<std::uint64_t>(ticks.nanoseconds(ticks.ticks() - *written_ticks_) / 1000)
                                 : ~std::uint64_t{0};
  if (report.age_us <= options_.max_age_us) return report;
  report.state = ClockState::kStale;
  report.cause = "the thread that keeps the time does not come to its turn";
  return report;
}

}  // namespace granary::cluster_config::clock
