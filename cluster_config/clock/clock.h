#pragma once
// Keeps a node's clock: takes the time from its source and writes it to softtime (src/base/soft_time.h), together with
// the bound by which leases are judged (I9).
//
// Between two writes, readers count on by the time stamp counter and never look at the source's clock. So a clock that
// is set forward or back shows only in step(), before any reader relied on it: there, time has passed by the clock that
// has not passed by the counter. Then there is no time for a while, and until the source knows a bound again.
//
// A clock that is slewed gains little from one step to the next, but may gain much while a node that steps late counts
// on. So a step compares with every look of the last max_age_us, and with the one before these. No two looks as far
// apart as a reading may be old differ from the counter by more than reading_error_us allows for.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cluster_config/clock/time_source.h"
#include "src/base/soft_time.h"

namespace granary::cluster_config::clock {

struct ClockOptions {
  /// Softtime that was not written for so long does not count. Steps must come much more often.
  std::uint64_t max_age_us = 10'000;
  std::uint64_t hold_us = 2'000'000;                               ///< without jumps, before the time counts again
  std::uint64_t longest_lease_us = base::TimeReading::kUnlimited;  ///< any node's, by the cluster's settings
};

enum class ClockState : std::uint8_t { kSynchronized, kNoBound, kJumped, kStale };
std::string_view name(ClockState state);

struct ClockReport {
  ClockState state = ClockState::kStale;
  std::uint64_t delta_us = 0;          ///< if kSynchronized: the source's bound
  std::uint64_t reading_error_us = 0;  ///< how much the reading of two nodes' clocks adds to it
  std::uint64_t age_us = 0;            ///< time since softtime was written; the greatest number if it never was
  std::uint64_t jumps = 0;             ///< how many there were so far
  std::string cause{};                 ///< if not kSynchronized: why
};

class Clock {
 public:
  Clock(std::unique_ptr<TimeSource> source, const base::TscClock& ticks, const ClockOptions& options = {});

  /// Takes a step. One thread calls it, each millisecond or so. `now_us` counts steadily.
  void step(std::uint64_t now_us);

  /// Returns the softtime, which lives as long as the clock.
  const base::SoftTime& time() const { return time_; }
  /// Returns a report. Any thread may call it.
  ClockReport report() const;

 private:
  /// The source's time at a reading of the counter.
  struct Moment {
    std::uint64_t time_us = 0;
    std::uint64_t ticks = 0;
  };

  /// The time that passed between two looks by the counter, and by how much it differs from that by the source.
  struct Passed {
    double counted_us = 0;
    double apart_us = 0;
  };

  std::optional<Moment> look();
  Passed since(const Moment& then, const Moment& now) const;
  bool was_set(const Moment& now) const;
  void remember(const Moment& now);
  void write(const Moment& now, const Bound& bound, bool held);

  const ClockOptions options_;
  const std::unique_ptr<TimeSource> source_;
  base::SoftTime time_;
  /// The looks in order: those of the last max_age_us since the last jump, and before these the last one that is older.
  std::deque<Moment> looks_;
  std::uint64_t hold_until_us_ = 0;

  mutable std::mutex mutex_;  ///< guards what follows
  ClockReport report_;
  std::optional<std::uint64_t> written_ticks_;
};

}  // namespace granary::cluster_config::clock
