#include "bench/cluster/lost_life.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace granary::bench::cluster {

namespace {

std::uint64_t value(const WorkerAccount::Sums& sums, std::size_t sum) {
  return sums[sum].load(std::memory_order_relaxed);
}

/// By how much the found sum is more than expected, over all nodes.
std::uint64_t excess(std::span<const Measurement> nodes, std::size_t finding) {
  std::uint64_t excess = 0;
  for (const Measurement& node : nodes) {
    const Tally tally = node.findings[finding].tally.value_or(Tally{});
    excess += tally.found - tally.expected;
  }
  return excess;
}

/// Whether some of them add up to the sum. They are at most kMostTrackedWorkers.
bool some_make(const std::vector<std::uint64_t>& numbers, std::uint64_t sum) {
  for (std::uint64_t chosen = 0; chosen < std::uint64_t{1} << numbers.size(); ++chosen) {
    std::uint64_t made = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) made += (chosen >> i & 1) != 0 ? numbers[i] : 0;
    if (made == sum) return true;
  }
  return false;
}

}  // namespace

void add_lost_life(const LifeAccount& lost, std::span<Measurement> nodes, std::size_t victim) {
  const std::size_t sums = lost.sums.load(std::memory_order_relaxed);
  std::size_t sum = 0;
  for (std::size_t finding = 0; finding < nodes[victim].findings.size() && sum < sums; ++finding) {
    auto& tally = nodes[victim].findings[finding].tally;
    if (!tally) continue;
    tally->expected += value(lost.loaded, sum);
    std::vector<std::uint64_t> open;
    for (const WorkerAccount& worker : lost.workers) {
      tally->expected += value(worker.changed, sum);
      if (value(worker.open, sum) != 0) open.push_back(value(worker.open, sum));
    }
    const bool all_have_it =
        std::ranges::all_of(nodes, [finding](const Measurement& node) { return finding < node.findings.size(); });
    if (const std::uint64_t more = all_have_it ? excess(nodes, finding) : 0; some_make(open, more))
      tally->expected += more;
    ++sum;
  }
}

}  // namespace granary::bench::cluster
