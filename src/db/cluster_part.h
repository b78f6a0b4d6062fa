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
  /// Options::directory of the other nodes, whose logs hold writes of this node's records. Until this node serves, none of
  /// them removes logs.
  std::vector<std::string> others{};
};

}  // namespace granary::db
