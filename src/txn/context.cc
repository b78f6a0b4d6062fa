#include "src/txn/context.h"

#include <new>

#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/elsewhere/elsewhere.h"
#include "src/cc/protocols.h"
#include "src/txn/multi_get.h"
#include "src/txn/multi_put.h"
#include "src/txn/scan_range.h"
#include "src/txn/together.h"

namespace granary::txn {

std::uint64_t Context::begin(const TransactionOptions& options) {
  epoch_ = worker_.shared().epochs.enter(slot_);
  state_ = State::kOpen;
  ++serial_;  // before the first wait, so that end_dropped() does not take this transaction for the one before
  body_ = worker_.body();
  execution_.local().sets().isolation = options.isolation;
  execution_.local().sets().epoch = epoch_;
  execution_.local().sets().held.outer = 0;
  if (const Together* const turns = worker_.in_turns(); turns != nullptr) [[unlikely]] {
    seat_ = turns->current();
    execution_.local().sets().held.outer = worker_.lock_owners_in_seat(seat_);
  }
  doom_ = AbortReason::kNone;
  if (const membership::Fence* const fence = worker_.shared().fence; fence != nullptr) [[unlikely]]
    configuration_ = fence->number();
  worker_.lending().await_return();
  if (CommitLatencies::samples(serial_)) [[unlikely]]
    began_ticks_ = worker_.shared().meter.ticks();
  return serial_;
}

inline void Context::end_here() {
  if (cc::AccessSet& access = execution_.local().sets(); access.must_let_go) [[unlikely]] {
    cc::let_go(access, worker_.state());
    // There are fewer owners than contexts. There are enough for each worker's first context, which keeps its own as
    // long as others find one.
    if (this != worker_.first_context() || worker_.shared().owners.all_taken())
      cc::retire_owner(access, worker_.state());
  }
  execution_.local().clear();
}

inline void Context::end_elsewhere(Ending ending) {
  RemoteAccess* const remote = execution_.remote();
  const bool untidy = remote != nullptr && remote->end(ending);
  worker_.shared().epochs.leave(slot_);
  if (untidy) [[unlikely]]
    remote->tidy();
}

inline void Context::end_committed() {
  end_here();
  RemoteAccess* const remote = execution_.remote();
  if (remote == nullptr || !remote->under_way()) [[likely]] {
    end_elsewhere(Ending::kForGood);
    return;
  }
  state_ = State::kUnderWay;
  worker_.note_under_way();
  if (base::injected("leave-while-under-way")) worker_.shared().epochs.leave(slot_);
}

bool Context::has_arrived() {
  if (state_ != State::kUnderWay || execution_.remote()->under_way()) return false;
  (void)execution_.remote()->end(
      Ending::kForGood);  // if tidy() has something to do, a later transaction's end calls it
  if (!base::injected("leave-while-under-way")) worker_.shared().epochs.leave(slot_);
  state_ = State::kIdle;
  worker_.note_arrived();
  return true;
}

void Context::undo(Ending ending) {
  state_ = State::kEnding;  // before the first wait, so that another fiber's end_dropped() does not undo it as well
  cc::abandon(execution_.local().sets(), worker_.state());
  end_here();
  end_elsewhere(ending);
}

Outcome Context::refuse(std::uint64_t serial) {
  if (!worker_.bound_here()) return worker_.refusal_elsewhere();
  if (serial != serial_ || (state_ != State::kOpen && state_ != State::kDoomed)) return Outcome::kFinished;
  if (!worker_.may_use(body_)) return Outcome::kWrongThread;
  if (state_ == State::kDoomed) return Outcome::kAborted;
  return slot_.revoked.load(std::memory_order_relaxed) == epoch_ ? doom_with(AbortReason::kOpenTooLong) : Outcome::kOk;
}

AbortReason Context::reason_for_caller(AbortReason reason) const {
  return is_retryable(reason) && cc::may_not_commit(worker_.shared()) ? AbortReason::kMembershipLost : reason;
}

Outcome Context::doom_with(AbortReason reason) {
  undo(Ending::kMayRunAgain);
  reason = reason_for_caller(reason);
  worker_.counters().count_abort(reason);
  doom_ = reason;
  state_ = State::kDoomed;
  return reason == AbortReason::kOutOfMemory ? Outcome::kOutOfMemory : Outcome::kAborted;
}

cc::CommitOutcome Context::commit(std::uint64_t serial) {
  const Outcome admitted = admit(serial);
  if (admitted != Outcome::kOk) [[unlikely]] {
    if (admitted != Outcome::kAborted) return {.reason = AbortReason::kMisuse};
    state_ = State::kIdle;
    worker_.collect_some(epoch_);
    return {.reason = doom_};
  }
  if (base::injected("leave-before-commit")) worker_.shared().epochs.leave(slot_);
  const bool clustered = execution_.remote() != nullptr || worker_.shared().fence != nullptr;
  cc::CommitOutcome outcome;
  for (bool again = false;; again = true) {
    outcome = clustered ? commit_in_cluster() : cc::commit_alone(execution_.local().sets(), worker_.state());
    if (outcome.reason == AbortReason::kNone) [[likely]] {
      end_committed();
      worker_.counters().count_commit();
      if (CommitLatencies::samples(serial)) [[unlikely]]
        worker_.latencies().record(worker_.shared().meter.ticks() - began_ticks_);
      break;
    }
    if (again || !may_try_again(outcome.reason)) {
      outcome.reason = give_up(outcome.reason);
      break;
    }
  }
  // The context becomes idle only now: releasing records of other nodes lets other fibers run, which look for an idle
  // context.
  if (state_ != State::kUnderWay) [[likely]]
    state_ = State::kIdle;
  worker_.collect_some(epoch_);
  return outcome;
}

bool Context::may_try_again(AbortReason reason) {
  // The commit has given back its locks, and nothing has been written. A transaction that has touched other nodes has
  // to be run again from its beginning.
  if (reason != AbortReason::kOutOfMemory || execution_.across() || !worker_.make_room()) return false;
  execution_.local().sets().locks.clear();
  return true;
}

AbortReason Context::give_up(AbortReason reason) {
  RemoteAccess* const remote = execution_.remote();
  if (reason == AbortReason::kRemotelyLocked && remote != nullptr)
    remote->note_lease(cc::blocking_lease_end_us(execution_.local().sets(), worker_.shared()));
  undo(Ending::kMayRunAgain);
  reason = reason_for_caller(reason);
  worker_.counters().count_abort(reason);
  return reason;
}

cc::CommitOutcome Context::commit_in_cluster() {
  cc::CommitRight right{.fence = worker_.shared().fence, .noted = configuration_};
  if (base::injected("fence-before-last-wait")) {
    if (const AbortReason refused = right.refused(); refused != AbortReason::kNone) return {.reason = refused};
    right = {};
  }
  cc::AccessSet& access = execution_.local().sets();
  return execution_.across()
             ? cc::commit_across_nodes(access, worker_.state(), execution_.remote()->remote_commit(), right)
             : cc::commit_fenced(access, worker_.state(), right);
}

void Context::abort(std::uint64_t serial) {
  if (!usable(serial)) return;
  if (state_ == State::kOpen) {
    undo(Ending::kForGood);
    worker_.counters().count_abort(AbortReason::kUser);
  }
  state_ = State::kIdle;
  worker_.collect_some(epoch_);
}

void Context::end() {
  for (std::uint32_t turn = 0; state_ == State::kUnderWay && !has_arrived(); ++turn)
    worker_.state().waiter->pause(turn);
  if (state_ == State::kOpen) {
    undo(Ending::kForGood);
    worker_.counters().count_abort(AbortReason::kUser);
  }
  cc::retire_owner(execution_.local().sets(), worker_.state());
  snapshot_.end();
  state_ = State::kIdle;
  ++serial_;  // a handle that still exists finds its transaction finished
}

bool Context::open(std::uint64_t serial) const { return usable(serial); }

// --- operations ---

Outcome Context::get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return admitted;
  return execution_.get(*table, key, value);
}

