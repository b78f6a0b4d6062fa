#pragma once
// Lays out the words that a node publishes for the other nodes of its cluster. They lie at the start of its control
// region, one cache line for each writer, and other nodes reach them one-sided. A node alone has such a block as well,
// which no other node looks at: its E is the word there.
//
// In a cluster, only the leader's compare-and-swaps change the words of the first line, never the node itself (I2), and
// each of these words only grows (src/cluster/cluster_epoch/leader.h). The second line is the node's own.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/cache_line.h"

namespace granary::epoch {

using Epoch = std::uint64_t;

/// The last epoch. E never goes further, because a TID has 34 bits for it (src/record/tid.h). No transaction may write
/// in this epoch, and it never becomes complete. A database that has come so far cannot be opened again.
inline constexpr Epoch kLastEpoch = (Epoch{1} << 34) - 1;

/// Counts the configurations of a cluster, which say who is a member and who leads. Never 0.
using Configuration = std::uint64_t;

/// The block of one node. Zeroed memory is a block in which nothing has happened yet, except that E begins at 1.
struct ControlBlock {
  /// Written by the cluster's leader; in a node alone by its EpochManager.
  struct alignas(base::kCacheLine) ByLeader {
    std::atomic<Epoch> epoch{1};    ///< E
    std::atomic<Epoch> durable{0};  ///< D: every node has made durable all that transactions with epochs ≤ it wrote
    std::atomic<Epoch> snapshot_reclamation{0};  ///< no snapshot sees versions superseded in epochs ≤ it
    std::atomic<Configuration> admitted{0};      ///< whose leader gave the node E and D, so that it may serve
    std::atomic<Epoch> checkpoint{0};            ///< C: every node has a checkpoint of this epoch, or a later one
  };
  /// Written by the node (release); the leader READs them.
  struct alignas(base::kCacheLine) ByNode {
    std::atomic<Epoch> oldest{0};   ///< min e_w: no transaction of the node, now or later, has a smaller e_w
    std::atomic<Epoch> durable{0};  ///< the node has made durable all that its transactions with epochs ≤ it wrote
    std::atomic<Epoch> oldest_snapshot{0};  ///< min se_w: no snapshot of the node, now or later, has a smaller se_w
    std::atomic<Configuration> configuration{0};  ///< the configuration that the node acts in; 0: none yet
    std::atomic<std::uint64_t> serving{0};        ///< 1 once this leader or an earlier one has admitted the node
    std::atomic<Epoch> checkpoint{0};             ///< the epoch of its newest installed checkpoint
  };

  ByLeader by_leader;
  ByNode by_node;
};

static_assert(sizeof(ControlBlock) == 2 * base::kCacheLine);
static_assert(std::atomic<Epoch>::is_always_lock_free && sizeof(std::atomic<Epoch>) == sizeof(Epoch),
              "other nodes reach the bare words");

}  // namespace granary::epoch
