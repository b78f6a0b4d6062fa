#include "src/txn/context.h"

#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/held_records.h"
#include "src/cc/silo/commit.h"

namespace granary::txn {

std::uint64_t Context::begin() {
  slot_.revoked.store(false, std::memory_order_relaxed);
  epoch_ = worker_.shared().epochs.enter(slot_);
  state_ = State::kOpen;
  doom_ = AbortReason::kNone;
  if (const membership::Fence* const fence = worker_.shared().fence; fence != nullptr) [[unlikely]]
    configuration_ = fence->version();
  worker_.await_return();
  return ++serial_;
}

inline void Context::release(bool over) {
  access_.clear();
  arena_.clear();
  lookups_.clear();
  insert_hints_.clear();
  const bool untidy = remote_ != nullptr && remote_->end(over);
  worker_.shared().epochs.leave(slot_);
  if (untidy) [[unlikely]]
    remote_->tidy();
}

void Context::undo(bool over) {
  cc::abandon(access_, worker_.state());
  release(over);
}

Outcome Context::refuse(std::uint64_t serial) {
  if (!worker_.bound_here()) return Outcome::kWrongThread;
  if (serial != serial_ || (state_ != State::kOpen && state_ != State::kDoomed)) return Outcome::kFinished;
  if (state_ == State::kDoomed) return Outcome::kAborted;
  return doom_with(AbortReason::kOpenTooLong);
}

AbortReason Context::for_good_if_out(AbortReason reason) const {
  return is_retryable(reason) && cc::shut_out(worker_.shared()) ? AbortReason::kMembershipLost : reason;
}

Outcome Context::doom_with(AbortReason reason) {
  undo(/*over=*/false);
  reason = for_good_if_out(reason);
  worker_.count_abort(reason);
  doom_ = reason;
  state_ = State::kDoomed;
  return reason == AbortReason::kOutOfMemory ? Outcome::kOutOfMemory : Outcome::kAborted;
}

CommitResult Context::commit(std::uint64_t serial) {
  const Outcome admitted = admit(serial);
  if (admitted != Outcome::kOk) [[unlikely]] {
    if (admitted != Outcome::kAborted) return {.reason = AbortReason::kMisuse, .ticket = {}};
    state_ = State::kIdle;
    worker_.collect_some(epoch_);
    return {.reason = doom_, .ticket = {}};
  }
  if (base::injected("leave-before-commit")) worker_.shared().epochs.leave(slot_);
  const membership::Fence* const fence = worker_.shared().fence;
  const bool clustered = remote_ != nullptr || fence != nullptr;
  const auto commit_once = [&] {
    return clustered ? commit_in_cluster({.fence = fence, .noted = configuration_})
                     : cc::silo::commit(access_, worker_.state());
  };
  cc::CommitOutcome outcome = commit_once();
  // Its locks have been given up, and nothing has been written. Across nodes the whole transaction has to be run again.
  if (outcome.reason == AbortReason::kOutOfMemory && (remote_ == nullptr || !remote_->used()) && worker_.make_room())
      [[unlikely]] {
    access_.locks.clear();
    outcome = commit_once();
  }
  if (outcome.reason == AbortReason::kNone) [[likely]] {
    release(/*over=*/true);
    worker_.count_commit();
  } else {
    if (outcome.reason == AbortReason::kRemotelyLocked && remote_ != nullptr)
      remote_->note_lease(cc::lease_in_way_us(access_, worker_.shared()));
    undo(/*over=*/false);
    outcome.reason = for_good_if_out(outcome.reason);
    worker_.count_abort(outcome.reason);
  }
  state_ = State::kIdle;  // only now: what is released elsewhere lets other fibers run, which look for an idle context
  worker_.collect_some(epoch_);
  return {.reason = outcome.reason, .ticket = {outcome.tid, outcome.epoch}};
}

cc::CommitOutcome Context::commit_in_cluster(cc::Right right) {
  if (base::injected("fence-before-last-wait")) {
    if (const AbortReason refused = right.refused(); refused != AbortReason::kNone) return {.reason = refused};
    right = {};
  }
  const bool across = remote_ != nullptr && remote_->used();
  return across ? cc::silo::commit_across_nodes(access_, worker_.state(), *remote_, right)
                : cc::silo::commit_fenced(access_, worker_.state(), right);
}

void Context::abort(std::uint64_t serial) {
  if (!worker_.bound_here() || serial != serial_) return;
  if (state_ == State::kOpen) {
    undo(/*over=*/true);
    worker_.count_abort(AbortReason::kUser);
    state_ = State::kIdle;
    worker_.collect_some(epoch_);
  } else if (state_ == State::kDoomed) {
    state_ = State::kIdle;
    worker_.collect_some(epoch_);
  }
}

void Context::end() {
  if (state_ == State::kOpen) {
    undo(/*over=*/true);
    worker_.count_abort(AbortReason::kUser);
  } else if (state_ == State::kSnapshot) {
    worker_.shared().epochs.unpin_snapshot(slot_);
  }
  state_ = State::kIdle;
  ++serial_;  // handles that are still around find their transaction finished
}

bool Context::open(std::uint64_t serial) const {
  return worker_.bound_here() && serial == serial_ && (state_ == State::kOpen || state_ == State::kDoomed);
}

AbortReason Context::doom(std::uint64_t serial) const { return open(serial) ? doom_ : AbortReason::kNone; }

std::string& Context::scratch() {
  constexpr std::size_t kFirstSize = 1024;
  if (scan_depth_ > scratch_.size()) scratch_.emplace_back(kFirstSize, '\0');
  return scratch_[scan_depth_ - 1];
}

}  // namespace granary::txn
