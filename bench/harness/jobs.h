#pragma once
// Shares independent jobs out among threads; used to load and to verify.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include <granary/status.h>

#include "src/base/threads.h"

namespace granary::bench {

/// Runs jobs 0 … count − 1, each once. Each thread makes a worker with `make_worker() → Result<Worker>` and calls it
/// with the number of a job; a Status that is not ok ends the run and is returned.
template <typename MakeWorker>
Status run_jobs(unsigned threads, std::size_t count, MakeWorker&& make_worker) {
  std::atomic<std::size_t> next{0};  // taken by all threads with fetch_add; relaxed, only uniqueness matters
  std::mutex mutex;                  // guards `failed`
  Status failed;
  const auto work = [&](unsigned) {
    auto worker = make_worker();
    Status done = worker.ok() ? Status() : worker.status();
    while (done.ok()) {
      const std::size_t job = next.fetch_add(1, std::memory_order_relaxed);
      if (job >= count) return;
      done = (*worker)(job);
    }
    next.store(count, std::memory_order_relaxed);
    const std::lock_guard lock(mutex);
    if (failed.ok()) failed = done;
  };
  base::share_out(std::max(threads, 1u), work);
  return failed;
}

}  // namespace granary::bench
