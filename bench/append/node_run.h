#pragma once
// Runs list-append clients on one node of a cluster, on lists of all nodes. Other nodes do the same in processes of their own on
// this host, whose clock they share: so their events, put together, are one history.

#include <functional>

#include <granary/cluster.h>

#include "bench/append/run.h"
#include "bench/harness/rendezvous.h"

namespace granary::bench::append {

struct NodePlace {
  ClusterOptions cluster;
  NodeShare share;
  Rendezvous& rendezvous;  ///< of the nodes
};

/// As run_append(); `options` are those of all nodes, but for the workers, which are this node's. Each node reads every list in the
/// end.
Result<AppendRun> run_append_on_node(const NodePlace& place, const AppendOptions& options,
                                     const std::function<bool()>& stop);

}  // namespace granary::bench::append