GetResult Context::get_part(std::uint64_t serial, TableCore* table, std::string_view key, std::size_t from,
                            std::span<char> buffer) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  return execution_.get_part(*table, key, from, buffer);
}

Outcome Context::multi_get(std::uint64_t serial, std::span<MultiGet> gets) {
  const Outcome admitted = admit(serial);
  const Outcome outcome = admitted == Outcome::kOk ? execution_.multi_get(gets) : admitted;
  return outcome == Outcome::kOk ? outcome : refuse_all(gets, outcome);
}

Outcome Context::declare(std::uint64_t serial, std::span<const Declared> keys) {
  Outcome admitted = admit(serial);
  for (const Declared& declared : keys) {
    if (admitted == Outcome::kOk) admitted = check_target(declared.table.core(), declared.key, worker_.shared());
  }
  return admitted == Outcome::kOk ? execution_.declare(keys) : admitted;
}

void Context::prefetch(std::uint64_t serial, TableCore* table, std::string_view key) {
  if (admit(serial, table, key) != Outcome::kOk || home_elsewhere(*table, key)) return;
  execution_.local().prefetch(*table, key);
}

/// A write that the system has no memory for may have been noted by half, so the transaction is doomed.
template <typename Write>
Outcome Context::or_out_of_memory(Write&& write) {
  try {
    return write();
  } catch (const std::bad_alloc&) {
    return state_ == State::kDoomed ? Outcome::kAborted : doom_with(AbortReason::kOutOfMemory);
  }
}

