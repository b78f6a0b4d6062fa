// Chooses the commit time of TicToc, and validates for it (SIGMOD 2016, section 3.2). For shared records this file
// calls shared_record.h.

#include <algorithm>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/tictoc/shared_record.h"
#include "src/cc/tictoc/tictoc.h"
#include "src/cc/tictoc/ties.h"
#include "src/cc/tictoc/version_ends.h"

namespace granary::cc::tictoc {
namespace {

constexpr TidWord kOne = record::make_tid(0, 1);

/// Returns the greatest wts that was read. Reads of sealed tables are in no set, but hold from AccessSet::sealed_from
/// on.
TidWord greatest_read(const AccessSet& access) {
  TidWord greatest = base::injected("tictoc-forgets-sealed") ? 0 : record::make_tid(access.sealed_from, 0);
  for (const ReadEntry& read : access.reads) greatest = std::max(greatest, record::tid_of(read.tid));
  return greatest;
}

TidWord rts_of(const Record& record, epoch::Epoch epoch) {
  if (record::is_shared(&record)) return claimed_rts(record::shared_of(record));
  return record::rts_of(base::load_word(&record.size_word), epoch);
}

/// Returns the least time at which a claimed record may be overwritten. The record's rts is frozen, and `epoch` was
/// read after that. A record that is written for the first time has to come after all times at which keys of its table
/// were missed (miss_times.h).
TidWord least_for(const WriteEntry& write, const WorkerState& worker, epoch::Epoch epoch) {
  const TidWord wts = record::tid_of(write.record->tid(std::memory_order_relaxed));
  TidWord before = wts;
  if (!base::injected("tictoc-ignores-rts")) before = std::max(before, rts_of(*write.record, epoch));
  if (wts == 0 && !base::injected("tictoc-ignores-miss-times"))
    before =
        std::max({before, worker.shared.miss_times.greatest(write.table), worker.shared.misses.greatest(write.table)});
  return before + kOne;
}

/// Whether the version that was read is known to have been the latest at the moment, though it is overwritten now.
bool ended_behind(const ReadEntry& read, const Moment& moment, const WorkerState& worker) {
  const VersionEnds* const ends = worker.shared.version_ends;
  if (ends == nullptr) return false;
  const TidWord end = ends->end_of(read.record, read.tid);
  return end > moment.stamp || (end != 0 && base::injected("tictoc-any-end"));
}

}  // namespace

/// Computes the moment from words that can only grow until the commit. So the stamp that the commit would get is not
/// earlier, and a read that fails at this moment would fail at that stamp, too.
AbortReason TicToc::reason_to_give_up_early(const AccessSet& access, const WorkerState& worker) {
  if (!worker.shared.settings.look_before_claiming || access.isolation != Isolation::kSerializable)
    return AbortReason::kNone;
  const epoch::Epoch epoch = worker.shared.epochs.current();
  Moment moment{.epoch = epoch, .stamp = std::max(greatest_read(access), record::make_tid(epoch, 1))};
  for (const WriteEntry& write : access.writes.entries()) {
    const TidWord rts = rts_of(*write.record, epoch);
    moment.stamp = std::max({moment.stamp, record::tid_of(write.record->tid()) + kOne, rts + kOne});
  }
  for (const ReadEntry& read : access.reads) {
    if (read.rts >= moment.stamp || record::unlocked(read.record->tid()) == read.tid) continue;
    if (!ended_behind(read, moment, worker)) return AbortReason::kReadChanged;
  }
  return AbortReason::kNone;
}

/// The least stamp is (E, 1). It makes epochs agree with the serial order in both directions: with a time of an earlier
/// epoch the transaction could come before transactions that a snapshot, or a durable epoch, already counts without it.
TidWord TicToc::stamp(const AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord remote_bound) {
  if (epoch >= epoch::kLastEpoch) return 0;
  TidWord stamp = std::max(greatest_read(access), record::tid_of(remote_bound));
  if (!base::injected("tictoc-no-floor")) stamp = std::max(stamp, record::make_tid(epoch, 1));
  for (const WriteEntry& write : access.writes.entries()) stamp = std::max(stamp, least_for(write, worker, epoch));
  if (!base::injected("tictoc-forgets-session")) stamp = std::max(stamp, session_time(worker) + kOne);
  if (base::injected("tictoc-no-floor") && record::epoch_of(stamp) < epoch) return stamp;
  return record::epoch_of(stamp) == epoch ? stamp : 0;
}

TidWord TicToc::stamp_reads(const AccessSet& access) { return greatest_read(access); }

AbortReason TicToc::check_shared(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                 const WorkerState& worker) {
  return read.rts >= moment.stamp ? AbortReason::kNone : make_shared_valid(read, claims, moment, worker);
}

/// A time up to (epoch, 0) need not be told, since the first writer of a record takes a time of at least (E, 1). A
/// worker of a cluster tells it in its line of `misses`, which writers at other nodes READ.
void TicToc::announce_miss_time(const AccessSet& access, WorkerState& worker, const Moment& moment) {
  if (moment.stamp <= record::make_tid(moment.epoch, 0)) return;
  if (worker.misses != nullptr) return SharedMissTimes::raise(*worker.misses, access.missed_tables, moment.stamp);
  const SharedMissTimes& misses = worker.shared.misses;
  if (misses.size() != 0)
    return SharedMissTimes::raise_shared(misses.shared_line(), access.missed_tables, moment.stamp);
  MissTimes::raise(worker.miss_times, access.missed_tables, moment.stamp);
}

/// Order: load the size word with the rts, then E, then the TID word. If the TID word is unlocked and has the TID that
/// was read, the rts was that version's, and a writer that freezes the rts later reads E later, too. Then raise the rts
/// by a compare-and-swap of the size word. It fails if a writer has frozen the word since, and a writer that freezes
/// the word after it finds the new rts.
AbortReason TicToc::make_valid(const ReadEntry& read, const Claims& claims, const Moment& moment,
                               const WorkerState& worker) {
  std::uint64_t* const size_word = &read.record->size_word;
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const std::uint64_t word = base::load_word(size_word);
    const epoch::Epoch epoch = worker.shared.epochs.current();
    const TidWord tid = read.record->tid();
    if (!base::injected("tictoc-extends-blindly")) {
      if (record::unlocked(tid) != read.tid)
        return ended_behind(read, moment, worker) ? AbortReason::kNone : AbortReason::kReadChanged;
      if (record::is_locked(tid)) return claims.has(read.record) ? AbortReason::kNone : AbortReason::kReadLocked;
    }
    if (holds_without_rts(moment)) return AbortReason::kNone;
    const bool reaches = record::rts_of(word, epoch) >= moment.stamp;
    if (reaches && !base::injected("tictoc-rts-shrinks")) return AbortReason::kNone;
    if (record::is_frozen(word)) return AbortReason::kReadLocked;
    base::sync_point("tictoc.extending");
    if (base::compare_exchange_word(size_word, word, record::with_rts(word, moment.stamp))) return AbortReason::kNone;
  }
  return AbortReason::kReadLocked;
}

}  // namespace granary::cc::tictoc
