#pragma once
// Measures for how long the heartbeats of other nodes of a host have not changed, by the clock of the node that watches
// them. A node's silence begins when the watcher first sees the beat that it still sees. No other node's clock is used,
// nor the time at which a beat was made.
//
// Time in which the watcher itself stands still is not counted. After a machine was suspended, a container was frozen,
// or a debugger has stopped all nodes, all heartbeats are old, and no node may be removed for that. So a watcher that
// has not looked for half of a node's time-out begins to count anew.

#include <cstdint>
#include <map>

#include "cluster_config/membership/configuration.h"

namespace granary::membership {

/// The heartbeats that one watcher has seen, and since when. One thread may use it at a time. Times are those of
/// lifetime_us(), or a test's.
class Silence {
 public:
  /// Returns for how long the node's heartbeat has been `word`. The caller loads the word first and then takes the time
  /// `now_us`, so that a beat in between makes the silence shorter, never longer.
  std::uint64_t of(NodeId id, std::uint64_t word, std::uint64_t timeout_us, std::uint64_t now_us);

 private:
  struct Seen {
    std::uint64_t word;
    std::uint64_t since_us;
    std::uint64_t looked_us;  ///< when the watcher last looked
  };
  std::map<NodeId, Seen> seen_;
};

}  // namespace granary::membership
