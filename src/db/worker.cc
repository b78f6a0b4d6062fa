// The application's Worker (include/granary/database.h): begins transactions and snapshots in contexts of its
// WorkerCore (src/txn), and runs transactions again that have met a conflict.

#include <chrono>
#include <thread>
#include <utility>

#include <granary/database.h>
#include <granary/limits.h>

#include "src/base/cache_line.h"
#include "src/base/deadline.h"
#include "src/db/engine.h"
#include "src/db/may_pass.h"
#include "src/db/memory_wait.h"
#include "src/txn/context.h"
#include "src/txn/worker_core.h"

namespace granary {

static_assert(Worker::kMostTogether == txn::Together::kMost && txn::Together::kMost == kMaxOpenTransactions);

namespace {

using Clock = std::chrono::steady_clock;

/// Waits for a random part of an interval that doubles with each attempt, so that transactions which conflict with each
/// other are run again at different times.
void back_off(txn::WorkerCore& worker, const RetryPolicy& policy, std::uint32_t attempt) {
  constexpr std::uint32_t kMostDoublings = 20;
  const std::uint64_t bound = std::min<std::uint64_t>(
      std::uint64_t{policy.first_backoff_us} << std::min(attempt - 1, kMostDoublings), policy.max_backoff_us);
  const auto until = Clock::now() + std::chrono::nanoseconds(worker.random() % (bound * 1000 + 1));
  for (std::uint32_t turn = 0; Clock::now() < until; ++turn) worker.state().waiter->pause(turn);
}

/// Sleeps for RetryPolicy::max_backoff_us. A reason that may pass (may_pass.h) needs at least some milliseconds for
/// that, and other threads need the processor meanwhile.
void sleep_a_while(txn::WorkerCore& worker, const RetryPolicy& policy) {
  const auto until = Clock::now() + std::chrono::microseconds(policy.max_backoff_us);
  do worker.state().waiter->rest();
  while (Clock::now() < until);
}

/// Returns the result of a call that was refused, so that no body ran.
RunResult misused() {
  RunResult refused;
  refused.reason = AbortReason::kMisuse;
  return refused;
}

/// Returns an idle context of a worker that is bound to this thread: almost always the first.
txn::Context* context_for(txn::WorkerCore& worker) {
  worker.end_dropped();
  txn::Context* const first = worker.first_context();
  return first != nullptr && first->idle() ? first : worker.idle_context();
}

}  // namespace

Worker::Worker(Worker&& other) noexcept
    : core_(std::exchange(other.core_, nullptr)),
      engine_(std::exchange(other.engine_, nullptr)) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  Worker taken(std::move(other));
  std::swap(core_, taken.core_);
  std::swap(engine_, taken.engine_);
  return *this;
}

Worker::~Worker() {
  if (core_ != nullptr && !engine_->inherited()) engine_->workers().give_back(core_);
}

Transaction Worker::begin(const TransactionOptions& options) {
  if (core_ == nullptr || options.isolation > Isolation::kRepeatableRead) [[unlikely]]
    return {};
  // A wrong thread gets a handle of which every operation is refused, so that it never touches the owner's state.
  if (!core_->bind()) [[unlikely]]
    return {core_->first_context(), 0};
  txn::Context* const context = context_for(*core_);
  if (context == nullptr) [[unlikely]]
    return {};
  core_->state().body = __builtin_return_address(0);  // tells places apart that begin transactions
  return {context, context->begin(options)};
}

Snapshot Worker::snapshot() {
  if (core_ == nullptr || !core_->shared().settings.snapshots) return {};
  if (!core_->bind()) return {core_->first_context(), 0};
  txn::Context* const context = context_for(*core_);
  if (context == nullptr) return {};
  return {context, context->snapshot().begin()};
}

RunResult Worker::run(FunctionRef<void(Transaction&)> body, const RetryPolicy& policy) {
  if (core_ == nullptr) [[unlikely]]
    return misused();
  // Without patience the end has come already, so a short transaction does not look at the clock.
  const auto end = policy.patience_us == 0 ? Clock::time_point() : base::deadline_in(policy.patience_us);
  db::MemoryWait memory;
  RunResult result;
  std::uint32_t too_long = 0;  // how many attempts in a row were open for too long
  for (;;) {
    ++result.attempts;
    Transaction transaction = begin(policy.transaction);
    if (transaction.serial_ != 0) core_->state().body = body.code();
    body(transaction);
    result.reason = transaction.aborted();
    if (result.reason == AbortReason::kNone) {
      const bool by_body = transaction.committed_.reason != AbortReason::kMisuse;
      const CommitResult commit = by_body ? transaction.committed_ : transaction.commit();
      result.reason = commit.reason;
      result.ticket = commit.ticket;
    }
    if (result.reason == AbortReason::kNone || result.attempts == policy.max_attempts) return result;
    if (db::wants_memory(result.reason) && memory.await(*core_)) continue;
    too_long = result.reason == AbortReason::kOpenTooLong ? too_long + 1 : 0;
    if (too_long >= kMostOpenTooLong && Clock::now() >= end) return result;
    if (is_retryable(result.reason)) {
      back_off(*core_, policy, result.attempts);
    } else if (db::may_pass(result.reason, core_->shared()) && Clock::now() < end) {
      sleep_a_while(*core_, policy);
    } else {
      return result;
    }
  }
}

void Worker::run_many(std::span<RunResult> results, FunctionRef<void(std::size_t, Transaction&)> body,
                      const RetryPolicy& policy) {
  // If an exception leaves a body, the results of transactions that have not ended say that these were aborted.
  for (RunResult& result : results) result = {.reason = AbortReason::kUser, .ticket = {}};
  run_together(results.size(), [&](std::size_t i) {
    results[i] = run([&](Transaction& transaction) { body(i, transaction); }, policy);
  });
}

void Worker::run_together(std::size_t count, FunctionRef<void(std::size_t)> body) {
  if (core_ != nullptr && core_->bind() && core_->run_in_turns(count, body)) return;
  for (std::size_t i = 0; i < count; ++i) body(i);
}

bool Worker::let_others_run() {
  if (core_ == nullptr || !core_->bound_here() || core_->in_turns() == nullptr) return false;
  core_->in_turns()->turn();
  return true;
}

void Worker::attach_thread() {
  if (core_ != nullptr) core_->attach();
}

void Worker::collect_garbage() {
  constexpr std::size_t kBudget = 1024;
  if (core_ == nullptr || !core_->bind()) return;
  core_->end_dropped();
  core_->tidy_remote();
  while (core_->collect(kBudget) >= kBudget) {
  }
}

std::uint32_t Worker::id() const { return core_ == nullptr ? ~std::uint32_t{0} : core_->id(); }

}  // namespace granary
