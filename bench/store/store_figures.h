#pragma once
// What a store tells of itself beside what all stores do.

#include <optional>
#include <utility>
#include <vector>

#include "bench/harness/workload.h"

namespace granary::bench::store {

/// Figures of the store's own, for those who have some.
template <typename S>
void append_figures(std::vector<ExtraFigure>& figures, const S* store) {
  if constexpr (requires { store->extra_figures(); }) {
    if (store == nullptr) return;
    for (ExtraFigure& figure : store->extra_figures()) figures.push_back(std::move(figure));
  }
}

/// Of a store that is a node of a cluster.
template <typename S>
std::optional<ClusterFigures> cluster_figures(const S* store) {
  if constexpr (requires { store->cluster_figures(); }) {
    if (store != nullptr) return store->cluster_figures();
  }
  return std::nullopt;
}

/// Whether the store, if it is a node of a cluster, is still a member.
template <typename S>
Status node_status(const S* store) {
  if constexpr (requires { store->node_status(); }) {
    if (store != nullptr) return store->node_status();
  }
  return {};
}

/// Waits for the other nodes, if the store is a node of a cluster.
template <typename S>
Status meet(S* store) {
  if constexpr (requires { store->meet(); }) {
    if (store != nullptr) return store->meet();
  }
  return {};
}

}  // namespace granary::bench::store
