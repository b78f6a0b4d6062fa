#pragma once
// One thread's access to the engine: a worker, of a database or of a node of a cluster, and its retries.

#include <memory>
#include <utility>

#include <granary/cluster.h>
#include <granary/granary.h>

#include "bench/harness/attempts.h"
#include "bench/store/granary_transaction.h"

namespace granary::bench::store {

inline Worker& worker_of(Worker& worker) { return worker; }
inline Worker& worker_of(std::unique_ptr<ClusterWorker>& worker) { return worker->worker(); }

/// `Held` is what the thread registered; `declares` as for GranaryTransaction.
template <typename Held>
class WorkerSession {
 public:
  WorkerSession(Held held, base::Random random, bool declares = false)
      : held_(std::move(held)),
        random_(random),
        declares_(declares) {}

  template <typename Body>
  Ending run(const Footprint&, AbortCounts& aborts, Body&& body) {
    for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
      granary::Transaction handle = worker_of(held_).begin();
      GranaryTransaction transaction(handle, declares_);
      const Verdict verdict = body(transaction);
      // A doomed transaction's reads fail, and its body may take that for a reason of its own; it is tried again.
      if (verdict == Verdict::kRollBack && handle.doom() == AbortReason::kNone) {
        handle.abort();
        return Ending::kRolledBack;
      }
      const AbortReason reason = end(handle, verdict);
      if (reason == AbortReason::kNone) [[likely]]
        return Ending::kCommitted;
      ++aborts[static_cast<std::size_t>(reason)];
      // A node's recovery takes longer than clients wait that have other requests.
      if (!is_retryable(reason) || reason == AbortReason::kNodeRecovering) return Ending::kGaveUp;
      back_off(random_, attempt);
    }
    return Ending::kGaveUp;
  }

  /// A snapshot does not abort; but where another node holds a record for long, it has to be tried again.
  template <typename Body>
  Ending run_snapshot(const Footprint&, AbortCounts& aborts, Body&& body) {
    for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
      granary::Snapshot handle = worker_of(held_).snapshot();
      GranaryReader<granary::Snapshot> reader(handle);
      if (body(reader) == Verdict::kCommit) return Ending::kCommitted;
      if (!reader.met_holder()) return Ending::kGaveUp;
      ++aborts[static_cast<std::size_t>(AbortReason::kRecordBusy)];
      back_off(random_, attempt);
    }
    return Ending::kGaveUp;
  }

  void collect() { worker_of(held_).collect_garbage(); }

 private:
  /// Commits unless the body met something that does not fit together; then the reads cannot have been one state.
  static AbortReason end(granary::Transaction& handle, Verdict verdict) {
    if (verdict == Verdict::kCommit || handle.doom() != AbortReason::kNone) return handle.commit().reason;
    handle.abort();
    return AbortReason::kReadChanged;
  }

  Held held_;
  base::Random random_;
  const bool declares_;
};

}  // namespace granary::bench::store
