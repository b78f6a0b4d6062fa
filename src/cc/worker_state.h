#pragma once
// Has the state that a worker owns below the transaction layer: its memory, its garbage, its last TID. The commit
// (commit.h) works on it; src/db and src/txn set it up.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <granary/function_ref.h>

#include "htm/open_region.h"
#include "htm/region.h"
#include "kvstore/common/node_memory.h"
#include "src/base/counter.h"
#include "src/base/waiter.h"
#include "src/cc/database_state.h"
#include "src/cc/garbage_lists.h"
#include "src/cc/miss_times.h"
#include "src/cc/shared_miss_times.h"
#include "src/cc/timed_work.h"
#include "src/cc/two_pl/owners.h"
#include "src/log/log.h"
#include "src/memory/slab.h"

namespace granary::cc {

using base::bump;

struct AccessSet;

struct WorkerState {
  explicit WorkerState(DatabaseState& shared_state)
      : shared(shared_state),
        protocol(shared_state.settings.protocol),
        waiter(&shared_state.waiter),
        slabs(shared_state.slabs),
        nodes(slabs, shared_state.epochs),
        miss_times(shared_state.miss_times.take()) {}
  ~WorkerState() { shared.miss_times.give_back(miss_times); }
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;

  DatabaseState& shared;
  const std::uint8_t protocol;  ///< a copy of Settings::protocol, near the other members that each read needs
  /// Cluster::NodeParts::comes_back, which tells whether a node that cannot be used now will be back. Set by
  /// cluster::RemoteWorker. nullptr or empty: no node comes back while others serve.
  const std::function<bool(membership::NodeId)>* comes_back = nullptr;
  TimedWork* timed_work = nullptr;  ///< nullptr unless a benchmark measures
  base::Waiter* waiter;             ///< how this worker waits; with fibers, each pause lets the other fibers run
  memory::SlabCache slabs;
  NodeMemory nodes;
  log::Ring* ring = nullptr;  ///< this worker's log ring; nullptr: nothing is logged
  GarbageLists garbage;       ///< the garbage that waits to be freed (garbage.h)

  // Under TicToc: the times at which the worker's transactions have missed keys.
  MissTimes::Words& miss_times;             ///< this worker's words
  SharedMissTimes::Line* misses = nullptr;  ///< this worker's line, used instead of miss_times in a cluster

  TidWord last_tid = 0;  ///< the greatest TID that this worker has committed (I1)
  /// Under TicToc: the greatest time of this worker's transactions that only read (Options::session_order).
  TidWord last_read_time = 0;

  // HTM regions. The members are nullptr where there is no HTM.
  std::unique_ptr<htm::Region> region;           ///< tries commits in regions; nullptr under drtm
  std::unique_ptr<htm::OpenRegion> open_region;  ///< runs whole transactions in regions; only under drtm
  const AccessSet* in_open_region = nullptr;     ///< the access sets of the transaction that runs in `open_region` now
  /// The worker's open transactions that hold lock bits since START (drtm::RegionRun::claimed); only under drtm.
  std::vector<const AccessSet*> transactions_with_claims;
  /// Identifies the kind of work of a transaction: FunctionRef::code of a body, or begin()'s caller.
  const void* body = nullptr;

  // Under two-phase locking: the owners of locks that the worker's contexts have, and those of them whose transactions
  // go on while this one waits, which are other fibers' (txn::Together).
  two_pl::OwnerSet own_owners = 0;
  two_pl::OwnerSet moving_owners = 0;
  /// Returns the owners that give back no lock while one of the worker's transactions waits. Where bodies take turns,
  /// HeldLocks::outer stand still for one transaction besides.
  two_pl::OwnerSet standing_owners() const { return own_owners & ~moving_owners; }
  /// Calls its argument for each open transaction whose handle was dropped: the worker's next begin() ends it. Set by
  /// txn::WorkerCore.
  std::function<void(FunctionRef<void(const AccessSet&)>)> visit_dropped = {};

  // Written by this worker with relaxed stores, and read for statistics with relaxed loads.
  std::atomic<std::uint64_t> versions_created{0};
  std::atomic<std::int64_t> version_bytes{0};
  std::atomic<std::uint64_t> garbage_items{0};
  std::atomic<std::uint64_t> ring_waits{0};  ///< transactions that found the ring full
};

}  // namespace granary::cc
