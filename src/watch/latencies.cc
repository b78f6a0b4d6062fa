#include "src/watch/latencies.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace granary::watch {

CommitLatencies since(const CommitLatencies& now, const CommitLatencies& before) {
  if (now.samples < before.samples) return now;
  CommitLatencies between{.samples = now.samples - before.samples, .seconds = now.seconds - before.seconds};
  auto old = before.buckets.begin();
  for (const CommitLatencies::Bucket& bucket : now.buckets) {
    old = std::find_if(old, before.buckets.end(), [&](const auto& each) { return each.most_ns >= bucket.most_ns; });
    const bool known = old != before.buckets.end() && old->most_ns == bucket.most_ns;
    const std::uint64_t count = bucket.count - (known ? std::min(old->count, bucket.count) : 0);
    if (count != 0) between.buckets.push_back({.most_ns = bucket.most_ns, .count = count});
  }
  return between;
}

double percentile_us(const CommitLatencies& latencies, double percent) {
  std::uint64_t all = 0;
  for (const auto& bucket : latencies.buckets) all += bucket.count;
  if (all == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(all)));
  std::uint64_t seen = 0;
  for (const auto& bucket : latencies.buckets) {
    seen += bucket.count;
    if (seen >= wanted) return static_cast<double>(bucket.most_ns) / 1000;
  }
  return static_cast<double>(latencies.buckets.back().most_ns) / 1000;
}

std::vector<HistogramStep> steps_of(const CommitLatencies& latencies) {
  constexpr double kBounds[] = {1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3,
                                2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1, 2e-1, 5e-1, 1,    2,    5,    10};
  std::vector<HistogramStep> steps;
  auto bucket = latencies.buckets.begin();
  std::uint64_t count = 0;
  for (const double most : kBounds) {
    for (; bucket != latencies.buckets.end() && static_cast<double>(bucket->most_ns) <= most * 1e9; ++bucket)
      count += bucket->count;
    steps.push_back({.most = most, .count = count});
  }
  return steps;
}

}  // namespace granary::watch
