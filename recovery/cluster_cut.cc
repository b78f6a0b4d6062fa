#include "recovery/cluster_cut.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/record/tid.h"

namespace granary::recovery {
namespace {

using nlohmann::json;

/// Returns the epoch up to which all logs count; none if each of them counts as a whole.
std::optional<epoch::Epoch> agree_on_cut(std::span<const NodeLogState> nodes) {
  std::optional<epoch::Epoch> agreed;
  std::optional<epoch::Epoch> durable;
  bool all_there = true;
  const auto least = [](std::optional<epoch::Epoch> a, epoch::Epoch b) { return std::min(a.value_or(b), b); };
  for (const NodeLogState& node : nodes) {
    if (node.agreed) agreed = least(agreed, *node.agreed);
    if (!node.running) continue;
    durable = base::injected("cut-at-greatest") ? std::max(durable.value_or(0), node.running->durable)
                                                : least(durable, node.running->durable);
    all_there &= node.running->rings;
  }
  if (agreed) return durable ? least(agreed, *durable) : agreed;
  return all_there ? std::nullopt : durable;
}

/// Returns the epoch in this field; none if there is no such field, or it has no epoch.
std::optional<epoch::Epoch> epoch_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<std::uint64_t>();
  return value <= record::kMaxEpoch ? std::optional(value) : std::nullopt;
}

std::optional<NodeLogState> parse(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto first_epoch = epoch_in(object, "first_epoch");
  const auto over = epoch_in(object, "over");
  if (!first_epoch || !over) return std::nullopt;
  const auto released = epoch_in(object, "released");
  NodeLogState state{.over = *over, .first_epoch = *first_epoch, .released = released.value_or(0)};
  if (object.contains("agreed")) {
    state.agreed = epoch_in(object, "agreed");
    if (!state.agreed) return std::nullopt;
  }
  if (object.contains("durable")) {
    const auto durable = epoch_in(object, "durable");
    const auto rings = object.find("rings");
    if (!durable || rings == object.end() || !rings->is_boolean()) return std::nullopt;
    state.running = {.durable = *durable, .rings = rings->get<bool>()};
  }
  return state;
}

epoch::Epoch greatest_released(std::span<const NodeLogState> nodes) {
  epoch::Epoch greatest = 0;
  for (const NodeLogState& node : nodes) greatest = std::max(greatest, node.released);
  return greatest;
}

/// Returns the epoch up to which results are known to have been released, as the manifest tells. A checkpoint tells it,
/// too, because it is installed only once all its transactions are released.
epoch::Epoch released_by(const Manifest& manifest) {
  epoch::Epoch released = manifest.checkpoint ? std::max(manifest.checkpoint->epoch, epoch::Epoch{1}) - 1 : 0;
  for (const Generation& generation : manifest.generations) released = std::max(released, generation.released);
  return released;
}

}  // namespace

NodeLogState state_of(const Manifest& manifest, const NodeLogState::Running& running, epoch::Epoch first_epoch,
                      epoch::Epoch released) {
  NodeLogState state{.first_epoch = first_epoch, .released = std::max(released, released_by(manifest))};
  const std::vector<Generation>& generations = manifest.generations;
  const auto begun = std::find_if(generations.rbegin(), generations.rend(),
                                  [](const Generation& generation) { return !generation.end; });
  if (begun == generations.rend()) return state;
  if (begun->cut) {
    state.over = *begun->cut;
    if (begun->agreed) state.agreed = *begun->cut;
  } else if (begun->is_empty() && !base::injected("empty-generation-counts")) {
    state.running = {.durable = record::kMaxEpoch, .rings = true};  // its log can miss nothing
  } else {
    state.running = running;
  }
  return state;
}

std::optional<std::size_t> short_of_released(std::span<const NodeLogState> nodes) {
  const std::optional<epoch::Epoch> cut = agree_on_cut(nodes);
  if (!cut || *cut >= greatest_released(nodes) || base::injected("cut-below-released")) return std::nullopt;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::optional<epoch::Epoch> counts = nodes[i].running ? nodes[i].running->durable : nodes[i].agreed;
    if (counts == cut) return i;
  }
  return std::nullopt;
}

Status lost_released(std::span<const NodeLogState> nodes, std::size_t node, const std::string& where) {
  const epoch::Epoch has = nodes[node].running ? nodes[node].running->durable : *nodes[node].agreed;
  return {
      StatusCode::kDamaged,
      fmt::format("the log of {} has everything only up to epoch {}, but results have been released up to epoch {}: "
                  "its data are an older copy, or it has lost what was on the device. Put the newer ones back. If they "
                  "are lost, --salvage (Options::salvage) on every node takes the whole cluster back to epoch {}",
                  where, has, greatest_released(nodes), has)};
}

std::vector<NodeLogEnd> agree_on_ends(std::span<const NodeLogState> nodes) {
  const std::optional<epoch::Epoch> cut = agree_on_cut(nodes);
  std::vector<NodeLogEnd> ends;
  for (const NodeLogState& node : nodes) {
    base::invariant("I20", !cut || !node.running || *cut <= node.running->durable);
    const bool beyond = cut && node.over > *cut;
    ends.push_back({.needed = node.running || beyond, .cut = cut});
  }
  return ends;
}

epoch::Epoch first_epoch_after(std::span<const NodeLogState> nodes) {
  epoch::Epoch first = 1;
  for (const NodeLogState& node : nodes) first = std::max(first, node.first_epoch);
  return first;
}

std::string to_text(const NodeLogState& state) {
  json object = {{"over", state.over}, {"first_epoch", state.first_epoch}, {"released", state.released}};
  if (state.agreed) object["agreed"] = *state.agreed;
  if (state.running) {
    object["durable"] = state.running->durable;
    object["rings"] = state.running->rings;
  }
  return object.dump();
}

Result<NodeLogState> log_state_of(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (std::optional<NodeLogState> state = parse(object)) return std::move(*state);
  return Status(StatusCode::kDamaged, "what should be the state of a node's log is none");
}

}  // namespace granary::recovery
