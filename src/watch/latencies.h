#pragma once
// What follows from counted latencies: percentiles, and the steps of a histogram with fixed bounds.

#include <cstdint>
#include <vector>

#include <granary/database.h>

#include "src/watch/metric_text.h"

namespace granary::watch {

/// The samples that were counted since `before`, which is of the same database; all of them if it is of another one.
CommitLatencies since(const CommitLatencies& now, const CommitLatencies& before);

/// The smallest latency that at least `percent` % of the samples do not exceed, in microseconds; 0 without samples.
double percentile_us(const CommitLatencies& latencies, double percent);

/// From 1 µs to 10 s, three bounds in each power of ten, in seconds.
std::vector<HistogramStep> steps_of(const CommitLatencies& latencies);

}  // namespace granary::watch
