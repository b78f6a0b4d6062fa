#pragma once
// Implements the protocol `drtm` (DrTM; Wei et al., SOSP 2015), as a guest of src/cc/protocol.h: all work of a
// transaction at this node runs in one HTM region. Records, log, snapshots and the commit at other nodes are Silo's.
// These steps differ:
//
//   START    The keys that were declared at other nodes are x-locked or leased, and fetched. The nodes agree on an
//            epoch, and old versions are kept (RemoteCommit::make_ready).
//   region   It begins with the first read of a record of this node, and ends with the commit. Records are read in
//            place. Strong atomicity takes the place of validation: a change of any line that was read makes the region
//            abort. On hardware that does not hold for changes by this very thread, so a commit of another transaction
//            of the thread ends the region first (choose_participants.h).
//   COMMIT   In the region the leases are confirmed, the log entry is published, and values and TIDs are stored
//            (commit_in_open_region.h). After the region the records of other nodes are written back.
//
// Regions and locks mix. A region that finds a record claimed, or x-locked by another node, ends. A transaction that
// claims a record later changes a line that the region has read, so the region aborts.
//
// The fallback handler does with locks what a region cannot do. It claims the declared records of this node in the
// order of addresses: those of shared tables, or all if the database has no snapshots. It does so after the x-locks at
// other nodes, and no transaction waits for an x-lock while it holds something, so waits never form a cycle. Other
// records are used as Silo does, optimistically.
//
// On hardware an abort puts the thread back to where the region was opened, which the transaction does not notice. In a
// simulation the transaction goes on with locks, if trying a region again would be of no use. Otherwise it aborts and
// has to be run again. A read then ends with kRecordBusy or kLockedByOwnWorker, and a commit with the reason for which
// the region has aborted (why_again() and reason_of()).

#include <span>
#include <string_view>

#include "src/cc/drtm/region_run.h"
#include "src/cc/protocol.h"
#include "src/cc/silo/silo.h"

namespace granary::cc::drtm {

struct DrTm : silo::Silo {
  static constexpr std::string_view kName = "drtm";
  static constexpr bool kReadsParts = false;  // reads are the region's

  static record::StableRead read(const Record& record, std::size_t key_bytes, std::span<char> buffer,
                                 WorkerState& worker, AccessSet& access, TidWord& rts);
  static record::StableRead look(const Record& record, WorkerState& worker, AccessSet& access, TidWord& rts);

  /// Claims a record. If the transaction holds its lock bit since START, that becomes the claim.
  static AbortReason claim(Record& record, const WorkerState& worker, AccessSet& access);

  // A read under the transaction's own lock bit is noted with the bit set. It holds if the record still has that very
  // word: then the transaction still holds the bit, or holds it again after a first try of the commit that was out of
  // memory, and the version is the same.
  static AbortReason check_local(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                 const WorkerState& worker) {
    return record::is_locked(read.tid) ? check_held(read) : Silo::check_local(read, claims, moment, worker);
  }
  static AbortReason check_shared(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                  const WorkerState& worker) {
    return record::is_locked(read.tid) ? check_held(read) : Silo::check_shared(read, claims, moment, worker);
  }

  static void declare(Record& record, AccessSet& access, WorkerState& worker);
  static bool enter(AccessSet& access, WorkerState& worker);
  /// Ends the region if the transaction still runs in it, and gives back the lock bits that no commit has taken over.
  static void end(AccessSet& access, WorkerState& worker);

 private:
  static AbortReason check_held(const ReadEntry& read) {
    return read.record->tid() == read.tid ? AbortReason::kNone : AbortReason::kReadChanged;
  }
};
static_assert(Protocol<DrTm> && ReachesShared<DrTm> && RunsInRegion<DrTm>);

/// Ends the worker's open region, if there is one, and does not try it again. Called before the worker does something
/// that no region can do, such as asking another node.
void leave_region(WorkerState& worker);

}  // namespace granary::cc::drtm
