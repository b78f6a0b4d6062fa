#pragma once
// Second half of the judgement: transactions as nodes, dependencies as edges, cycles as verdicts.
//
//   ww  overwrote its version     wr  read its version     rw  read the version that it overwrote
//   rt  was invoked after its completion
//
// Real time needs no edge for every pair: each completion is a node of its own in a chain. A transaction leads to
// its completion's node, and the last completion before an invocation leads to the transaction invoked. Where the order
// of sessions is judged, each process has a chain of its own.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/append/history/interpretation.h"

namespace granary::bench::history {

enum EdgeType : std::uint8_t { kWw = 1, kWr = 2, kRw = 4, kRt = 8 };
using EdgeMask = std::uint8_t;

struct Edge {
  std::uint32_t to = 0;
  EdgeType type = kWw;
  Key key = 0;
  Element element = 0;  ///< the element that was overwritten, read or missed
};

/// Says between which transactions there are edges of real time.
enum class RealTime : std::uint8_t { kOfAll, kOfEachProcess };

class DependencyGraph {
 public:
  explicit DependencyGraph(const Interpretation& all, RealTime real_time);

  std::size_t size() const { return edges_.size(); }
  std::span<const Edge> edges(std::uint32_t node) const { return edges_[node]; }
  bool is_transaction(std::uint32_t node) const { return node < transactions_; }

  /// Returns the number of each node's strongly connected component over edges of `mask` (Tarjan); 0 for components of
  /// one node.
  std::vector<std::uint32_t> components(EdgeMask mask) const;

  /// Returns a shortest path from `from` to `to` over edges of `mask` within `from`'s component, as its edges; empty if
  /// there is none.
  std::vector<Edge> path(std::uint32_t from, std::uint32_t to, EdgeMask mask,
                         std::span<const std::uint32_t> component) const;

 private:
  void add(std::uint32_t from, Edge edge);
  void add_versions(Key key, const KeyVersions& versions);
  void add_read(const Interpretation& all, const ExternalRead& read);
  void add_real_time(const Interpretation& all, RealTime real_time);

  std::size_t transactions_;
  std::vector<std::vector<Edge>> edges_;
};

/// Finds cycles of every kind, and returns one shortest example of each.
std::vector<Found> find_cycles(const Interpretation& all, const CheckOptions& options);

}  // namespace granary::bench::history
