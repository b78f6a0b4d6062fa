#pragma once
// Gives tests and simulations the time that they set: one time for all nodes, and for each node's clock an error of its
// own.

#include <atomic>
#include <cstdint>

#include "cluster_config/clock/time_source.h"

namespace granary::cluster_config::clock {

class ManualSource final : public TimeSource {
 public:
  /// `time_ns` is the time of all nodes and must outlive the source. The clock is ahead of it by `skew_us`.
  ManualSource(const std::atomic<std::uint64_t>& time_ns, std::int64_t skew_us, Bound bound)
      : time_ns_(time_ns),
        skew_us_(skew_us),
        bound_(std::move(bound)) {}

  std::uint64_t time_us() override {
    return time_ns_.load(std::memory_order_acquire) / 1000 + static_cast<std::uint64_t>(skew_us_);
  }
  Bound bound(std::uint64_t) override { return bound_; }

  void set_skew(std::int64_t skew_us) { skew_us_ = skew_us; }
  void set_bound(Bound bound) { bound_ = std::move(bound); }

 private:
  const std::atomic<std::uint64_t>& time_ns_;
  std::int64_t skew_us_;
  Bound bound_;
};

}  // namespace granary::cluster_config::clock
