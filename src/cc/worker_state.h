#pragma once
// Has the state that a worker owns below the transaction layer (memory, garbage, its last TID), and the state that all
// workers of a database share (settings, epochs, the log). The commit (commit.h) works on it; src/db and src/txn set it
// up.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <granary/outcome.h>

#include "cluster_config/membership/fence.h"
#include "cluster_config/membership/living.h"
#include "htm/open_region.h"
#include "htm/region.h"
#include "kvstore/common/node_memory.h"
#include "src/base/cache_line.h"
#include "src/base/soft_time.h"
#include "src/base/tsc_clock.h"
#include "src/base/waiter.h"
#include "src/cc/index.h"
#include "src/cc/misses.h"
#include "src/cc/node_times.h"
#include "src/cc/timed_work.h"
#include "src/cc/two_pl/owners.h"
#include "src/epoch/epoch.h"
#include "src/epoch/limbo.h"
#include "src/log/log.h"
#include "src/memory/slab.h"
#include "src/record/record.h"

namespace granary::cc {

namespace tictoc {
class VersionEnds;
}

using record::Record;
using record::TidWord;

struct AccessSet;
struct Running;

/// The settings of a database that the commit path looks at. They are constant after the database has opened.
struct Settings {
  std::uint8_t protocol = 0;  ///< the protocol's number in the registry (protocols.h)
  bool stamps_reads = false;  ///< the protocol computes times (Abilities::stamps_reads)
  bool in_regions = false;    ///< the protocol runs whole transactions in HTM regions (Abilities::runs_in_region)
  bool reads_parts = false;   ///< parts of local records can be read (Abilities::reads_parts)
  bool writes_parts = false;  ///< parts of local records can be written (WriteEntry::is_part)
  bool snapshots = true;
  bool garbage_collection = true;
  bool overwrite_in_place = true;
  bool global_tids = false;
  bool claim_without_waiting = false;  ///< Options::tictoc_no_wait
  bool look_before_claiming = false;   ///< Options::tictoc_preempt
  bool small_log_records = false;      ///< the log has TIDs only, for measurements
  std::uint32_t epoch_ms = 0;          ///< the epoch period; 0: epochs pass only when the application says so
};

/// Tells what db::MemoryRelief has done while memory was short; it looks for memory once in each epoch period. Written
/// by the thread that advances epochs, `looks` last (release). Read by workers that wait for memory (db::MemoryWait).
struct MemoryRelief {
  std::atomic<std::uint64_t> looks{0};            ///< how often it has looked for memory
  std::atomic<epoch::Epoch> last_look{0};         ///< E at the last look
  std::atomic<std::uint64_t> garbage_waiting{0};  ///< items of garbage that workers had after the last look
};

/// The state that all workers of one database share.
struct Shared {
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
  MemoryRelief relief = {};
  const base::TickMeter meter = {};  ///< measures how long transactions take
  NodeTimes node_times = {};         ///< used by TicToc
  /// Used by TicToc on a node of a cluster, which sets the lines before there are workers.
  Misses misses = {};
  two_pl::Owners owners = {};                   ///< used by two-phase locking
  tictoc::VersionEnds* version_ends = nullptr;  ///< nullptr without Options::tictoc_history
  /// The last TID that was handed out, under TidSource::kGlobal. Workers raise it by compare-and-swap (silo/stamp.h).
  alignas(base::kCacheLine) std::atomic<TidWord> global_tid{0};
};

/// Returns why a transaction may not commit now that has noted this number of the membership; kNone if it may.
inline AbortReason fenced(const membership::Fence& fence, std::uint64_t noted) {
  if (fence.open(noted)) [[likely]]
    return AbortReason::kNone;
  const std::uint64_t now = fence.number();
  return now != membership::Fence::kClosed && now != noted ? AbortReason::kConfigurationChanged
                                                           : AbortReason::kMembershipLost;
}

/// A transaction's right to commit on a node of a cluster (I11): the node's fence must be open at the number of the
/// membership that the transaction noted when it began.
struct Right {
  const membership::Fence* fence = nullptr;  ///< nullptr: there is no cluster
  std::uint64_t noted = 0;                   ///< the number of the membership

