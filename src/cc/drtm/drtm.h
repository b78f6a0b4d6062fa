#pragma once
// DrTM (Wei et al., SOSP 2015), as a guest of src/cc/protocol.h: a transaction's whole work at this node runs in one HTM region.
//
// Its words are Silo's, so log, snapshots and the other nodes' protocol stay. What differs is when others are kept away:
//
//   START    what is declared at other nodes is locked or leased, and fetched; their epochs are agreed on, and old versions kept
//   region   begins with the first read of a record of this node, and ends with the commit. Records are read in place. Strong atomicity
//            does what validation does elsewhere: whoever changes a line that was read aborts the region.
//   COMMIT   in the region: TID, log entry, new values; leases are confirmed (commit_in_section.h). Behind it the others' write-back.
//
// A region sees locks: a record that somebody has claimed, or x-locked from elsewhere, aborts it. Whoever claims one later changes its line.
// So regions and locks mix, and what a region cannot do is done with locks (the fallback handler): what was declared of this node's shared
// tables is claimed in the order of addresses, behind the x-locks elsewhere, which never wait while they hold something. The rest is
// Silo's optimistic work. A database without snapshots claims all that was declared.
//
// With hardware an abort goes back to where the region was opened, which the transaction does not notice. In a simulation the transaction
// aborts (kReadChanged, kRecordBusy), and is to be run again; unless a region is of no use, then it goes on with locks.

#include <span>
#include <string_view>

#include "src/cc/protocol.h"
#include "src/cc/silo/silo.h"

namespace granary::cc::drtm {

struct DrTm : silo::Silo {
  static constexpr std::string_view kName = "drtm";
  static constexpr bool kReadsParts = false;  // reads are the region's

  static record::StableRead read(const Record& record, std::size_t key_bytes, std::span<char> buffer,
                                 WorkerState& worker, AccessSet& access, TidWord& rts);
  static record::StableRead look(const Record& record, WorkerState& worker, AccessSet& access, TidWord& rts);

  /// A record whose lock bit the transaction has since START becomes one of its claims.
  static AbortReason claim(Record& record, const WorkerState& worker, AccessSet& access);

  // A read under the transaction's own lock bit is noted with the bit. Then the same word says that the transaction still has it, or has it
  // again behind a commit that was out of memory, with nothing changed meanwhile.
  static AbortReason check_local(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                 const WorkerState& worker) {
    return record::is_locked(read.tid) ? check_held(read) : Silo::check_local(read, claims, moment, worker);
  }
  static AbortReason check_shared(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                  const WorkerState& worker) {
    return record::is_locked(read.tid) ? check_held(read) : Silo::check_shared(read, claims, moment, worker);
  }

  /// Remembers a record of this node that was declared.
  static void declare(Record& record, AccessSet& access);
  /// Returns whether the transaction runs in the worker's region now. Before the first touch of this node's records the region is opened.
  static bool enter(AccessSet& access, WorkerState& worker);
  /// Ends the region, if the transaction is still in it, and gives back the lock bits that no commit has used.
  static void end(AccessSet& access, WorkerState& worker);

 private:
  static AbortReason check_held(const ReadEntry& read) {
    return read.record->tid() == read.tid ? AbortReason::kNone : AbortReason::kReadChanged;
  }
};
static_assert(Protocol<DrTm> && ReachesShared<DrTm> && RunsInRegion<DrTm>);

/// Called before a worker does what no region can, such as asking another node: its region, if one is open, aborts for good.
void leave_region(WorkerState& worker);

}  // namespace granary::cc::drtm
