#pragma once
// Runs list-append clients on one node of a cluster, on lists of all nodes. The other nodes do the same in processes of
// their own on this host. All share its clock, so their events, put together, are one history.

#include <functional>

#include <granary/cluster.h>

#include "bench/append/node_lives.h"
#include "bench/append/run.h"
#include "bench/harness/cluster_figures.h"
#include "bench/harness/rendezvous.h"

namespace granary::bench::append {

struct NodePlace {
  ClusterOptions cluster;
  NodeShare share;
  Rendezvous& rendezvous;  ///< the meeting point of the nodes
  const NodeLives& lives;
  Journal& journal;  ///< gets the events of this node's clients in this life
};

struct NodeEnd {
  ClusterFigures elsewhere;  ///< what the node's transactions did at other nodes
  Status ended;              ///< why the run could not come to its end; the journal is good up to there
};

/// Runs like run_append(). `options` are those of all nodes, but for the workers, which are this node's. In the end
/// each node reads every list, also when another node has died meanwhile, as far as it can. A node whose former life
/// was killed comes back to the others, whose clients have gone on. Returns an error if the node could not begin.
Result<NodeEnd> run_append_on_node(const NodePlace& place, const AppendOptions& options,
                                   const std::function<bool()>& stop);

}  // namespace granary::bench::append
