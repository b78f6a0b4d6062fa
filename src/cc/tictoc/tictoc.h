#pragma once
// Implements the protocol `tictoc` (TicToc, SIGMOD 2016), as a guest of src/cc/protocol.h. It computes a transaction's
// place in the serial order from the versions that the transaction has read and overwrites. A version's wts is its TID,
// and its rts lies beside the record's size (src/record/rts.h). A transaction may be serial before another one that has
// overwritten what it read, if the version that it read was valid until its own time.
//
// Times are TIDs. A transaction that writes has a time of the epoch E that it reads after its last lock, so
// transactions are reordered within an epoch only, and snapshots and durable epochs are Silo's. (The paper's section
// 3.7 has batches for that.) A version of an earlier epoch is valid until (E, 0) without anybody writing so. So readers
// of old versions write no shared memory, as in Silo. Nor do transactions of the time (E, 1), as nearly all are that
// overwrite no version of this epoch (ties.h).
//
// access.cc reads and claims records, and validate.cc chooses the time and validates. region_steps.h has what a commit
// in an HTM region does in their place, and shared_record.h what differs for records that other nodes reach.
// docs/protocols.md compares it with the paper.

#include <algorithm>
#include <span>
#include <string_view>

#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/cc/miss_times.h"
#include "src/cc/protocol.h"
#include "src/cc/silo/stamp.h"
#include "src/cc/tictoc/region_steps.h"
#include "src/cc/worker_state.h"
#include "src/record/rts.h"

namespace granary::cc::tictoc {

struct TicToc : RegionSteps {
  static constexpr std::string_view kName = "tictoc";
  static constexpr bool kStampsFirst = true;
  static constexpr bool kReadsParts = true;

  static record::StableRead read(const Record& record, std::size_t key_bytes, std::span<char> buffer,
                                 const WorkerState& worker, AccessSet& access, TidWord& rts);
  static record::StableRead look(const Record& record, const WorkerState& worker, AccessSet& access, TidWord& rts);
  static record::StableRead read_part(const Record& record, std::size_t from, std::span<char> buffer,
                                      const WorkerState& worker, TidWord& rts);

  /// Returns why the transaction cannot commit, as far as that can be told before it claims anything (5.2). Always
  /// kNone without Options::tictoc_preempt.
  static AbortReason reason_to_give_up_early(const AccessSet& access, const WorkerState& worker);
  /// Takes the lock bit and freezes the rts.
  static AbortReason claim(Record& record, const WorkerState& worker, AccessSet& access);
  /// Whether to claim all records again after a claim has failed and all have been given back (5.1).
  static bool claims_again(AbortReason reason, const WorkerState& worker, std::uint32_t turn) {
    return reason == AbortReason::kWriteLocked && worker.shared.settings.claim_without_waiting &&
           turn < base::kBoundedPauses;
  }
  static void give_back(Record& record);

  /// Makes sure that the version that was read is valid until the moment, and raises its rts if it must (Algorithm 5).
  static AbortReason check_local(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                 const WorkerState& worker) {
    if (read.rts >= moment.stamp) return AbortReason::kNone;
    return make_valid(read, claims, moment, worker);
  }

  static AbortReason check_shared(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                  const WorkerState& worker);

  /// Chooses the commit time (Algorithm 2, lines 6 to 13).
  static TidWord stamp(const AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord remote_bound);
  static TidWord stamp_reads(const AccessSet& access);
  /// Returns the greatest time of the worker's transactions that have ended, if Options::session_order is on, and
  /// otherwise 0. A transaction that only reads may have the same time, as those of one time are serial in the order
  /// in which they had their locks. A transaction that writes gets a greater one. Transactions of a worker that
  /// overlap may get the same TID.
  static TidWord session_time(const WorkerState& worker) {
    if (!worker.shared.settings.session_order) return 0;
    return std::max(worker.last_tid, worker.last_read_time);
  }
  static void note_read_time(WorkerState& worker, TidWord time) {
    worker.last_read_time = std::max(worker.last_read_time, time);
  }
  static AbortReason reason_for_no_stamp(epoch::Epoch epoch) { return silo::no_tid_left(epoch); }
  /// Announces that the tables of the node set have no other keys at the moment (src/cc/miss_times.h).
  static void announce_miss_time(const AccessSet& access, WorkerState& worker, const Moment& moment);

  static bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period) {
    return cc::prepare(write, worker, period);
  }
  static void unprepare(WriteEntry& write, WorkerState& worker) { cc::unprepare(write, worker); }
  static void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period);
  static bool may_leave_index(Record& record, const WorkerState& worker);

 private:
  static AbortReason make_valid(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                const WorkerState& worker);
};
static_assert(Protocol<TicToc> && StampsReads<TicToc> && ReadsParts<TicToc> && ReachesShared<TicToc> &&
              StampsInRegion<TicToc>);

}  // namespace granary::cc::tictoc
