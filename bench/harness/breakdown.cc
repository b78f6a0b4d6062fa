#include "bench/harness/breakdown.h"

#include <algorithm>

#include "src/record/tid.h"
#include "src/txn/worker_core.h"

namespace granary::bench {

void TimeParts::add(const TimeParts& more) {
  index += more.index;
  execution += more.execution;
  commit += more.commit;
  waiting += more.waiting;
  aborted += more.aborted;
  back_off += more.back_off;
}

void CommitTimes::note(const Ticket& ticket) {
  ++transactions;
  if (ticket.tid == 0) return;
  std::uint64_t& last = greatest[ticket.epoch];
  last = std::max(last, record::sequence_of(ticket.tid));
}

void CommitTimes::add(const CommitTimes& more) {
  transactions += more.transactions;
  for (const auto& [epoch, sequence] : more.greatest) greatest[epoch] = std::max(greatest[epoch], sequence);
}

double CommitTimes::growth() const {
  std::uint64_t steps = 0;
  for (const auto& [epoch, sequence] : greatest) steps += sequence;
  return transactions == 0 ? 0 : static_cast<double>(steps) / static_cast<double>(transactions);
}

void Breakdown::add(const TimeParts& parts, const CommitTimes& times) {
  const std::lock_guard lock(mutex_);
  parts_.add(parts);
  times_.add(times);
}

std::vector<ExtraFigure> Breakdown::take_figures() {
  const std::lock_guard lock(mutex_);
  const auto percent = [all = std::max<std::uint64_t>(1, parts_.all())](std::uint64_t part) {
    return 100 * static_cast<double>(part) / static_cast<double>(all);
  };
  std::vector<ExtraFigure> figures{{"time_index_percent", percent(parts_.index)},
                                   {"time_execution_percent", percent(parts_.execution)},
                                   {"time_commit_percent", percent(parts_.commit)},
                                   {"time_waiting_percent", percent(parts_.waiting)},
                                   {"time_aborted_percent", percent(parts_.aborted)},
                                   {"time_back_off_percent", percent(parts_.back_off)},
                                   {"commit_time_steps_per_transaction", times_.growth()},
                                   {"commit_time_transactions", static_cast<double>(times_.transactions)}};
  parts_ = {};
  times_ = {};
  return figures;
}

void RequestTimes::TimedWaiter::pause(std::uint32_t turn) {
  const std::uint64_t began = meter_.ticks();
  waits_.pause(turn);
  work_.waiting += meter_.ticks() - began;
}

void RequestTimes::TimedWaiter::rest() {
  const std::uint64_t began = meter_.ticks();
  waits_.rest();
  work_.waiting += meter_.ticks() - began;
}

RequestTimes::RequestTimes(Breakdown& sum, Worker& worker)
    : sum_(sum),
      worker_(*worker.core()),
      waiter_(*worker_.state().waiter),
      timed_waiter_(waiter_, work_, worker_.shared().meter),
      first_epoch_(worker_.shared().epochs.current()) {}

RequestTimes::~RequestTimes() { sum_.add(parts_, times_); }

void RequestTimes::request_begins() {
  timing_ = ++requests_ % kSampled == 0;
  if (!timing_) return;
  worker_.state().timed_work = &work_;
  worker_.state().waiter = &timed_waiter_;
  last_ = worker_.shared().meter.ticks();
}

void RequestTimes::attempt_begins() {
  if (!timing_) return;
  attempt_ = worker_.shared().meter.ticks();
  parts_.back_off += attempt_ - last_;
  work_ = {};
  execution_.reset();
}

void RequestTimes::commit_begins() {
  if (!timing_) return;
  execution_ = worker_.shared().meter.ticks() - attempt_ - work_.index - work_.waiting;
}

void RequestTimes::attempt_ended(const CommitResult& done) {
  if (done.committed()) note_commit(done.ticket);
  if (!timing_) return;
  const std::uint64_t now = worker_.shared().meter.ticks();
  if (!done.committed() && done.reason != AbortReason::kUser) {
    parts_.aborted += now - attempt_;
  } else {
    const std::uint64_t own = now - attempt_ - work_.index - work_.waiting;
    const std::uint64_t execution = execution_.value_or(own);  // all of it, if no commit was tried
    parts_.index += work_.index;
    parts_.waiting += work_.waiting;
    parts_.execution += execution;
    parts_.commit += own - execution;
  }
  last_ = now;
}

void RequestTimes::note_commit(const Ticket& ticket) {
  if (in_first_epoch_) {
    if (worker_.shared().epochs.current() == first_epoch_) return;
    in_first_epoch_ = false;
  }
  // A transaction that committed just before the epoch advanced still belongs to the first epoch.
  if (ticket.tid != 0 && ticket.epoch <= first_epoch_) return;
  times_.note(ticket);
}

void RequestTimes::request_ended() {
  if (!timing_) return;
  worker_.state().timed_work = nullptr;
  worker_.state().waiter = &waiter_;
  timing_ = false;
}

}  // namespace granary::bench
