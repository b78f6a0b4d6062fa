// Reads, claims and changes a local record under TicToc (SIGMOD 2016, section 3). For shared records this file calls
// shared_record.h.

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/lock_record.h"
#include "src/cc/tictoc/shared_record.h"
#include "src/cc/tictoc/tictoc.h"
#include "src/cc/tictoc/version_ends.h"

namespace granary::cc::tictoc {
namespace {

using record::ReadState;
using record::StableRead;

/// Returns until when the record's version is valid, if the caller has loaded the TID word before and finds it unlocked
/// and unchanged afterwards. So the order is: TID word, size word with the rts, E, TID word. Whatever the rts says, the
/// version is valid until (E, 0): a writer that locks the record after that last load reads E after its lock, and its
/// time is at least (E, 1). TicToc::make_valid() relies on the same order.
TidWord valid_until(const Record& record, const epoch::EpochManager& epochs, std::uint64_t* size_word) {
  *size_word = base::load_word(&record.size_word);
  const epoch::Epoch epoch = epochs.current();
  return std::max(record::rts_of(*size_word, epoch), record::make_tid(epoch, 0));
}

/// Makes one attempt to read the record; kBusy if a writer was there. `copy`: whether to copy the value.
StableRead try_read(const Record& record, std::span<char> buffer, bool copy, const epoch::EpochManager& epochs,
                    TidWord& rts) {
  const TidWord before = record.tid();
  if (record::is_locked(before)) return {};
  if (!record::is_latest(before)) return {before, ReadState::kReplaced};
  std::uint64_t size_word = 0;
  rts = std::max(record::tid_of(before), valid_until(record, epochs, &size_word));
  const auto size = static_cast<std::uint32_t>(size_word & record::kSizeMask);
  ReadState state = record::is_absent(before) ? ReadState::kMissing : ReadState::kValue;
  if (copy && state == ReadState::kValue) {
    if (size > buffer.size()) state = ReadState::kTooSmall;
    if (size <= buffer.size()) base::copy_from_shared(buffer.data(), record.value_words(), size);
    base::sync_point("read.copied");
  }
  if (record.tid() != before) return {};
  return {before, state, size};
}

StableRead read_in_turns(const Record& record, std::span<char> buffer, bool copy, const WorkerState& worker,
                         TidWord& rts) {
  StableRead seen = try_read(record, buffer, copy, worker.shared.epochs, rts);
  for (std::uint32_t turn = 0; seen.state == ReadState::kBusy && turn < base::kBoundedPauses; ++turn) {
    worker.waiter->pause(turn);
    seen = try_read(record, buffer, copy, worker.shared.epochs, rts);
  }
  return seen;
}

}  // namespace

StableRead TicToc::read(const Record& record, std::size_t key_bytes, std::span<char> buffer, const WorkerState& worker,
                        AccessSet&, TidWord& rts) {
  if (record::is_shared(&record)) [[unlikely]]
    return read_shared(record::shared_of(record), key_bytes, buffer, /*copy=*/true, worker, rts);
  return read_in_turns(record, buffer, /*copy=*/true, worker, rts);
}

StableRead TicToc::look(const Record& record, const WorkerState& worker, AccessSet&, TidWord& rts) {
  if (record::is_shared(&record)) [[unlikely]]
    return read_shared(record::shared_of(record), 0, {}, /*copy=*/false, worker, rts);
  return read_in_turns(record, {}, /*copy=*/false, worker, rts);
}

/// A part has the times of its record: who reads one part of a version is before all who write another one. The rts is
/// loaded between the two looks at the TID word, in the order that valid_until() asks for.
StableRead TicToc::read_part(const Record& record, std::size_t from, std::span<char> buffer, const WorkerState& worker,
                             TidWord& rts) {
  const auto note_rts = [&](TidWord version) {
    std::uint64_t size_word = 0;
    rts = std::max(record::tid_of(version), valid_until(record, worker.shared.epochs, &size_word));
  };
  return record::read_part(record, from, buffer.data(), buffer.size(), *worker.waiter, note_rts);
}

/// Takes the lock bit and then freezes the rts by a fetch-or. No reader raises a frozen rts, so stamp() finds its final
/// value in the word.
AbortReason TicToc::claim(Record& record, const WorkerState& worker, AccessSet&) {
  const std::uint32_t turns = worker.shared.settings.claim_without_waiting ? 1 : base::kBoundedPauses;
  if (record::is_shared(&record)) [[unlikely]]
    return claim_shared(record::shared_of(record), worker, turns);
  const AbortReason reason = lock_record(record, worker, turns);
  if (reason != AbortReason::kNone) return reason;
  if (!base::injected("tictoc-no-freeze")) base::fetch_or_word(&record.size_word, record::kFrozen);
  return AbortReason::kNone;
}

void TicToc::give_back(Record& record) {
  if (record::is_shared(&record)) [[unlikely]]
    return record.unlock_unchanged();
  const std::uint64_t word = base::load_word(&record.size_word);
  base::store_word(&record.size_word, word & ~record::kFrozen);
  record.unlock_unchanged();
}

/// Stores the new rts, not frozen, before cc::install() stores the new TID word. A reader that finds the word unfrozen
/// loads the TID word after it, and so finds the lock bit or the new TID: it does not raise the new version's rts for
/// the old one.
void TicToc::install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period) {
  // Readers that find the lock bit may still raise the owner's rts, without relying on it. That does no harm: the next
  // writer takes a time after the rts, no matter which reader has raised it.
  if (record::is_shared(write.record)) [[unlikely]]
    return cc::install(write, worker, tid, period);
  std::uint64_t& size_word = write.record->size_word;
  base::debug_invariant("I28",
                        [&] { return tid > record::rts_of(base::load_word(&size_word), record::epoch_of(tid)); });
  base::store_word(&size_word, record::with_rts(base::load_word(&size_word), tid));
  // Noted before the new version can be seen, so that a reader that finds the new version also finds when the old one
  // ended.
  if (VersionEnds* const ends = worker.shared.version_ends; ends != nullptr)
    ends->note(write.record, record::unlocked(write.record->tid(std::memory_order_relaxed)), tid);
  cc::install(write, worker, tid, period);
}

/// A transaction that has seen the absence at a time of the present epoch relies on it that no insert gets an earlier
/// time. The rts of the absent record says so, and a new record of the key would begin without an rts. So the absent
/// record stays until its rts is of an earlier epoch. The order is: freeze, load E. The word stays frozen when the
/// record leaves, so that no reader raises its rts afterwards.
bool TicToc::may_leave_index(Record& record, const WorkerState& worker) {
  if (record::is_shared(&record)) [[unlikely]]
    return shared_may_leave_index(record::shared_of(record), worker);
  const std::uint64_t word = base::fetch_or_word(&record.size_word, record::kFrozen);
  const epoch::Epoch epoch = worker.shared.epochs.current();
  if (record::epoch_of(record::rts_of(word, epoch)) < epoch || base::injected("tictoc-forgets-absence")) return true;
  base::store_word(&record.size_word, word);
  return false;
}

}  // namespace granary::cc::tictoc
