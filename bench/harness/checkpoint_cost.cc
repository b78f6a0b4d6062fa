#include "bench/harness/checkpoint_cost.h"

#include <utility>

namespace granary::bench {

void CheckpointCost::observe(const Look& look) {
  constexpr double kWhole = 0.999;  // the looks' clocks and the checkpoint's differ a little
  const Look last = std::exchange(last_, look);
  const double seconds = static_cast<double>(look.ns - last.ns) / 1e9;
  const double in_progress = look.seconds_in_progress - last.seconds_in_progress;
  if (look.requests < last.requests) return;  // the workers have begun to count anew
  if (in_progress != 0 && in_progress < kWhole * seconds) return;
  Sum& sum = in_progress != 0 ? during_ : without_;
  sum.requests += look.requests - last.requests;
  sum.seconds += seconds;
}

double CheckpointCost::ratio() const {
  return throughput_without() > 0 ? throughput_during() / throughput_without() : 0;
}

}  // namespace granary::bench
