#include "src/node/call_workers.h"

#include <fmt/format.h>
#include <granary/limits.h>

#include <chrono>
#include <exception>

#include "src/base/threads.h"
#include "src/db/shown_name.h"
#include "src/cluster/messages/frame.h"

namespace granary::db {
namespace {

constexpr std::uint64_t kLook_us = 50'000;
/// How often calls that were left half done are tried again, by workers that have nothing else to do and by busy ones.
constexpr std::int64_t kRetryIdle_us = 100'000, kRetryBusy_us = 1'000'000;

/// How many bytes of an error are told to the caller. A body may throw a text of any length.
constexpr std::size_t kMostTold = 4096;

/// The result of a call as it is sent.
struct CallResult {
  std::uint8_t status = 0;
  std::string message{};
  std::uint8_t reason = 0;
  std::uint32_t attempts = 0;
  std::uint64_t tid = 0;
  std::uint64_t epoch = 0;
  std::uint32_t pieces_left = 0;
  std::string reply{};
  static constexpr auto kMembers =
      std::tuple{&CallResult::status, &CallResult::message, &CallResult::reason,      &CallResult::attempts,
                 &CallResult::tid,    &CallResult::epoch,   &CallResult::pieces_left, &CallResult::reply};
};

}  // namespace

std::string encode_call_result(const Result<RunResult>& result, const std::string& reply) {
  CallResult wire{.status = static_cast<std::uint8_t>(result.status().code()),
                  .message = result.status().message().substr(0, kMostTold)};
  if (result.ok()) {
    wire.reason = static_cast<std::uint8_t>(result->reason);
    wire.attempts = result->attempts;
    wire.tid = result->ticket.tid;
    wire.epoch = result->ticket.epoch;
    wire.pieces_left = result->pieces_left;
    wire.reply = reply;
  }
  std::string bytes;
  cluster::messages::Writer(bytes).put(wire);
  return bytes;
}

Result<RunResult> decode_call_result(std::string_view bytes, std::string& reply) {
  CallResult wire;
  if (!cluster::messages::decode(bytes, wire) || wire.reason >= kAbortReasons ||
      wire.status > static_cast<std::uint8_t>(StatusCode::kMembershipLost)) {
    return Status(StatusCode::kUnavailable,
                  "the answer to the call cannot be understood: the node is of another version");
  }
  if (wire.status != 0) return Status(static_cast<StatusCode>(wire.status), wire.message);
  reply = std::move(wire.reply);
  return RunResult{.reason = static_cast<AbortReason>(wire.reason),
                   .attempts = wire.attempts,
                   .ticket = {.tid = wire.tid, .epoch = wire.epoch},
                   .pieces_left = wire.pieces_left};
}

CallWorkers::CallWorkers(cluster::messages::CallQueue& queue, const Procedures& procedures,
                         std::vector<std::unique_ptr<ClusterThread>> workers)
    : queue_(queue),
      procedures_(procedures),
      workers_(std::move(workers)) {}

void CallWorkers::begin() {
  for (const auto& worker : workers_) {
    threads_.emplace_back([this, &mine = *worker] {
      base::name_thread("gr-calls");
      run(mine);
    });
    running_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool CallWorkers::end() {
  stopping_.store(true, std::memory_order_relaxed);
  for (const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);;) {
    if (running_.load(std::memory_order_acquire) == 0) return true;
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

CallWorkers::~CallWorkers() {
  stopping_.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
}

/// Runs the procedure. If a body throws, the caller at another node is told the text; the transaction has been aborted
/// by then.
Result<RunResult> CallWorkers::call(ClusterThread& mine, const cluster::messages::CallQueue::Job& job,
                                    std::string& reply) const {
  if (const std::size_t bytes = procedures_.reply_bytes(job.procedure); bytes > kMaxCallBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("procedure {} has a reply of {} bytes, and one that another node calls may have {} at "
                              "most: it has not run",
                              shown_name(job.procedure), bytes, kMaxCallBytes));
  }
  try {
    return procedures_.call(mine.worker(), job.procedure, job.arguments, reply);
  } catch (const std::exception& thrown) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("procedure '{}' threw an exception: {}", job.procedure, thrown.what()));
  } catch (...) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("procedure '{}' threw", job.procedure));
  }
}

/// Tries calls that were left half done, if it is time. Nearly always none is left, and this is one load. Busy workers
/// do it, too, so that a busy node does not put it off for good.
void CallWorkers::finish_left(ClusterThread& mine, bool idle) {
  if (procedures_.calls_left() == 0) return;
  using std::chrono::microseconds;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t now_us = std::chrono::duration_cast<microseconds>(now).count();
  std::int64_t tried_us = tried_us_.load(std::memory_order_relaxed);
  if (now_us - tried_us < (idle ? kRetryIdle_us : kRetryBusy_us)) return;
  if (tried_us_.compare_exchange_strong(tried_us, now_us, std::memory_order_relaxed))
    (void)procedures_.finish_left(mine.worker());
}

void CallWorkers::run(ClusterThread& mine) {
  mine.worker().attach_thread();
  while (!stopping_.load(std::memory_order_relaxed)) {
    const auto job = queue_.wait(kLook_us);
    if (job) {
      std::string reply;
      const Result<RunResult> result = call(mine, *job, reply);
      queue_.finish(*job, encode_call_result(result, reply));
    } else {
      mine.worker().collect_garbage();
    }
    finish_left(mine, !job);
  }
  running_.fetch_sub(1, std::memory_order_release);
}

}  // namespace granary::db