Outcome Context::write_part(std::uint64_t serial, TableCore* table, std::string_view key, std::size_t from,
                            std::string_view bytes) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return admitted;
  if (!table->takes_writes()) return Outcome::kImmutable;
  return or_out_of_memory([&] { return execution_.write_part(*table, key, from, bytes); });
}

namespace {

/// Returns kOk if the table takes a write of this value now.
inline Outcome check_value(const TableCore& table, std::string_view value) {
  if (value.size() > table.max_value_bytes()) [[unlikely]]
    return Outcome::kValueTooLarge;
  if (!table.takes_writes() && !base::injected("sealed-table-takes-writes")) [[unlikely]]
    return Outcome::kImmutable;
  return Outcome::kOk;
}

}  // namespace

Outcome Context::write(std::uint64_t serial, TableCore* table, std::string_view key, std::string_view value,
                       const WriteRule& rule) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return admitted;
  const Outcome takes = check_value(*table, value);
  if (takes != Outcome::kOk) [[unlikely]]
    return takes;
  return or_out_of_memory([&] { return execution_.write(*table, key, value, rule); });
}

Outcome Context::multi_put(std::uint64_t serial, std::span<MultiPut> puts) {
  if (const Outcome admitted = admit(serial); admitted != Outcome::kOk) return refuse_all(puts, admitted);
  for (MultiPut& put : puts) {
    put.outcome = check_target(put.table.core(), put.key, worker_.shared());
    if (put.outcome == Outcome::kOk) put.outcome = check_value(*put.table.core(), put.value);
  }
  const Outcome outcome = or_out_of_memory([&] { return execution_.multi_put(puts); });
  return outcome == Outcome::kOk ? outcome : refuse_all(puts, outcome);
}

ScanResult Context::scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit) {
  const Outcome admitted = admit(serial, table, longest_bound(range));
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (!table->index().ordered()) [[unlikely]]
    return {Outcome::kUnordered, 0};
  return range.limit == 0 ? ScanResult{} : execution_.scan(*table, nullptr, range, visit);
}

ScanResult Context::scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit) {
  const Outcome admitted = admit(serial, index, longest_bound(range));
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  return range.limit == 0 ? ScanResult{} : execution_.scan(*index->base(), index, range, visit);
}

}  // namespace granary::txn
