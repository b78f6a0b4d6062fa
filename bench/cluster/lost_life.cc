#include "bench/cluster/lost_life.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace granary::bench::cluster {

namespace {

std::uint64_t value(const WorkerAccount::Sums& sums, std::size_t sum) {
  return sums[sum].load(std::memory_order_relaxed);
}

/// Returns by how much the found sum is more than expected, over all nodes.
std::uint64_t excess(std::span<const Measurement> nodes, std::size_t finding) {
  std::uint64_t excess = 0;
  for (const Measurement& node : nodes) {
    const Tally tally = node.findings[finding].tally.value_or(Tally{});
    excess += tally.found - tally.expected;
  }
  return excess;
}

bool is_open(const WorkerAccount& worker, std::size_t sums) {
  for (std::size_t sum = 0; sum < sums; ++sum) {
    if (value(worker.open, sum) != 0) return true;
  }
  return false;
}

/// Returns how much the chosen workers' open requests change the sum. Bit i of `chosen` is the ith of `open`.
std::uint64_t change_of(const std::vector<const WorkerAccount*>& open, std::uint64_t chosen, std::size_t sum) {
  std::uint64_t made = 0;
  for (std::size_t i = 0; i < open.size(); ++i) made += (chosen >> i & 1) != 0 ? value(open[i]->open, sum) : 0;
  return made;
}

/// Returns the workers whose open requests explain most of the sums, as bits. A request was committed as a whole or not
/// at all, so one choice holds for all sums. There are at most kMostTrackedWorkers.
std::uint64_t best_choice(const std::vector<const WorkerAccount*>& open, const std::vector<std::uint64_t>& wanted) {
  std::uint64_t best = 0;
  std::size_t most = 0;
  for (std::uint64_t chosen = 0; chosen < std::uint64_t{1} << open.size(); ++chosen) {
    std::size_t explained = 0;
    for (std::size_t sum = 0; sum < wanted.size(); ++sum)
      explained += change_of(open, chosen, sum) == wanted[sum] ? 1 : 0;
    if (explained <= most) continue;
    best = chosen;
    most = explained;
  }
  return best;
}

}  // namespace

void add_lost_life(const LifeAccount& lost, std::span<Measurement> nodes, std::size_t victim) {
  const std::size_t sums = lost.sums.load(std::memory_order_relaxed);
  std::vector<Tally*> tallies;
  std::vector<std::uint64_t> wanted;
  for (std::size_t finding = 0; finding < nodes[victim].findings.size() && tallies.size() < sums; ++finding) {
    auto& tally = nodes[victim].findings[finding].tally;
    if (!tally) continue;
    const std::size_t sum = tallies.size();
    tally->expected += value(lost.loaded, sum);
    for (const WorkerAccount& worker : lost.workers) tally->expected += value(worker.changed, sum);
    const bool all_have_it =
        std::ranges::all_of(nodes, [finding](const Measurement& node) { return finding < node.findings.size(); });
    tallies.push_back(&*tally);
    wanted.push_back(all_have_it ? excess(nodes, finding) : 0);
  }
  std::vector<const WorkerAccount*> open;
  for (const WorkerAccount& worker : lost.workers) {
    if (is_open(worker, tallies.size())) open.push_back(&worker);
  }
  const std::uint64_t chosen = best_choice(open, wanted);
  for (std::size_t sum = 0; sum < tallies.size(); ++sum) tallies[sum]->expected += change_of(open, chosen, sum);
}

}  // namespace granary::bench::cluster
