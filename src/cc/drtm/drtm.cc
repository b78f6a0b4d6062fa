#include "src/cc/drtm/drtm.h"

#include <algorithm>

#include <granary/limits.h>

#include "src/cc/elsewhere/remote_commit.h"
#include "src/cc/holder_liveness.h"
#include "src/cc/log_entry.h"
#include "src/cc/participant.h"
#include "src/cc/region/region_code.h"

namespace granary::cc::drtm {
namespace {

using htm::Verdict;
using record::ReadState;
using record::StableRead;
using Way = RegionRun::Way;

/// Reads a record inside the region (DrTM's LOCAL_READ). A set lock bit or an x-lock means that somebody may change the
/// record soon, so the region ends. A lease of another node does not matter to a reader.
template <typename Memory>
Verdict read_in(Memory& memory, const Record& record, std::size_t key_bytes, std::span<char> buffer, bool copies,
                StableRead& seen) {
  if (x_locked_in(memory, &record) && !base::injected("drtm-ignores-x-lock")) return retry(RegionCode::kReadLocked);
  const auto load = [&memory](const std::uint64_t& word) {
    return base::injected("drtm-reads-unwatched") ? base::load_word(&word) : memory.load(&word);
  };
  const TidWord word = load(record.tid_word);
  if (record::is_locked(word) && !base::injected("drtm-ignores-lock-bit")) return retry(RegionCode::kReadLocked);
  seen.tid = record::unlocked(word);
  if (!record::is_latest(word)) {
    seen.state = ReadState::kReplaced;
  } else if (record::is_absent(word)) {
    seen.state = ReadState::kMissing;
  } else {
    seen.size = static_cast<std::uint32_t>(load(record.size_word) & record::kSizeMask);
    const bool fits = !copies || seen.size <= buffer.size();
    if (copies && fits && base::injected("drtm-reads-unwatched")) {
      base::copy_from_shared(buffer.data(), record::value_words(record, key_bytes), seen.size);
    } else if (copies && fits) {
      memory.copy(buffer.data(), record::value_words(record, key_bytes), seen.size);
    }
    seen.state = fits ? ReadState::kValue : ReadState::kTooSmall;
  }
  return Verdict::done();
}

/// Reads a record whose lock bit the transaction has held since START. No other transaction changes the record: another
/// node that x-locks it finds the bit, and waits until it is clear or gives the x-lock back (I2). The TID word that is
/// returned has the lock bit set (DrTm::check_local).
StableRead read_claimed(const Record& record, std::size_t key_bytes, std::span<char> buffer, bool copies) {
  const TidWord word = record.tid();
  if (record::is_absent(word)) return {word, ReadState::kMissing};
  const auto size = static_cast<std::uint32_t>(record.size());
  if (copies && size > buffer.size()) return {word, ReadState::kTooSmall, size};
  if (copies) base::copy_from_shared(buffer.data(), record::value_words(record, key_bytes), size);
  return {word, ReadState::kValue, size};
}

bool has_claimed(const AccessSet& access, const Record& record) {
  const std::vector<Record*>& claimed = access.region_run.claimed;
  return !claimed.empty() && std::binary_search(claimed.begin(), claimed.end(), &record);
}

bool is_dropped(const AccessSet& access, const WorkerState& worker) {
  bool dropped = false;
  worker.visit_dropped([&](const AccessSet& one) { dropped |= &one == &access; });
  return dropped;
}

/// Whether another open transaction of the worker holds the record's lock bit since START, and does not end while this
/// one waits or is run again. Those of other fibers do, which only a node of a cluster has under this protocol, and
/// those whose handles were dropped.
bool is_barred(const Record& record, const AccessSet& access, const WorkerState& worker) {
  return std::ranges::any_of(worker.transactions_with_claims, [&](const AccessSet* other) {
    if (other == &access || !std::ranges::binary_search(other->region_run.claimed, &record)) return false;
    return other->remote == nullptr ? !is_dropped(*other, worker) : !other->remote->goes_on(other->region_run.fiber);
  });
}

/// START of the fallback handler: claims the declared records of this node, in the order of addresses, so that waits
/// never form a cycle. A record that was replaced is left to the commit. If a claim fails, all are given back. It needs
/// no memory (DrTm::declare).
bool claim_declared(AccessSet& access, WorkerState& worker) {
  std::vector<Record*>& declared = access.region_run.declared;
  std::vector<Record*>& claimed = access.region_run.claimed;
  std::sort(declared.begin(), declared.end());
  declared.erase(std::unique(declared.begin(), declared.end()), declared.end());
  for (Record* const record : declared) {
    const AbortReason reason = DrTm::claim(*record, worker, access);
    if (!failed(reason)) {
      claimed.push_back(record);
    } else if (reason != AbortReason::kRecordReplaced) {
      for (Record* const taken : claimed) silo::Silo::give_back(*taken);
      claimed.clear();
      access.region_run.reason = reason;
      return false;
    }
  }
  return true;
}

/// Claims what the transaction has declared, since it will run without a region. If it cannot, the transaction has to
/// be run again.
Way begin_with_locks(AccessSet& access, WorkerState& worker) {
  if (!claim_declared(access, worker)) return Way::kAgain;
  if (!access.region_run.claimed.empty()) {
    access.region_run.fiber = access.remote == nullptr ? 0 : access.remote->fiber();
    worker.transactions_with_claims.push_back(&access);
  }
  return Way::kLocks;
}

/// Whether the log has room for a transaction of any likely size: a region must not wait for room, and it is not known
/// yet how much the transaction will write.
bool has_log_room(const WorkerState& worker) {
  return worker.ring == nullptr || worker.ring->has_room(likely_entry_bytes(*worker.ring));
}

/// Whether a region can be opened now. The worker has one, and another of its transactions, in another fiber, may run
/// in it.
bool may_open(const AccessSet& access, const WorkerState& worker) {
  if (worker.open_region == nullptr || worker.in_open_region != nullptr) return false;
  RemoteCommit* const elsewhere = access.remote;
  return has_log_room(worker) && (elsewhere == nullptr || elsewhere->make_ready(worker.shared.epochs.current()));
}

/// Opens the worker's region for the transaction, or begins to run the transaction with locks if that cannot be.
Way begin(AccessSet& access, WorkerState& worker) {
  access.must_let_go = true;
  if (!may_open(access, worker)) {
    if (worker.open_region != nullptr) worker.open_region->count_fallback();
    return begin_with_locks(access, worker);
  }
  if (!worker.open_region->open(worker.body)) return begin_with_locks(access, worker);
  worker.in_open_region = &access;
  return Way::kRegion;
}

/// Returns the reason that the application is given if the transaction has to be run again.
AbortReason why_again(const htm::Attempt& lost, const AccessSet& access, const WorkerState& worker) {
  if (lost.cause != htm::Cause::kExplicit) return AbortReason::kReadChanged;
  const auto barred = [&](const WriteEntry& write) { return is_barred(*write.record, access, worker); };
  if (std::ranges::any_of(access.writes.entries(), barred)) return AbortReason::kLockedByOwnWorker;
  switch (code_of(lost.verdict)) {
    case RegionCode::kReadLocked: return AbortReason::kReadLocked;
    case RegionCode::kWriteLocked: return AbortReason::kWriteLocked;
    case RegionCode::kHeldElsewhere:
      for (const WriteEntry& write : access.writes.entries()) {
        const AbortReason why = abort_reason_if_busy(write.record, worker, AbortReason::kRemotelyLocked);
        if (why != AbortReason::kRemotelyLocked) return why;
      }
      return AbortReason::kRemotelyLocked;
    default: return AbortReason::kReadChanged;
  }
}

/// Notes what was read in the region, of records that are claimed by now, as read_claimed() would have returned it.
/// Such a read holds if the record has not changed between it and the claim (DrTm::check_local).
void note_reads_as_claimed(AccessSet& access) {
  for (ReadEntry& read : access.reads) {
    if (has_claimed(access, *read.record)) read.tid = record::locked(read.tid);
  }
}

/// Decides how a transaction goes on whose region has aborted: again from its beginning, or from here with locks.
/// Called in simulations only. With locks, everything that was read in the region is in the read set, and is validated.
void resolve_loss(AccessSet& access, WorkerState& worker) {
  worker.in_open_region = nullptr;
  htm::OpenRegion& region = *worker.open_region;
  const htm::Attempt& lost = region.lost();
  const AbortReason reason = reason_of(lost);
  const bool met_others = lost.cause == htm::Cause::kConflict || lost.cause == htm::Cause::kExplicit;
  if (failed(reason) || (met_others && region.worth_retrying())) {
    access.region_run.way = Way::kAgain;
    access.region_run.reason = failed(reason) ? reason : why_again(lost, access, worker);
    return;
  }
  region.give_up();
  access.region_run.way = begin_with_locks(access, worker);
  note_reads_as_claimed(access);
}

/// Reads the record in the region, under the transaction's own lock bit, or optimistically as Silo does.
StableRead read(const Record& record, std::size_t key_bytes, std::span<char> buffer, bool copies, WorkerState& worker,
                AccessSet& access) {
  StableRead seen;
  const auto part = [&](auto& memory) { return read_in(memory, record, key_bytes, buffer, copies, seen); };
  if (DrTm::enter(access, worker)) {
    if (worker.open_region->part(part)) return seen;
    resolve_loss(access, worker);
  }
  const bool again = access.region_run.way == Way::kAgain;
  access.refused_by_own_worker =
      (again && access.region_run.reason == AbortReason::kLockedByOwnWorker) || is_barred(record, access, worker);
  if (again) return {};
  if (has_claimed(access, record)) return read_claimed(record, key_bytes, buffer, copies);
  return copies ? record::read_record(record, key_bytes, buffer.data(), buffer.size(), *worker.waiter)
                : record::read_record_tid(record, *worker.waiter);
}

}  // namespace

StableRead DrTm::read(const Record& record, std::size_t key_bytes, std::span<char> buffer, WorkerState& worker,
                      AccessSet& access, TidWord& /*rts*/) {
  return drtm::read(record, key_bytes, buffer, /*copies=*/true, worker, access);
}
StableRead DrTm::look(const Record& record, WorkerState& worker, AccessSet& access, TidWord& /*rts*/) {
  return drtm::read(record, 0, {}, /*copies=*/false, worker, access);
}

AbortReason DrTm::claim(Record& record, const WorkerState& worker, AccessSet& access) {
  std::vector<Record*>& claimed = access.region_run.claimed;
  const auto at = std::lower_bound(claimed.begin(), claimed.end(), &record);
  if (at != claimed.end() && *at == &record) {
    claimed.erase(at);
    return AbortReason::kNone;
  }
  const AbortReason reason = Silo::claim(record, worker, access);
  const bool busy = failed(reason) && reason != AbortReason::kRecordReplaced;
  return busy && is_barred(record, access, worker) ? AbortReason::kLockedByOwnWorker : reason;
}

/// Takes the memory that the claim of the record at START will need, since a lock bit that cannot be noted would never
/// be given back.
void DrTm::declare(Record& record, AccessSet& access, WorkerState& worker) {
  RegionRun& run = access.region_run;
  worker.transactions_with_claims.reserve(kMaxOpenTransactions);
  if (run.claimed.capacity() == run.declared.size()) run.claimed.reserve(2 * run.declared.size() + 1);
  run.declared.push_back(&record);
  access.must_let_go = true;
}

bool DrTm::enter(AccessSet& access, WorkerState& worker) {
  RegionRun& run = access.region_run;
  if (run.way == Way::kUnknown) run.way = begin(access, worker);
  if (run.way != Way::kRegion) return false;
  if (worker.open_region->is_open()) return true;
  resolve_loss(access, worker);  // the region has aborted since, for example by leave_region()
  return false;
}

void DrTm::end(AccessSet& access, WorkerState& worker) {
  if (worker.in_open_region == &access) {
    worker.open_region->cancel();
    worker.in_open_region = nullptr;
  }
  for (Record* const record : access.region_run.claimed) give_back(*record);
  if (access.region_run.way == Way::kLocks) std::erase(worker.transactions_with_claims, &access);
  access.region_run.claimed.clear();
  access.region_run.declared.clear();
  access.region_run.way = Way::kUnknown;
}

void leave_region(WorkerState& worker) {
  if (worker.open_region != nullptr && worker.open_region->is_open())
    worker.open_region->abort(give_up(RegionCode::kBeyondRegion));
}

}  // namespace granary::cc::drtm
