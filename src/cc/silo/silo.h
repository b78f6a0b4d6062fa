#pragma once
// Implements the protocol `silo` (SOSP 2013, sections 4.4 to 4.6), as a guest of src/cc/protocol.h: optimistic reads,
// with version and lock in the record's TID word. It is the default protocol, and `drtm` is derived from it.

#include <cstring>
#include <span>
#include <string_view>

#include "htm/attempt.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/cc/lock_record.h"
#include "src/cc/protocol.h"
#include "src/cc/region/record_in.h"
#include "src/cc/silo/stamp.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_lock.h"
#include "src/record/shared_read.h"

namespace granary::cc::silo {

struct Silo {
  static constexpr std::string_view kName = "silo";
  static constexpr bool kStampsFirst = false;
  static constexpr bool kReadsParts = true;

  static record::StableRead read(const Record& record, std::size_t key_bytes, std::span<char> buffer,
                                 const WorkerState& worker, AccessSet&, TidWord& /*rts*/) {
    return record::read_record(record, key_bytes, buffer.data(), buffer.size(), *worker.waiter);
  }
  static record::StableRead look(const Record& record, const WorkerState& worker, AccessSet&, TidWord& /*rts*/) {
    return record::read_record_tid(record, *worker.waiter);
  }
  static record::StableRead read_part(const Record& record, std::size_t from, std::span<char> buffer,
                                      const WorkerState& worker, TidWord& /*rts*/) {
    return record::read_part(record, from, buffer.data(), buffer.size(), *worker.waiter, [](TidWord) {});
  }

  static AbortReason claim(Record& record, const WorkerState& worker, AccessSet&) {
    if (record::is_shared(&record)) [[unlikely]]
      return claim_shared(record::shared_of(record), worker);
    return lock_record(record, worker);
  }
  static void give_back(Record& record) { record.unlock_unchanged(); }

  /// A record passes if its TID is the one that was read and no other transaction holds its lock (Silo 4.4, phase 2).
  static AbortReason check_local(const ReadEntry& read, const Claims& claims, const Moment&, const WorkerState&) {
    base::debug_invariant("I14", [&] { return !record::is_locked(read.tid); });
    const TidWord word = read.record->tid();
    if (word == read.tid) [[likely]]
      return AbortReason::kNone;
    if ((word & ~record::kLocked) != read.tid) return AbortReason::kReadChanged;
    return claimed(read, claims) ? AbortReason::kNone : AbortReason::kReadLocked;
  }
  /// A shared record passes if it is not x-locked either. If the transaction has claimed it, an x-lock was taken later
  /// than the claim, so its holder finds the lock bit, and waits until it is clear or lets the x-lock go (I2).
  static AbortReason check_shared(const ReadEntry& read, const Claims& claims, const Moment&, const WorkerState&) {
    const record::SharedHeader header = record::load_header(record::shared_of(*read.record));
    if ((header.tid & ~record::kLocked) != read.tid) return AbortReason::kReadChanged;
    if (!record::is_locked(header.tid) && !record::is_x_locked(header.state)) return AbortReason::kNone;
    return claimed(read, claims) ? AbortReason::kNone : AbortReason::kReadLocked;
  }

  static TidWord stamp(const AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord remote_bound) {
    return choose_tid(access, worker, epoch, remote_bound);
  }
  static AbortReason reason_for_no_stamp(epoch::Epoch epoch) { return no_tid_left(epoch); }

  static bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period) {
    return cc::prepare(write, worker, period);
  }
  static void unprepare(WriteEntry& write, WorkerState& worker) { cc::unprepare(write, worker); }
  static void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period) {
    cc::install(write, worker, tid, period);
  }

  static constexpr bool may_leave_index(const Record&, const WorkerState&) { return true; }

  static bool plan(const WriteEntry& write, const WorkerState& worker, TidWord& planned, TidWord& /*bound*/) {
    return plan_write(write, owner_rule(worker), planned);
  }
  static bool prepare_in_place(WriteEntry& write, WorkerState& worker, epoch::Epoch period, TidWord word) {
    return cc::prepare_in_place(write, worker, period, word);
  }
  static void installed_in_region(const WriteEntry& write, WorkerState& worker, TidWord old, TidWord tid) {
    cc::installed_in_region(write, worker, old, tid);
  }

  template <typename Memory>
  static htm::Verdict check_read_in(Memory& memory, const ReadEntry& read, const Moment&, const WorkerState&) {
    return check_version_in(memory, read);
  }
  template <typename Memory>
  static htm::Verdict check_planned_in(Memory& memory, const WriteEntry& write, TidWord planned, const Moment&,
                                       const WorkerState& worker) {
    return check_plan_in(memory, write, planned, owner_rule(worker));
  }
  template <typename Memory>
  static void install_in(Memory& memory, const WriteEntry& write, TidWord planned, TidWord tid) {
    store_version_in(memory, write, planned, tid);
  }

 private:
  static record::OwnerRule owner_rule(const WorkerState& worker) {
    return record::OwnerRule::with_leases(worker.shared.time);
  }
  static bool claimed(const ReadEntry& read, const Claims& claims) {
    return claims.has(read.record) || base::injected("skip-own-lock-check");
  }
  /// Claims a record that another node may hold.
  static AbortReason claim_shared(record::SharedRecord& record, const WorkerState& worker);
};
static_assert(Protocol<Silo> && ReadsParts<Silo> && ReachesShared<Silo> && CommitsInRegion<Silo>);

}  // namespace granary::cc::silo
