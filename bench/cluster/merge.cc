#include "bench/cluster/merge.h"

#include <algorithm>

#include <fmt/format.h>

namespace granary::bench::cluster {

namespace {

void add(StoreFigures& sum, const StoreFigures& node) {
  const auto add_member = [&](auto member) { sum.*member += node.*member; };
  for (const auto bytes : {&StoreFigures::memory_bytes, &StoreFigures::records_bytes, &StoreFigures::index_bytes,
                           &StoreFigures::version_bytes, &StoreFigures::garbage_items, &StoreFigures::log_bytes,
                           &StoreFigures::log_entries, &StoreFigures::log_syncs, &StoreFigures::ring_waits,
                           &StoreFigures::checkpoints, &StoreFigures::checkpoint_bytes}) {
    add_member(bytes);
  }
  add_member(&StoreFigures::checkpoint_seconds);
  sum.epoch = std::max(sum.epoch, node.epoch);
  sum.durable_epoch = std::min(sum.durable_epoch, node.durable_epoch);
  const auto add_htm = [&](auto member) { sum.htm.*member += node.htm.*member; };
  for (const auto count : {&HtmStatistics::commits, &HtmStatistics::fallbacks, &HtmStatistics::conflicts,
                           &HtmStatistics::capacity, &HtmStatistics::explicit_aborts, &HtmStatistics::others}) {
    add_htm(count);
  }
}

/// Returns the mean of a figure that nodes have under one name.
ExtraFigure mean(const ExtraFigure& wanted, std::span<const Measurement> nodes) {
  double sum = 0, weights = 0;
  for (const Measurement& node : nodes) {
    const auto requests = static_cast<double>(std::max<std::uint64_t>(1, node.total().finished()));
    for (const ExtraFigure& figure : node.extra) {
      if (figure.name != wanted.name) continue;
      const double weight = figure.of.value_or(requests);
      sum += weight * figure.value;
      weights += weight;
    }
  }
  ExtraFigure all{wanted.name, weights == 0 ? 0 : sum / weights};
  if (wanted.of) all.of = weights;
  return all;
}

/// Judges one condition over all nodes.
Finding judge(std::size_t at, std::span<const Measurement> nodes) {
  const Finding& first = nodes.front().findings[at];
  Tally sums;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Finding& finding = nodes[node].findings[at];
    if (!finding.holds)
      return {first.condition, false, fmt::format("node {} of {}: {}", node + 1, nodes.size(), finding.detail)};
    sums.expected += finding.tally.value_or(Tally{}).expected;
    sums.found += finding.tally.value_or(Tally{}).found;
  }
  if (!first.tally)
    return {first.condition, true, fmt::format("on each of {} nodes; the first: {}", nodes.size(), first.detail)};
  return sums_agree(first.condition, sums, {});
}

bool same_findings(std::span<const Measurement> nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Measurement& node) {
    return std::equal(node.findings.begin(), node.findings.end(), nodes.front().findings.begin(),
                      nodes.front().findings.end(),
                      [](const Finding& a, const Finding& b) { return a.condition == b.condition; });
  });
}

}  // namespace

Measurement merged(std::span<const Measurement> nodes) {
  Measurement all = nodes.front();
  all.begun = all.baseline();
  for (const Measurement& node : nodes.subspan(1)) {
    for (std::size_t i = 0; i < all.types.size(); ++i) all.types[i].add(node.types[i]);
    all.elapsed_ns = std::max(all.elapsed_ns, node.elapsed_ns);
    all.load_seconds = std::max(all.load_seconds, node.load_seconds);
    all.interrupted |= node.interrupted;
    all.pinned &= node.pinned;
    all.resident_bytes += node.resident_bytes;
    add(all.loaded, node.loaded);
    add(*all.begun, node.baseline());
    add(all.store, node.store);
    if (all.cluster && node.cluster) all.cluster->add(*node.cluster);
  }
  for (ExtraFigure& figure : all.extra) figure = mean(figure, nodes);
  all.findings.clear();
  if (!same_findings(nodes)) {
    all.findings = {{"the nodes check the same conditions", false, "some node has others"}};
    return all;
  }
  for (std::size_t i = 0; i < nodes.front().findings.size(); ++i) all.findings.push_back(judge(i, nodes));
  all.verified = !all.findings.empty();
  return all;
}

}  // namespace granary::bench::cluster
