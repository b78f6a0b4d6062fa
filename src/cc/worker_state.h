#pragma once
// What a worker owns below the transaction layer: memory, garbage, its last TID, and how the database was set up.

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

/// The settings of a database that the commit path looks at; constant after open.
struct Settings {
  std::uint8_t protocol = 0;  ///< its number in the registry (protocols.h)
  bool timed = false;         ///< the protocol computes times (Abilities::stamps_reads)
  bool in_regions = false;    ///< it runs whole transactions in HTM regions (Abilities::runs_in_region)
  bool reads_parts = false;   ///< parts of local records can be read (Abilities::reads_parts)
  bool writes_parts = false;  ///< and written (WriteEntry::is_part)
  bool snapshots = true;
  bool garbage_collection = true;
  bool overwrite_in_place = true;
  bool global_tids = false;
  bool claim_without_waiting = false;  ///< Options::tictoc_no_wait
  bool look_before_claiming = false;   ///< Options::tictoc_preempt
  bool small_log_records = false;      ///< log TIDs only: to measure
  std::uint32_t epoch_ms = 0;          ///< an epoch period; 0: epochs pass only when the application says so
};

/// What the database has done about memory that is short, once in each epoch period while it is (db::MemoryRelief). Written by
/// the thread that advances epochs (release, `looks` last); read by whoever waits for memory.
struct MemoryRelief {
  std::atomic<std::uint64_t> looks{0};
  std::atomic<epoch::Epoch> last_look{0};         ///< E at the last one
  std::atomic<std::uint64_t> garbage_waiting{0};  ///< items that workers had left after it
};

/// What all workers of one database share.
struct Shared {
  Settings settings;
  epoch::EpochManager& epochs;
  memory::SlabPool& slabs;
  base::Waiter& waiter;
  log::Log* log = nullptr;            ///< none: nothing is logged
  const htm::Support* htm = nullptr;  ///< none: commits take locks
  /// Of a node of a cluster: its right to commit (I11). Set before transactions begin.
  const membership::Fence* fence = nullptr;
  /// Of a node of a cluster: who lives. Set before transactions begin; none: everybody.
  const membership::Living* living = nullptr;
  /// The cluster's, by which leases on shared records end; none: they never do. Set before there are workers.
  const base::SoftTime* time = nullptr;
  MemoryRelief relief = {};
  const base::TickMeter meter = {};  ///< by which transactions are timed
  NodeTimes node_times = {};
  /// A node of a cluster sets these lines before there are workers; they are used if the protocol has such times.
  Misses misses = {};
  two_pl::Owners owners = {};
  tictoc::VersionEnds* version_ends = nullptr;  ///< of a database with Options::tictoc_history
  /// Last TID handed out, for TidSource::kGlobal only: workers compare-and-swap it upwards.
  alignas(base::kCacheLine) std::atomic<TidWord> global_tid{0};
};

/// Why a transaction that noted this number of the membership may not commit now; kNone if it may.
inline AbortReason fenced(const membership::Fence& fence, std::uint64_t noted) {
  if (fence.open(noted)) [[likely]]
    return AbortReason::kNone;
  const std::uint64_t now = fence.number();
  return now != membership::Fence::kClosed && now != noted ? AbortReason::kConfigurationChanged
                                                           : AbortReason::kMembershipLost;
}

/// What a transaction of a node of a cluster needs to commit (I11): its node's fence, open at the number that it noted when it began.
struct Right {
  const membership::Fence* fence = nullptr;  ///< none: there is no cluster
  std::uint64_t noted = 0;

  /// Why it may not commit now; kNone if it may. Asked behind the last wait, where nothing can come between but a stop of the process.
  AbortReason refused() const { return fence == nullptr ? AbortReason::kNone : fenced(*fence, noted); }
};

/// That of a transaction of a database that is no node of a cluster, known when the program is compiled: it costs nothing.
struct EveryRight {
  static constexpr AbortReason refused() { return AbortReason::kNone; }
  operator Right() const { return {}; }
};

/// Whether this node may not commit anything now. It may not hear either that what it waits for has come, or never will.
inline bool shut_out(const Shared& shared) {
  return shared.fence != nullptr && !shared.fence->open(shared.fence->number());
}

/// An absent record that may be unhooked from its index once no snapshot needs it, if it has not changed since. No snapshot ever needs
/// one that was never born.
struct AbsentRecord {
  Record* record;
  Index* index;
  TidWord tid;  ///< the TID word this registration was made for (I3)
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
  const std::uint8_t protocol;  ///< Settings::protocol, where each read finds it
  /// Of a worker of a cluster: cluster::NodeParts::comes_back, which tells whether a node that cannot be used now will be back. Set by who
  /// gives the worker its reach; none, or empty: no node comes back while others serve.
  const std::function<bool(membership::NodeId)>* comes_back = nullptr;
  TimedWork* timed = nullptr;  ///< none, unless somebody measures
  base::Waiter* waiter;        ///< how this worker waits: a worker of fibers lets the others run
  memory::SlabCache slabs;
  NodeMemory nodes;
  log::Ring* ring = nullptr;                 ///< this worker's, if there is a log
  epoch::LimboList<Record*> versions;        ///< by epoch of the TID that superseded them (snapshot reclamation)
  epoch::LimboList<AbsentRecord> absents;    ///< by epoch of the deletion (snapshot reclamation)
  epoch::LimboList<AbsentRecord> unborn;     ///< placeholders of aborted inserts (tree reclamation)
  epoch::LimboList<Record*> unhooked;        ///< by tree reclamation epoch
  NodeTimes::Words& node_times;              ///< for protocols that need it; this worker's
  Misses::Line* misses = nullptr;            ///< used in their place by a worker that reaches other nodes; its own line
  TidWord last_tid = 0;                      ///< greatest TID this worker committed (I1)
  std::unique_ptr<htm::Region> region;       ///< where commits are tried first, if there is HTM
  std::unique_ptr<htm::OpenRegion> section;  ///< in its place if the protocol runs whole transactions in regions
  const AccessSet* in_section = nullptr;     ///< whose transaction runs in `section` now
  std::vector<TidWord> planned_words;        ///< of the commit in a region: the TID words of what it will overwrite

  // Written by this worker with plain relaxed stores; statistics readers take a relaxed look.
  std::atomic<std::uint64_t> versions_created{0};
  std::atomic<std::int64_t> version_bytes{0};
  std::atomic<std::uint64_t> garbage_items{0};
  std::atomic<std::uint64_t> ring_waits{0};  ///< commits that found the ring full
};

/// Adds to a counter that only one thread writes; a plain add in machine code.
template <typename T>
void bump(std::atomic<T>& counter, T by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace granary::cc
