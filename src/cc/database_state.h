#pragma once
// Has the state that all workers of a database share: settings, epochs, memory, the log. src/db sets it up.

#include <atomic>
#include <cstdint>

#include "cluster_config/membership/fence.h"
#include "cluster_config/membership/living.h"
#include "htm/support.h"
#include "src/base/cache_line.h"
#include "src/base/soft_time.h"
#include "src/base/tsc_clock.h"
#include "src/base/waiter.h"
#include "src/cc/miss_times.h"
#include "src/cc/settings.h"
#include "src/cc/shared_miss_times.h"
#include "src/cc/two_pl/owners.h"
#include "src/epoch/epoch.h"
#include "src/log/log.h"
#include "src/memory/slab.h"
#include "src/record/tid.h"

namespace granary::cc {

namespace tictoc {
class VersionEnds;
}

using record::TidWord;

/// Tells what db::MemoryRelief has done while memory was short; it looks for memory once in each epoch period. The
/// thread that advances epochs writes it, `looks` last (release) and the others relaxed. Workers that wait for memory
/// (db::MemoryWait) load `looks` first (acquire), so they find the others at least as new.
struct MemoryReliefReport {
  std::atomic<std::uint64_t> looks{0};            ///< how often it has looked for memory
  std::atomic<epoch::Epoch> last_look{0};         ///< E at the last look
  std::atomic<std::uint64_t> garbage_waiting{0};  ///< items of garbage that workers had after the last look
};

/// The state that all workers of one database share.
struct DatabaseState {
  Settings settings;
  epoch::EpochManager& epochs;
  memory::SlabPool& slabs;
  base::Waiter& waiter;
  log::Log* log = nullptr;            ///< nullptr: nothing is logged
  const htm::Support* htm = nullptr;  ///< nullptr: there is no HTM, and commits take locks
  /// Whether this node may commit (I11); nullptr without a cluster. Set before transactions begin.
  const membership::Fence* fence = nullptr;
  /// Which nodes of the cluster live; nullptr: all of them. Set before transactions begin.
  const membership::Living* living = nullptr;
  /// The cluster's time, by which leases on shared records end; nullptr: leases never end. Set before there are
  /// workers.
  const base::SoftTime* time = nullptr;
  MemoryReliefReport relief = {};
  const base::TickMeter meter = {};  ///< measures how long transactions take
  MissTimes miss_times = {};         ///< used by TicToc
  /// Used by TicToc on a node of a cluster, which sets the lines before there are workers.
  SharedMissTimes misses = {};
  two_pl::Owners owners = {};                   ///< used by two-phase locking
  tictoc::VersionEnds* version_ends = nullptr;  ///< nullptr without Options::tictoc_history
  /// The last TID that was handed out, under TidSource::kGlobal. Workers raise it by compare-and-swap. Relaxed: TIDs
  /// only have to be unique and to grow (silo/stamp.h).
  alignas(base::kCacheLine) std::atomic<TidWord> global_tid{0};
};

/// Whether this node may not commit anything now. Such a node may not be told any more that a record has become free or
/// that its holder has died, so no thread goes on waiting on it.
inline bool may_not_commit(const DatabaseState& shared) {
  return shared.fence != nullptr && !shared.fence->open(shared.fence->number());
}

}  // namespace granary::cc
