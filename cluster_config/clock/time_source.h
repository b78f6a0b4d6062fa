#pragma once
// Where a node has the cluster's time from, and how far the nodes' clocks may be apart.

#include <cstdint>
#include <optional>
#include <string>

namespace granary::cluster_config::clock {

/// δ: no two nodes' clocks differ by more. Or that no such bound is known, and why.
struct Bound {
  std::optional<std::uint64_t> delta_us;
  std::string cause{};  ///< without a bound: what is wrong, and what mends it

  static Bound within(std::uint64_t delta_us) { return {.delta_us = delta_us}; }
  static Bound none(std::string cause) { return {.delta_us = {}, .cause = std::move(cause)}; }
};

/// Called by the one thread that drives the clock. Nothing here waits.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual std::uint64_t time_us() = 0;
  /// `now_us` counts steadily, from whenever. To be called again and again: so a source asks whom it has to ask.
  virtual Bound bound(std::uint64_t now_us) = 0;
  /// The time has jumped, or may have: what was learnt of it before counts no more.
  virtual void forget() {}
};

}  // namespace granary::cluster_config::clock
