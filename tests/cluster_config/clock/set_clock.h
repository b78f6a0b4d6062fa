#pragma once
// A clock that a daemon keeps within half of δ from the true time, until somebody sets it. The daemon sets it right,
// and says so a while later.

#include <atomic>
#include <cstdint>

#include "cluster_config/clock/time_source.h"

namespace granary::cluster_config::clock {

class SetClock final : public TimeSource {
 public:
  /// `time_ns` outlives it and is the true time. `kept_us` from it the daemon keeps the clock.
  SetClock(const std::atomic<std::uint64_t>& time_ns, std::int64_t kept_us, std::uint64_t delta_us)
      : time_ns_(time_ns),
        delta_us_(delta_us),
        kept_us_(kept_us) {}

  std::uint64_t time_us() override { return time_ns_.load() / 1000 + static_cast<std::uint64_t>(ahead_us_); }
  Bound bound(std::uint64_t) override { return known_ ? Bound::within(delta_us_) : Bound::none("set"); }
  void forget() override { known_ = false; }

  void set(std::int64_t by_us) { ahead_us_ += by_us; }
  void set_right() { ahead_us_ = kept_us_; }
  /// The daemon looks.
  void look() { known_ |= ahead_us_ == kept_us_; }
  /// The time that all nodes keep is set, and this clock is among the first to have it.
  void set_cluster(std::int64_t by_us) {
    kept_us_ += by_us;
    ahead_us_ += by_us;
  }

 private:
  const std::atomic<std::uint64_t>& time_ns_;
  const std::uint64_t delta_us_;
  std::int64_t kept_us_;
  std::int64_t ahead_us_ = kept_us_;
  bool known_ = true;
};

}  // namespace granary::cluster_config::clock
