#pragma once
// Declares the source of the cluster's time at a node, and the bound between the nodes' clocks.

#include <cstdint>
#include <optional>
#include <string>

namespace granary::cluster_config::clock {

/// δ, by which no two nodes' clocks differ at most. Or it says that no such bound is known, and why.
struct Bound {
  std::optional<std::uint64_t> delta_us;
  std::string cause{};  ///< without a bound: what is wrong, and how to mend it

  static Bound within(std::uint64_t delta_us) { return {.delta_us = delta_us}; }
  static Bound none(std::string cause) { return {.delta_us = {}, .cause = std::move(cause)}; }
};

/// A source of time. The one thread that drives the clock calls it, and nothing here waits.
class TimeSource {
 public:
  virtual ~TimeSource() = default;
  virtual std::uint64_t time_us() = 0;
  /// Returns the bound. `now_us` counts steadily, from any moment. It is called again and again, so that a source can
  /// ask for the state of its clock.
  virtual Bound bound(std::uint64_t now_us) = 0;
  /// Forgets all that was learnt of the time, as the time has jumped, or may have.
  virtual void forget() {}
};

}  // namespace granary::cluster_config::clock
