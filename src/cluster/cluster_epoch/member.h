#pragma once
// A node's side of a configuration, in its control block. All of it is called by one thread.

#include "src/epoch/control_block.h"

namespace granary::cluster {

/// From now on the node acts in this configuration. It has cut off all nodes that are no members of it (I11), so
/// whatever the leader of an earlier configuration began has ended.
inline void act_in(epoch::Configuration configuration, epoch::ControlBlock& control) {
  control.by_node.configuration.store(configuration, std::memory_order_release);
}

/// Whether the node may open transactions: the leader has given it the cluster's E and D. Once true, true until
/// stop_serving().
inline bool may_serve(epoch::ControlBlock& control) {
  epoch::ControlBlock::ByNode& mine = control.by_node;
  if (mine.serving.load(std::memory_order_relaxed) != 0) return true;
  // Acquire: E and D were stored before. An admission by another configuration's leader may be long past and does not
  // count.
  const epoch::Configuration admitted = control.by_leader.admitted.load(std::memory_order_acquire);
  if (admitted == 0 || admitted != mine.configuration.load(std::memory_order_relaxed)) return false;
  mine.serving.store(1, std::memory_order_release);
  return true;
}

/// The node is no member any more. Threads that wait for the cluster's D are told (Database::wait_released).
inline void stop_serving(epoch::ControlBlock& control) { control.by_node.serving.store(0, std::memory_order_release); }

}  // namespace granary::cluster
