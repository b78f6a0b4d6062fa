#include "recovery/cluster_cut.h"

#include <algorithm>

namespace granary::recovery {
namespace {

/// What an earlier agreement says of a generation; none if it says nothing.
std::optional<epoch::Epoch> agreed_before(std::span<const NodeLogState> nodes, const NodeLogState::Running& running) {
  std::optional<epoch::Epoch> cut;
  for (const NodeLogState& node : nodes) {
    for (const NodeLogState::Agreed& agreed : node.agreed) {
      if (running.first_epoch < agreed.until) cut = std::min(cut.value_or(agreed.cut), agreed.cut);
    }
  }
  return cut;
}

}  // namespace

NodeLogState state_of(const Manifest& manifest, epoch::Epoch durable, bool rings) {
  NodeLogState state;
  const std::vector<Generation>& generations = manifest.generations;
  for (std::size_t i = 0; i + 1 < generations.size(); ++i) {
    if (generations[i].agreed) state.agreed.push_back({*generations[i].cut, generations[i + 1].first_epoch});
  }
  if (!generations.empty() && !generations.back().cut)
    state.running = {.first_epoch = generations.back().first_epoch, .durable = durable, .rings = rings};
  return state;
}

std::vector<std::optional<epoch::Epoch>> agree_on_cuts(std::span<const NodeLogState> nodes) {
  bool all_there = true;
  epoch::Epoch durable = ~epoch::Epoch{0};
  for (const NodeLogState& node : nodes) {
    if (!node.running) continue;
    all_there &= node.running->rings && !agreed_before(nodes, *node.running);
    durable = std::min(durable, node.running->durable);
  }
  std::vector<std::optional<epoch::Epoch>> cuts(nodes.size());
  if (all_there) return cuts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].running) continue;
    cuts[i] = std::min(durable, agreed_before(nodes, *nodes[i].running).value_or(durable));
  }
  return cuts;
}

}  // namespace granary::recovery
