#pragma once
// The interval of timestamps that a transaction may still get.

#include <algorithm>
#include <cstdint>

namespace granary::bench::dta {

using Timestamp = std::uint64_t;

/// The time later than every timestamp. The highest bit of a word is left for a mark (Row).
inline constexpr Timestamp kNever = (Timestamp{1} << 63) - 1;

/// [from, until). It begins as all timestamps, and conflicts only shrink it.
struct Interval {
  Timestamp from = 0;
  Timestamp until = kNever;

  void begin_after(Timestamp time) { from = std::max(from, time + 1); }
  void end_before(Timestamp time) { until = std::min(until, time); }
  bool empty() const { return from >= until; }
};

}  // namespace granary::bench::dta
