#include "src/cluster/transaction/remote_transaction.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/cc/held_records.h"
#include "src/cluster/record_access/regions.h"

namespace granary::cluster {

RemoteTransaction::RemoteTransaction(Reach& reach)
    : reach_(reach),
      rounds_(reach.scheduler, reach.endpoint, reach.peers, reach.waiter),
      buffers_(reach.buffers),
      record_(reach.worker.ring == nullptr ? nullptr : reach.worker.ring->lock_ahead()) {}

bool RemoteTransaction::end(bool over) {
  if (participants_.empty()) return lease_in_way_us_ != 0 || !reach_.undelivered.empty();
  if (std::any_of(accesses_.begin(), accesses_.end(), [](const Access& access) { return access.held(); })) {
    release();  // what was declared to be written, and was not
  }
  if (over) forget_what_was_learnt();
  if (undelivered_.empty()) {
    record_.complete();  // of locks that were named, but never asked for
  } else {
    reach_.undelivered.keep(std::exchange(undelivered_, {}), std::move(buffers_), std::move(record_));
  }
  cc::bump(reach_.counters.transactions, std::uint64_t{1});
  accesses_.clear();
  participants_.clear();
  nodes_.clear();
  writes_.clear();
  buffers_.clear();
  arena_.clear();
  validated_ = false;
  lease_jumps_.reset();
  silent_.clear();
  return lease_in_way_us_ != 0 || !reach_.undelivered.empty();
}

void RemoteTransaction::tidy() {
  await_lease_end();
  reach_.undelivered.try_again(reach_);
}

AbortReason RemoteTransaction::touch(rdma::NodeId node) {
  for (const Participant& known : participants_) {
    if (known.node == node) return AbortReason::kNone;
  }
  if (!reach_.connect(node)) return AbortReason::kNodeUnreachable;
  const rdma::Generation life = reach_.peers.endpoint().peer_generation(*reach_.peers.find(node));
  participants_.push_back(
      {.node = node, .control = {.node = node, .region = kControlRegion, .generation = life, .offset = 0}});
  return AbortReason::kNone;
}

rdma::RemoteAddress RemoteTransaction::at(rdma::NodeId node, std::uint64_t offset) const {
  for (const Participant& known : participants_) {
    if (known.node != node) continue;
    rdma::RemoteAddress address = known.control;
    address.region = kDataRegion;
    address.offset = offset;
    return address;
  }
  base::always_check(false, "only participants are reached");
  return {};
}

void RemoteTransaction::run(Phase phase, std::span<Step* const> steps) {
  if (steps.empty()) return;
  const rdma::fiber::Traffic before = rounds_.traffic();
  rounds_.run(steps);
  const rdma::fiber::Traffic& after = rounds_.traffic();
  ReachCounters& counters = reach_.counters;
  cc::bump(counters.rounds[static_cast<std::size_t>(phase)], after.rounds - before.rounds);
  cc::bump(counters.reads, after.reads - before.reads);
  cc::bump(counters.read_bytes, after.read_bytes - before.read_bytes);
  cc::bump(counters.writes, after.writes - before.writes);
  cc::bump(counters.compare_swaps, after.compare_swaps - before.compare_swaps);
}

void RemoteTransaction::ask_all(std::span<messages::Question* const> questions) {
  if (questions.empty()) return;
  cc::bump(reach_.counters.messages, std::uint64_t{questions.size()});
  reach_.messenger.ask(questions);
}

AbortReason RemoteTransaction::why(const messages::Question& question) {
  using messages::AskOutcome;
  using messages::Verdict;
  if (question.outcome() == AskOutcome::kAnswered) return AbortReason::kNone;
  if (question.outcome() == AskOutcome::kTooLarge) return AbortReason::kMessageTooLarge;
  if (question.outcome() != AskOutcome::kRefused) return AbortReason::kNodeUnreachable;
  switch (question.verdict()) {
    case Verdict::kBusy: return AbortReason::kRecordBusy;
    case Verdict::kOutOfMemory: return AbortReason::kOutOfMemory;
    case Verdict::kTooLarge: return AbortReason::kMessageTooLarge;
    default:
      return AbortReason::kNodeUnreachable;  // it speaks otherwise, or has other tables: no member of this cluster
  }
}

AbortReason RemoteTransaction::why(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
    case Outcome::kMissing: return AbortReason::kNone;
    case Outcome::kMoved: return AbortReason::kRecordReplaced;
    case Outcome::kChanged: return AbortReason::kReadChanged;
    case Outcome::kNoTime: return AbortReason::kLeaseExpired;
    case Outcome::kOpen:
    case Outcome::kBusy: return AbortReason::kRecordBusy;
    default: return AbortReason::kNodeUnreachable;
  }
}

AbortReason RemoteTransaction::why(Outcome outcome, record::StateWord state) const {
  const bool for_good = outcome == Outcome::kBusy && cc::held_by_dead(state, reach_.worker.shared);
  return for_good ? AbortReason::kNodeUnreachable : why(outcome);
}

}  // namespace granary::cluster
