#include "bench/harness/result.h"

#include <algorithm>
#include <numeric>

namespace granary::bench {

std::uint64_t TypeResult::aborted() const { return std::accumulate(aborts.begin(), aborts.end(), std::uint64_t{0}); }

void TypeResult::add(const TypeResult& other) {
  committed += other.committed;
  rolled_back += other.rolled_back;
  gave_up += other.gave_up;
  too_long += other.too_long;
  transactions += other.transactions;
  for (std::size_t i = 0; i < aborts.size(); ++i) aborts[i] += other.aborts[i];
  latency.merge(other.latency);
  durable.merge(other.durable);
  unreleased += other.unreleased;
}

TypeResult Measurement::total() const {
  TypeResult sum;
  sum.name = "total";
  for (const TypeResult& type : types) sum.add(type);
  return sum;
}

bool leave_out_interrupted(std::vector<Measurement>& runs) {
  if (runs.empty() || !runs.back().interrupted) return false;
  if (runs.size() > 1) runs.pop_back();
  return true;
}

double abort_share(const TypeResult& type) {
  const double aborted = static_cast<double>(type.aborted());
  const double attempts = aborted + static_cast<double>(type.transactions);
  return attempts == 0 ? 0 : aborted / attempts;
}

std::size_t median_by_throughput(const std::vector<Measurement>& runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> rates;
  for (const Measurement& run : runs) rates.push_back(run.throughput());
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rates[a] < rates[b]; });
  return order[(order.size() - 1) / 2];
}

}  // namespace granary::bench
