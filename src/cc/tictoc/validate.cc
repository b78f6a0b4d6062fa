// TicToc's commit time and the validation for it (SIGMOD 2016, section 3.2).

#include <algorithm>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/tictoc/shared_record.h"
#include "src/cc/tictoc/slack.h"
#include "src/cc/tictoc/tictoc.h"
#include "src/cc/tictoc/version_ends.h"

namespace granary::cc::tictoc {
namespace {

constexpr TidWord kOne = record::make_tid(0, 1);

/// What was seen in sealed tables has been so since the epoch from which they are.
TidWord greatest_read(const AccessSet& access) {
  TidWord greatest = base::injected("tictoc-forgets-sealed") ? 0 : record::make_tid(access.sealed_from, 0);
  for (const ReadEntry& read : access.reads) greatest = std::max(greatest, record::tid_of(read.tid));
  return greatest;
}

TidWord rts_of(const Record& record, epoch::Epoch epoch) {
  if (record::is_shared(&record)) return claimed_rts(record::shared_of(record));
  return record::rts_of(base::load_word(&record.size_word), epoch);
}

/// The least time at which a claimed record may be overwritten. Its rts is frozen, and E was read behind that.
TidWord least_for(const WriteEntry& write, const WorkerState& worker, epoch::Epoch epoch) {
  const TidWord wts = record::tid_of(write.record->tid(std::memory_order_relaxed));
  TidWord before = wts;
  if (!base::injected("tictoc-ignores-rts")) before = std::max(before, rts_of(*write.record, epoch));
  if (wts == 0 && !base::injected("tictoc-ignores-node-times"))
    before =
        std::max({before, worker.shared.node_times.greatest(write.table), worker.shared.misses.greatest(write.table)});
  return before + kOne;
}

/// Whether the version that was read is known to have been the latest until after the moment, though it is not any more.
bool ended_behind(const ReadEntry& read, const Moment& moment, const WorkerState& worker) {
  const VersionEnds* const ends = worker.shared.version_ends;
  if (ends == nullptr) return false;
  const TidWord end = ends->end_of(read.record, read.tid);
  return end > moment.stamp || (end != 0 && base::injected("tictoc-any-end"));
}

}  // namespace

/// The moment is reckoned from words that may still grow, so the stamp that the commit will get is not before it.
AbortReason TicToc::foresee(const AccessSet& access, const WorkerState& worker) {
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

/// The floor (E, 1) keeps epochs in the serial order in both directions: with a time of an earlier epoch, a transaction could be serial
/// before one that a snapshot, or a durable epoch, does not include.
TidWord TicToc::stamp(const AccessSet& access, WorkerState& worker, epoch::Epoch epoch, TidWord elsewhere) {
  if (epoch >= epoch::kLastEpoch) return 0;
  TidWord stamp = std::max(greatest_read(access), record::tid_of(elsewhere));
  if (!base::injected("tictoc-no-floor")) stamp = std::max(stamp, record::make_tid(epoch, 1));
  for (const WriteEntry& write : access.writes.entries()) stamp = std::max(stamp, least_for(write, worker, epoch));
  if (base::injected("tictoc-no-floor") && record::epoch_of(stamp) < epoch) return stamp;
  return record::epoch_of(stamp) == epoch ? stamp : 0;
}

TidWord TicToc::stamp_reads(const AccessSet& access) { return greatest_read(access); }

AbortReason TicToc::check_shared(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                 const WorkerState& worker) {
  return read.rts >= moment.stamp ? AbortReason::kNone : make_shared_valid(read, claims, moment, worker);
}

/// Where other nodes may write records of this one for the first time, they READ the words there.
void TicToc::before_nodes(const AccessSet& access, WorkerState& worker, const Moment& moment) {
  if (moment.stamp <= record::make_tid(moment.epoch, 0)) return;
  if (worker.misses != nullptr) return Misses::raise(*worker.misses, access.tables_of_nodes, moment.stamp);
  NodeTimes::raise(worker.node_times, access.tables_of_nodes, moment.stamp);
}

/// Order: the rts, E, and then the TID word. An unlocked word with the wanted TID shows that the rts was that version's, and that whoever
/// freezes it later reads E later, too. The compare-and-swap fails if a writer has frozen the word since, and a writer that freezes it
/// behind that finds the new rts.
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
    // Nobody overwrites it before (E, 1), E being at least the transaction's.
    if (moment.stamp <= record::make_tid(moment.epoch, 0)) return AbortReason::kNone;
    const bool reaches = record::rts_of(word, epoch) >= moment.stamp;
    if (reaches && !base::injected("tictoc-rts-shrinks")) return AbortReason::kNone;
    if (record::is_frozen(word)) return AbortReason::kReadLocked;
    base::sync_point("tictoc.extending");
    const TidWord rts = raised(record::tid_of(read.tid), moment.stamp, moment.epoch);
    if (base::compare_exchange_word(size_word, word, record::with_rts(word, rts))) return AbortReason::kNone;
  }
  return AbortReason::kReadLocked;
}

}  // namespace granary::cc::tictoc
