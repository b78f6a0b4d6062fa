// Everything that can be done before is: the TID, the log entry, copies of old versions, all for the epoch and the TID words
// that are there now. The region then finds them unchanged and unlocked, checks what was read, and stores. It sees
// whoever holds a lock bit, and whoever takes one while it runs makes it abort; so the two kinds of commit mix.

#include "src/cc/silo/commit_in_region.h"

#include <cstring>
#include <span>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/silo/choose_tid.h"
#include "src/cc/silo/install.h"
#include "src/cc/silo/log_entry.h"
#include "src/record/shared_change.h"
#include "src/record/shared_lock.h"

namespace granary::cc::silo {
namespace {

using base::injected;
using htm::Verdict;

/// Why a region's body says no.
enum Refusal : std::uint8_t { kPlanOutdated, kWriteLocked, kReadChanged, kReadLocked, kNodeChanged, kLeaseOver };

/// What the region relies on, beside worker.planned_words.
struct Plan {
  epoch::Epoch epoch = 0;
  TidWord tid = 0;
  std::size_t log_bytes = 0;
  base::LeaseEnd leases_end = HeldElsewhere::kForever;
};

/// Notes the TID words of what will be overwritten. False if one is locked or was replaced: then to wait, or the reason
/// to abort, is the locking commit's business.
bool note_words(const std::vector<WriteEntry>& writes, std::vector<TidWord>& words, const base::SoftTime* time) {
  words.clear();
  for (const WriteEntry& write : writes) {
    const TidWord word = write.record->tid();
    if (record::is_locked(word) || !record::is_latest(word)) return false;
    if (record::is_shared(write.record) && !record::is_free_for_owner(record::shared_of(*write.record).state(), time))
      return false;
    words.push_back(word);
  }
  return true;
}

/// Takes the memory and copies the old versions that snapshots may need. The records are not locked: should one change,
/// its TID word does, and the region sees it. False if there is no memory or if a record must be replaced in its tree.
bool prepare_in_place(std::vector<WriteEntry>& writes, WorkerState& worker, epoch::Epoch epoch) {
  if (prepare(writes, worker, epoch) != AbortReason::kNone) return false;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const bool copied = writes[i].version == nullptr || copy_version(writes[i], worker, worker.planned_words[i]);
    if (writes[i].replacement == nullptr && copied) continue;
    unprepare(writes, worker);
    return false;
  }
  return true;
}

// --- inside the region; I6: loads and stores, nothing else ---

/// What check_reads() and check_writes() ask of a shared record besides: in a region all is of one moment, so the order
/// of I2 and I4 does not matter, and another node that takes the state while it runs makes it abort.
template <typename Memory>
bool x_locked(Memory& memory, const Record* record) {
  return record::is_shared(record) && record::is_x_locked(memory.load(&record::shared_of(*record).state_word));
}
template <typename Memory>
bool free_for_owner(Memory& memory, const Record* record, const base::SoftTime* time) {
  if (!record::is_shared(record) || injected("owner-ignores-state")) return true;
  const record::StateWord state = memory.load(&record::shared_of(*record).state_word);
  return state == record::kFree || (time != nullptr && record::has_expired(state, time->read_in(memory)));
}

template <typename Memory>
Verdict check_reads(Memory& memory, const AccessSet& access) {
  for (const ReadEntry& read : access.reads) {
    if (x_locked(memory, read.record)) [[unlikely]]
      return Verdict::retry(kReadLocked);
    const TidWord word = memory.load(&read.record->tid_word);
    if (word == read.tid || injected("skip-read-validation")) [[likely]]
      continue;
    if ((word & ~record::kLocked) != read.tid) return Verdict::give_up(kReadChanged);
    if (!injected("skip-own-lock-check")) return Verdict::retry(kReadLocked);
  }
  for (const NodeEntry& node : access.nodes) {
    if (injected("skip-node-validation")) break;
    if (!Index::unchanged_in(memory, node.leaf, node.version)) return Verdict::give_up(kNodeChanged);
  }
  return Verdict::done();
}

template <typename Memory>
Verdict check_writes(Memory& memory, const std::vector<WriteEntry>& writes, const WorkerState& worker) {
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (!free_for_owner(memory, writes[i].record, worker.shared.time)) [[unlikely]]
      return Verdict::retry(kWriteLocked);
    const TidWord word = memory.load(&writes[i].record->tid_word);
    if (word == worker.planned_words[i] || injected("region-overwrites-unseen")) [[likely]]
      continue;
    return record::is_locked(word) ? Verdict::retry(kWriteLocked) : Verdict::give_up(kPlanOutdated);
  }
  return Verdict::done();
}

template <typename Memory>
void store_value(Memory& memory, std::uint64_t* to, std::string_view value) {
  while (!value.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(value.size(), base::kWord);
    std::memcpy(&word, value.data(), bytes);
    memory.store(to++, word);
    value.remove_prefix(bytes);
  }
}

template <typename Memory>
void store_tail_in_region(Memory& memory, record::SharedRecord& record, TidWord tid, std::size_t size,
                          std::uint32_t content) {
  const record::TailWords before{memory.load(&record.head.size_word), memory.load(&record.check_word)};
  const record::TailWords after = record::tail_of(before, tid, size, content);
  memory.store(&record.head.size_word, after.size_word);
  memory.store(&record.check_word, after.check_word);
}

