// Tells which cycle proves which anomaly, after Adya's definitions and in Elle's order: the worst first.

#include <algorithm>
#include <set>

#include "bench/append/history/dependency_graph.h"

namespace granary::bench::history {
namespace {

/// A class of cycles: one edge of `first`, and a way back along edges of `rest`.
struct CycleClass {
  Anomaly anomaly;
  EdgeMask first;
  EdgeMask rest;
};

constexpr CycleClass kClasses[] = {
    {Anomaly::kG0, kWw, kWw},
    {Anomaly::kG1c, kWr, kWw | kWr},
    {Anomaly::kGSingle, kRw, kWw | kWr},
    {Anomaly::kG2Item, kRw, kWw | kWr | kRw},
    {Anomaly::kG0RealTime, kWw, kWw | kRt},
    {Anomaly::kG1cRealTime, kWr, kWw | kWr | kRt},
    {Anomaly::kGSingleRealTime, kRw, kWw | kWr | kRt},
    {Anomaly::kG2ItemRealTime, kRw, kWw | kWr | kRw | kRt},
};

/// The greatest number of edges from which it searches for a way back; a broken history has cycles nearly everywhere.
constexpr std::size_t kMaxSearches = 200;

std::size_t count(const std::vector<Edge>& cycle, EdgeType type) {
  return static_cast<std::size_t>(
      std::count_if(cycle.begin(), cycle.end(), [&](const Edge& e) { return e.type == type; }));
}

/// Returns whether the cycle is of this class and of no narrower one, as which it would be reported.
bool belongs(const CycleClass& wanted, const std::vector<Edge>& cycle) {
  if ((wanted.rest & kRt) != 0 && count(cycle, kRt) == 0) return false;
  if ((wanted.rest & kRw) != 0 && count(cycle, kRw) < 2) return false;
  return true;
}

class CycleFinder {
 public:
  CycleFinder(const Interpretation& all, RealTime real_time) : all_(all), graph_(all, real_time) {}

  bool has_any(EdgeMask mask) const {
    const auto component = graph_.components(mask);
    return std::any_of(component.begin(), component.end(), [](std::uint32_t c) { return c != 0; });
  }

  /// Returns the shortest cycle of this class that was found; empty if there is none.
  std::vector<Edge> shortest(const CycleClass& wanted, std::uint32_t& start) const {
    const auto component = graph_.components(wanted.first | wanted.rest);
    std::vector<Edge> best;
    std::size_t searches = 0;
    for (std::uint32_t node = 0; node < graph_.size() && searches < kMaxSearches; ++node) {
      if (component[node] == 0 || !graph_.is_transaction(node)) continue;
      for (const Edge& edge : graph_.edges(node)) {
        if ((edge.type & wanted.first) == 0 || component[edge.to] != component[node]) continue;
        ++searches;
        std::vector<Edge> cycle = graph_.path(edge.to, node, wanted.rest, component);
        if (cycle.empty()) continue;
        cycle.insert(cycle.begin(), edge);
        if (!belongs(wanted, cycle) || (!best.empty() && cycle.size() >= best.size())) continue;
        best = std::move(cycle);
        start = node;
      }
    }
    return best;
  }

  std::string text(std::uint32_t start, const std::vector<Edge>& cycle) const {
    std::string steps = "T" + std::to_string(start);
    std::string members = "\n    " + describe(all_, start);
    bool in_chain = false;
    for (const Edge& edge : cycle) {
      if (!graph_.is_transaction(edge.to)) {
        in_chain = true;
        continue;
      }
      steps += in_chain ? " before in real time " : step(edge);
      in_chain = false;
      steps += "T" + std::to_string(edge.to);
      if (edge.to != start) members += "\n    " + describe(all_, edge.to);
    }
    return steps + members;
  }

 private:
  static std::string step(const Edge& edge) {
    const std::string what = std::to_string(edge.element) + " of key " + std::to_string(edge.key);
    if (edge.type == kWw) return " overwritten by [ww " + what + "] ";
    if (edge.type == kWr) return " read by [wr " + what + "] ";
    return " did not see [rw " + what + "] ";
  }

  const Interpretation& all_;
  const DependencyGraph graph_;
};

/// Finds committed elements that no read has shown, though a later transaction read their key. Only for strict
/// serializability.
void find_missing(const Interpretation& all, std::vector<Found>& found) {
  std::unordered_map<Key, std::size_t> last_read;
  for (const ExternalRead& read : all.reads) {
    auto& latest = last_read[read.key];
    latest = std::max(latest, all.txns[read.txn].invoked);
  }
  for (const auto& [key, versions] : all.keys) {
    const auto read = last_read.find(key);
    if (read == last_read.end()) continue;
    const std::set<Element> seen(versions.order.begin(), versions.order.end());
    for (const auto& [element, origin] : versions.origins) {
      const Txn& txn = all.txns[origin.txn];
      if (txn.ending != EventType::kOk || txn.completed > read->second || seen.contains(element)) continue;
      found.push_back({Anomaly::kMissingElement, std::to_string(element) + " of key " + std::to_string(key) + ", by " +
                                                     describe(all, origin.txn)});
      return;  // one example is enough
    }
  }
}

}  // namespace

std::vector<Found> find_cycles(const Interpretation& all, const CheckOptions& options) {
  std::vector<Found> found;
  if (options.strict) find_missing(all, found);
  const CycleFinder finder(all, options.strict ? RealTime::kOfAll : RealTime::kOfEachProcess);
  const bool in_time = options.strict || options.sessions;
  const EdgeMask every = kWw | kWr | kRw;
  if (!finder.has_any(in_time ? every | kRt : every)) return found;
  for (const CycleClass& wanted : kClasses) {
    if (!in_time && (wanted.rest & kRt) != 0) continue;
    std::uint32_t start = 0;
    const auto cycle = finder.shortest(wanted, start);
    if (!cycle.empty()) found.push_back({wanted.anomaly, finder.text(start, cycle)});
  }
  return found;
}

}  // namespace granary::bench::history
