#pragma once
// What a node publishes for the other nodes of its cluster, at the start of its control region, one cache line for each
// writer; they reach it one-sided. A node alone has one as well, which nobody else looks at: its E is that word.
//
// In a cluster the words of the first line are changed by the leader's compare-and-swaps only, never by the node itself
// (I2), and each of them only grows (src/cluster/cluster_epoch/leader.h). The second line is the node's own.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/cache_line.h"

namespace granary::epoch {

using Epoch = std::uint64_t;

/// E never goes further: a TID has 34 bits for it (src/record/tid.h). No transaction may write in the last epoch, which
/// never becomes complete; a database that came so far does not open again.
inline constexpr Epoch kLastEpoch = (Epoch{1} << 34) - 1;

/// Counts the configurations of a cluster, which say who is a member and who leads. Never 0.
using Configuration = std::uint64_t;

/// Zeroed memory is a block before anything happened, but for E, which begins at 1.
struct ControlBlock {
  /// Written by the cluster's leader; in a node alone by its EpochManager.
  struct alignas(base::kCacheLine) ByLeader {
    std::atomic<Epoch> epoch{1};                 ///< E
    std::atomic<Epoch> durable{0};               ///< D: what epochs ≤ it did is durable on every node
    std::atomic<Epoch> snapshot_reclamation{0};  ///< versions superseded in epochs ≤ it are seen by no snapshot
    std::atomic<Configuration> admitted{0};      ///< whose leader gave the node E and D: it may serve
    std::atomic<Epoch> checkpoint{0};            ///< C: every node has a checkpoint of this epoch, or a later one
  };
  /// Written by the node (release); the leader READs them.
  struct alignas(base::kCacheLine) ByNode {
    std::atomic<Epoch> oldest{0};           ///< min e_w: no transaction of the node, now or later, has a smaller one
    std::atomic<Epoch> durable{0};          ///< what transactions of the node with epochs ≤ it did is durable
    std::atomic<Epoch> oldest_snapshot{0};  ///< min se_w: no snapshot of the node, now or later, has a smaller one
    std::atomic<Configuration> configuration{0};  ///< that the node acts in; 0: none yet
    std::atomic<std::uint64_t> serving{0};        ///< 1 once it was admitted, by this leader or an earlier one
    std::atomic<Epoch> checkpoint{0};             ///< of its newest installed checkpoint
  };

  ByLeader by_leader;
  ByNode by_node;
};

static_assert(sizeof(ControlBlock) == 2 * base::kCacheLine);
static_assert(std::atomic<Epoch>::is_always_lock_free && sizeof(std::atomic<Epoch>) == sizeof(Epoch),
              "other nodes reach the bare words");

}  // namespace granary::epoch