template <typename Memory>
void install_in_region(Memory& memory, const WriteEntry& write, TidWord new_word) {
  Record& record = *write.record;
  const std::string_view value = write.remove ? std::string_view() : write.value;
  if (write.version != nullptr) memory.store(&record.previous_word, reinterpret_cast<std::uint64_t>(write.version));
  if (record::is_shared(&record)) [[unlikely]] {
    store_tail_in_region(memory, record::shared_of(record), new_word, value.size(), write.content);
  } else {
    memory.store(&record.size_word, (memory.load(&record.size_word) & ~record::kSizeMask) | value.size());
  }
  store_value(memory, record::value_words(record, write.key.size()), value);
  memory.store(&record.tid_word, new_word);
}

/// I9: what was read elsewhere under leases is unchanged as long as these are valid, so they must be at the region's end. It
/// subscribes to the softtime, and lasts far shorter than the clock's error.
template <typename Memory>
bool leases_valid(Memory& memory, const base::SoftTime* time, const base::LeaseEnd& lease) {
  return lease.end_us == HeldElsewhere::kForever.end_us || (time != nullptr && time->read_in(memory).valid(lease));
}

/// All of the commit that others can see. The region's end is the serialization point: E is still the TID's epoch there.
template <typename Memory>
Verdict commit_body(Memory& memory, AccessSet& access, WorkerState& worker, const Plan& plan) {
  const std::vector<WriteEntry>& writes = access.writes.entries();
  if (memory.load(worker.shared.epochs.word()) != plan.epoch && !injected("region-ignores-epoch"))
    return Verdict::give_up(kPlanOutdated);
  if (!leases_valid(memory, worker.shared.time, plan.leases_end)) return Verdict::give_up(kLeaseOver);
  if (const Verdict reads = check_reads(memory, access); !reads.is_done()) return reads;
  if (const Verdict unchanged = check_writes(memory, writes, worker); !unchanged.is_done()) return unchanged;
  if (injected("wait-in-region")) worker.waiter->pause(0);
  base::sync_point("region.checked");
  // The log first (I8): other processes may see these stores one by one, should this one die meanwhile.
  if (worker.ring != nullptr) worker.ring->publish_in(memory, plan.log_bytes);
  for (std::size_t i = 0; i < writes.size(); ++i)
    install_in_region(memory, writes[i], installed_word(writes[i], worker.planned_words[i], plan.tid));
  base::sync_point("region.stored");
  return Verdict::done();
}

// --- outside again ---

CommitOutcome committed(const std::vector<WriteEntry>& writes, WorkerState& worker, const Plan& plan) {
  worker.last_tid = plan.tid;
  if (worker.ring != nullptr) worker.ring->published(plan.log_bytes);
  for (std::size_t i = 0; i < writes.size(); ++i)
    register_garbage(writes[i], worker, installed_word(writes[i], worker.planned_words[i], plan.tid));
  base::sync_point("region.committed");
  return {.tid = plan.tid, .epoch = plan.epoch};
}

/// The reason to abort, if a region has seen one that waiting does not mend.
AbortReason reason_of(const htm::Ending& ending) {
  if (ending.cause != htm::Cause::kExplicit || !ending.verdict.is_final()) return AbortReason::kNone;
  switch (ending.verdict.code()) {
    case kReadChanged: return AbortReason::kReadChanged;
    case kNodeChanged: return AbortReason::kNodeChanged;
    case kLeaseOver: return AbortReason::kLeaseExpired;
    default: return AbortReason::kNone;
  }
}

/// The region will only publish it.
void plan_log_entry(Plan& plan, const std::vector<WriteEntry>& writes, WorkerState& worker, RemotePart* elsewhere) {
  const auto writes_elsewhere = elsewhere == nullptr ? std::span<const RemoteWrite>() : elsewhere->writes();
  plan.log_bytes = write_log_entry({writes, writes_elsewhere}, worker, plan.tid);
  if (elsewhere != nullptr) elsewhere->decide(plan.tid, worker.ring->end_after(plan.log_bytes));
}

std::optional<CommitOutcome> with_locks(WorkerState& worker) {
  worker.region->count_fallback();
  return std::nullopt;
}

}  // namespace

std::optional<CommitOutcome> commit_in_region(AccessSet& access, WorkerState& worker, const Right& right,
                                              const HeldElsewhere& elsewhere) {
  std::vector<WriteEntry>& writes = access.writes.entries();
  if (!note_words(writes, worker.planned_words, worker.shared.time)) return with_locks(worker);
  Plan plan{.epoch = elsewhere.epoch != 0 ? elsewhere.epoch : worker.shared.epochs.current(),
            .leases_end = elsewhere.until};
  plan.tid = choose_tid(access, writes, worker, plan.epoch, elsewhere.greatest_tid);
  if (plan.tid == 0 || !prepare_in_place(writes, worker, plan.epoch)) return with_locks(worker);
  base::sync_point("region.prepared");
  // Not in the region, whose attempts end soon: nothing in it waits (I6), and a clock is no memory that it could subscribe to.
  if (const AbortReason refused = right.refused(); refused != AbortReason::kNone) [[unlikely]] {
    unprepare(writes, worker);
    return CommitOutcome{.reason = refused};
  }
  base::invariant("I1", plan.tid > worker.last_tid && record::epoch_of(plan.tid) == plan.epoch);
  if (worker.ring != nullptr) plan_log_entry(plan, writes, worker, elsewhere.part);
  base::sync_point("region.planned");

  const htm::Ending ending =
      worker.region->run([&](auto& memory) { return commit_body(memory, access, worker, plan); });
  if (ending.committed) return committed(writes, worker, plan);
  if (elsewhere.part != nullptr) elsewhere.part->take_back_decision();
  unprepare(writes, worker);
  const AbortReason reason = reason_of(ending);
  if (reason == AbortReason::kNone) return with_locks(worker);
  return CommitOutcome{.reason = reason};
}

}  // namespace granary::cc::silo
