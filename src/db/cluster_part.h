#pragma once
// What makes a database a node of a cluster.

#include <cstdint>
#include <string>
#include <vector>

#include "src/epoch/control_block.h"

namespace granary::db {

struct ClusterPart {
  /// Zeroed memory that other nodes reach, and that outlives the database. None: a database alone.
  epoch::ControlBlock* control = nullptr;
  std::uint32_t node = 0;
  std::uint32_t life = 0;  ///< of the node, as its membership counts them
  /// Options::directory of the other nodes, whose logs hold writes of this node's records. Until this node serves, none of
  /// them removes logs.
  std::vector<std::string> others{};
  /// There are more such nodes, on other hosts: what their logs have comes by Engine::take_from(), and until then there are
  /// no checkpoints.
  bool others_elsewhere = false;
  /// Not a node's opening, but one of the recovery of the whole cluster, which ends logs and serves nobody.
  bool recovers_all = false;
  /// E begins there or later: behind every epoch that any node ever used, so that none takes an older log for one that it has to
  /// go back with (recovery/cluster_cut.h).
  epoch::Epoch first_epoch = 1;
};

}  // namespace granary::db
