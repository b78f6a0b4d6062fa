#pragma once
// For how long the nodes of a host have not beaten, by the clock of the one that watches them. Nothing is concluded from anybody else's
// clock, nor from when a beat was made: silence counts from when this watcher first saw the beat that it still sees.
//
// What passes while the watcher itself stands still is no silence of others: after a machine was suspended, a container was frozen, or all nodes were
// stopped by a debugger, everybody's heartbeats are old, and nobody is to be removed for that. So a watcher that has not looked for
// half of a node's time-out counts from anew.

#include <cstdint>
#include <map>

#include "cluster_config/membership/configuration.h"

namespace granary::membership {

/// Of one watcher; one thread at a time. Times are of lifetime_us(), or told by a test.
class Silence {
 public:
  /// The node's word was loaded, and then the time: for how long it has been that word.
  std::uint64_t of(NodeId id, std::uint64_t word, std::uint64_t timeout_us, std::uint64_t now_us);

 private:
  struct Seen {
    std::uint64_t word;
    std::uint64_t since_us;
    std::uint64_t looked_us;  ///< last
  };
  std::map<NodeId, Seen> seen_;
};

}  // namespace granary::membership
