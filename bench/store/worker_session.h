#pragma once
// One thread's access to the engine: a worker, of a database or of a node of a cluster, and its retries.

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <granary/cluster.h>
#include <granary/granary.h>

#include "bench/harness/attempts.h"
#include "bench/store/granary_transaction.h"
#include "src/base/check.h"

namespace granary::bench::store {

/// A thread registers one worker. All sessions of the thread hold it, so that they can run together (--batch,
/// --fibers).
using HeldWorker = std::shared_ptr<Worker>;
using HeldClusterWorker = std::shared_ptr<ClusterWorker>;

inline Worker& worker_of(HeldWorker& worker) { return *worker; }
inline Worker& worker_of(HeldClusterWorker& worker) { return worker->worker(); }

inline void run_together(HeldWorker& worker, std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
  worker->run_together(count, [&](std::size_t i) { body(static_cast<std::uint32_t>(i)); });
}
inline void run_together(HeldClusterWorker& worker, std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
  const Status ran = worker->run_together(count, body);
  base::always_check(ran.ok(), "--fibers are no more than a worker takes");
}

/// `Held` is the worker that the thread registered; `declares` is as for GranaryTransaction.
template <typename Held>
class WorkerSession {
 public:
  static constexpr std::uint64_t kStream = 0x73746f7265;  ///< the stream of the random numbers by which it backs off

  /// `breakdown` adds up where the time of a measurement's requests goes; nullptr if it is not wanted.
  WorkerSession(Held held, base::Random random, bool declares = false, Breakdown* breakdown = nullptr)
      : held_(std::move(held)),
        random_(random),
        declares_(declares),
        breakdown_(breakdown) {}

  /// Times requests from now on. A session that loads or checks the data does not call this, so that its requests are
  /// not counted.
  void begin_measurement() {
    if (breakdown_ != nullptr) times_.emplace(*breakdown_, worker_of(held_));
  }

  template <typename Body>
  Ending run(const Footprint&, AbortCounts& aborts, Body&& body) {
    // A node's recovery takes longer than clients with other requests wait.
    constexpr RetryRule kRule{.most_attempts = kMaxAttempts, .awaits_recovery = false};
    RequestTimes* const times = this->times();
    return run_attempts(worker_of(held_), random_, aborts, kRule, times, [&] { return attempt_once(body, times); });
  }

  /// Runs a snapshot. It does not abort; but where another node holds a record for long, it has to be tried again.
  template <typename Body>
  Ending run_snapshot(const Footprint&, AbortCounts& aborts, Body&& body) {
    RequestTimes* const times = this->times();
    return timed_request(times, [&] {
      for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
        bool met_holder = false;
        const CommitResult done = timed_attempt(times, [&] { return read_once(body, met_holder); });
        if (done.committed()) return Ending::kCommitted;
        if (!met_holder) return Ending::kGaveUp;
        ++aborts[static_cast<std::size_t>(done.reason)];
        back_off(worker_of(held_), random_, attempt);
      }
      return Ending::kGaveUp;
    });
  }

  void collect() { worker_of(held_).collect_garbage(); }

  /// Returns another session of the same worker, for run_together().
  std::unique_ptr<WorkerSession> beside(std::uint64_t seed) {
    return std::make_unique<WorkerSession>(held_, base::Random(seed, kStream), declares_);
  }
  void run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body) {
    store::run_together(held_, count, body);
  }

 private:
  RequestTimes* times() { return times_ ? &*times_ : nullptr; }

  /// Lets the body read a snapshot. Sets `met_holder` if it failed since another node held a record.
  template <typename Body>
  CommitResult read_once(Body&& body, bool& met_holder) {
    granary::Snapshot handle = worker_of(held_).snapshot();
    GranaryReader<granary::Snapshot> reader(handle);
    const bool read_all = body(reader) == Verdict::kCommit;
    met_holder = reader.met_holder();
    return {.reason = read_all ? AbortReason::kNone : AbortReason::kRecordBusy, .ticket = {}};
  }

  /// Runs the body once and commits, unless the body met rows that do not fit together; then the reads cannot have been
  /// one state. Returns kUser if the body rolls back. A doomed transaction's reads fail, and its body may roll back for
  /// that; it is tried again.
  template <typename Body>
  CommitResult attempt_once(Body&& body, RequestTimes* times) {
    granary::Transaction handle = worker_of(held_).begin();
    GranaryTransaction transaction(handle, declares_);
    const Verdict verdict = body(transaction);
    if (verdict == Verdict::kCommit || handle.doom() != AbortReason::kNone) {
      if (times != nullptr) times->commit_begins();
      return handle.commit();
    }
    handle.abort();
    return {.reason = verdict == Verdict::kRollBack ? AbortReason::kUser : AbortReason::kReadChanged, .ticket = {}};
  }

  Held held_;
  base::Random random_;
  const bool declares_;
  Breakdown* const breakdown_;
  std::optional<RequestTimes> times_;  // after the members that it uses
};

}  // namespace granary::bench::store