  /// Returns why the transaction may not commit now; kNone if it may. A commit asks after its last wait, so that only a
  /// stop of the process can come between the answer and the decision.
  AbortReason refused() const { return fence == nullptr ? AbortReason::kNone : fenced(*fence, noted); }
};

/// The right of a transaction in a database that is no node of a cluster. The compiler knows the answer, so it costs
/// nothing.
struct EveryRight {
  static constexpr AbortReason refused() { return AbortReason::kNone; }
  operator Right() const { return {}; }
};

/// Whether this node may not commit anything now. Such a node may not be told any more that a record has become free or
/// that its holder has died, so nobody goes on waiting on it.
inline bool shut_out(const Shared& shared) {
  return shared.fence != nullptr && !shared.fence->open(shared.fence->number());
}

/// An absent record that waits to be unhooked from its index, until no snapshot needs it; an unborn record is needed by
/// no snapshot. It is unhooked only if its TID word is still `tid`.
struct AbsentRecord {
  Record* record;
  Index* index;
  TidWord tid;  ///< the TID word for which it was registered (I3)
  std::string key;
};

struct WorkerState {
  explicit WorkerState(Shared& shared_state)
      : shared(shared_state),
        protocol(shared_state.settings.protocol),
        waiter(&shared_state.waiter),
        slabs(shared_state.slabs),
        nodes(slabs, shared_state.epochs),
        node_times(shared_state.node_times.take()) {}
  ~WorkerState() { shared.node_times.give_back(node_times); }
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;

  Shared& shared;
  const std::uint8_t protocol;  ///< a copy of Settings::protocol, near the other members that each read needs
  /// Cluster::NodeParts::comes_back, which tells whether a node that cannot be used now will be back. Set by
  /// cluster::RemoteWorker. nullptr or empty: no node comes back while others serve.
  const std::function<bool(membership::NodeId)>* comes_back = nullptr;
  TimedWork* timed_work = nullptr;  ///< nullptr unless somebody measures
  base::Waiter* waiter;             ///< how this worker waits; with fibers, each pause lets the other fibers run
  memory::SlabCache slabs;
  NodeMemory nodes;
  log::Ring* ring = nullptr;  ///< this worker's log ring; nullptr: nothing is logged

  // Garbage that waits until its epoch is over everywhere (garbage.h).
  epoch::LimboList<Record*> versions;      ///< by the epoch of the TID that superseded them (snapshot reclamation)
  epoch::LimboList<AbsentRecord> absents;  ///< by the epoch of the removal (snapshot reclamation)
  epoch::LimboList<AbsentRecord> unborn;   ///< placeholders of aborted inserts (tree reclamation)
  epoch::LimboList<Record*> unhooked;      ///< by tree reclamation epoch

  // Under TicToc: the times at which the worker's transactions have missed keys.
  NodeTimes::Words& node_times;    ///< this worker's words
  Misses::Line* misses = nullptr;  ///< this worker's line, used instead of node_times in a cluster

  TidWord last_tid = 0;  ///< the greatest TID that this worker has committed (I1)

  // HTM regions. The members are nullptr where there is no HTM.
  std::unique_ptr<htm::Region> region;           ///< tries commits in regions; nullptr under drtm
  std::unique_ptr<htm::OpenRegion> open_region;  ///< runs whole transactions in regions; only under drtm
  const AccessSet* in_open_region = nullptr;     ///< the access sets of the transaction that runs in `open_region` now
  /// The worker's open transactions that hold lock bits since START (Running::claimed); only under drtm.
  std::vector<const Running*> holders;
  /// What tells apart what transactions do: FunctionRef::code of a body, or begin()'s caller.
  const void* body = nullptr;

  // Under two-phase locking: the owners of locks that the worker's contexts have, and those of them whose transactions
  // go on while this one waits, which are other fibers' (txn::Together).
  two_pl::OwnerSet own_owners = 0;
  two_pl::OwnerSet moving_owners = 0;
  /// Returns the owners that give back no lock while one of the worker's transactions waits. Where bodies take turns,
  /// HeldLocks::outer stand still for one transaction besides.
  two_pl::OwnerSet standing_owners() const { return own_owners & ~moving_owners; }

  // Written by this worker with relaxed stores, and read for statistics with relaxed loads.
  std::atomic<std::uint64_t> versions_created{0};
  std::atomic<std::int64_t> version_bytes{0};
  std::atomic<std::uint64_t> garbage_items{0};
  std::atomic<std::uint64_t> ring_waits{0};  ///< transactions that found the ring full
};

/// Adds to a counter that only one thread writes. It compiles to a plain add.
template <typename T>
void bump(std::atomic<T>& counter, T by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace granary::cc
