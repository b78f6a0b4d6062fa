#pragma once
// Derives figures from counted latencies: percentiles, and the steps of a histogram with fixed bounds.

#include <cstdint>
#include <vector>

#include <granary/database.h>

#include "src/watch/metric_text.h"

namespace granary::watch {

/// Returns the samples that were counted since `before`; all of them if `before` is of another database.
CommitLatencies since(const CommitLatencies& now, const CommitLatencies& before);

/// Returns the smallest latency in microseconds that at least `percent` % of the samples do not exceed; 0 without
/// samples.
double percentile_us(const CommitLatencies& latencies, double percent);

/// Returns the steps from 1 µs to 10 s, three bounds in each power of ten, in seconds.
std::vector<HistogramStep> steps_of(const CommitLatencies& latencies);

}  // namespace granary::watch
