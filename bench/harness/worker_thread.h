#pragma once
// One worker of a run: pins itself, makes its client, runs requests through the phases and counts them.
//
// The request loop touches shared memory only to read the phase, which changes twice a run; counters and histograms
// are the worker's own and lie on lines of their own.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "bench/harness/durable_latency.h"
#include "bench/harness/result.h"
#include "bench/harness/workload.h"
#include "src/base/cache_line.h"
#include "src/base/tsc_clock.h"

namespace granary::bench {

enum class Phase : std::uint8_t { kSetUp, kWarmUp, kMeasure, kStop };

/// The state that all workers of a run share. `phase` is written by the runner only and read by the workers before each
/// request: relaxed, as nothing is handed over through it (joining the threads does that).
struct RunControl {
  alignas(base::kCacheLine) std::atomic<Phase> phase{Phase::kSetUp};
  /// The number of workers whose set-up has ended. They add with release, and the runner reads with acquire.
  alignas(base::kCacheLine) std::atomic<std::uint32_t> settled{0};
  std::uint64_t latency_sample = 1;
  std::uint64_t piece_ticks = 1;  ///< the length of a piece of the measurement, see DurableLatency
  std::uint32_t fibers = 1;       ///< clients of each worker
  TimeLine* time_line = nullptr;  ///< nullptr if there is none
  std::uint32_t node = 0;         ///< the place of this process's node in it
};

class alignas(base::kCacheLine) WorkerThread {
 public:
  /// Makes a worker, which is not pinned if `cpu` < 0.
  WorkerThread(std::uint32_t id, int cpu, Workload& workload, RunControl& control, const base::TscClock& clock);

  void start() {
    thread_ = std::thread([this] { main(); });
  }
  /// Waits for the end of the thread, if it was started.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  /// Returns whether the client could be made. Valid once `settled` has counted this worker.
  const Status& status() const { return status_; }
  bool pinned() const { return pinned_; }

  /// Return the number of requests that have ended, of their transactions that came to their end, and of aborted
  /// attempts in the present phase, for the progress line. Any thread may call them; relaxed.
  std::uint64_t live_requests() const;
  std::uint64_t live_transactions() const;
  std::uint64_t live_aborts() const { return published_aborts_.load(std::memory_order_relaxed); }

  /// Adds this worker's measured figures, after join().
  void add_to(std::vector<TypeResult>& types) const;
  /// Adds its latencies until results may be shown, by the piece of the measurement (Measurement::durable_pieces),
  /// after join().
  void add_to_pieces(std::vector<Histogram>& pieces) const;

 private:
  static constexpr std::size_t kMaxTypes = 16;  // as in Client

  /// Written by the worker, read by the progress line: relaxed, each figure stands for itself.
  struct Counters {
    std::atomic<std::uint64_t> by_ending[kEndings] = {};
    std::atomic<std::uint64_t> earlier = 0;  // sum of Request::transactions_before
    void count(const Request& request) {
      add(by_ending[static_cast<std::size_t>(request.ending)], 1);
      add(earlier, request.transactions_before);
    }
    void reset() {
      for (auto& counter : by_ending) counter.store(0, std::memory_order_relaxed);
      earlier.store(0, std::memory_order_relaxed);
    }
    std::uint64_t of(Ending ending) const {
      return by_ending[static_cast<std::size_t>(ending)].load(std::memory_order_relaxed);
    }
    std::uint64_t given_up() const { return of(Ending::kGaveUp) + of(Ending::kTooLong); }
    /// Returns the number of transactions that came to their end.
    std::uint64_t transactions() const {
      return of(Ending::kCommitted) + of(Ending::kRolledBack) + earlier.load(std::memory_order_relaxed);
    }

   private:
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) {
      counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
  };

  void main();
  void run_phase(Phase phase);
  void run_phase(Client& client, Phase phase);
  /// Returns the aborts of all clients so far.
  AbortCounts aborts(std::size_t type) const;
  void publish_aborts();
  void track(Client& client, const Request& request);
  void begin_measurement();
  void await_releases();
  void end_measurement();

  const std::uint32_t id_;
  const int cpu_;
  const std::size_t type_count_;
  Workload& workload_;
  RunControl& control_;
  const base::TscClock& clock_;
  Status status_;
  std::vector<std::unique_ptr<Client>> clients_;  ///< made and ended by the thread
  bool pinned_ = false;
  std::thread thread_;

  alignas(base::kCacheLine) std::array<Counters, kMaxTypes> counters_;
  std::atomic<std::uint64_t> published_aborts_{0};  // written by the worker now and then, read by the progress line
  std::vector<Histogram> latencies_;
  const Database* logged_ = nullptr;  // the database, if it has a log
  DurableLatency durable_;
  std::optional<WorkerTrack> track_;                       // set if there is a time line
  std::array<std::uint64_t, kMaxTypes> tracked_aborts_{};  // attempts that it was told, by type
  std::vector<AbortCounts> aborts_at_start_, aborts_;
};

}  // namespace granary::bench
