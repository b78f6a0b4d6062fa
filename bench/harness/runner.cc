#include "bench/harness/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "bench/harness/log_room.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/harness/worker_thread.h"
#include "src/base/threads.h"
#include "src/base/tsc_clock.h"

namespace granary::bench {

namespace {

class Run {
 public:
  Run(Workload& workload, const RunPlan& plan, const base::TscClock& clock, StopSignals& signals)
      : workload_(workload),
        plan_(plan),
        clock_(clock),
        signals_(signals) {
    const std::vector<int> cpus = allowed_cpus();
    control_.latency_sample = plan.latency_sample;
    control_.piece_ticks =
        static_cast<std::uint64_t>(DurableLatency::piece_seconds(plan.seconds) * 1e9 / clock.nanoseconds_per_tick());
    control_.fibers = plan.fibers;
    control_.time_line = plan.time_line;
    control_.node = plan.node;
    for (std::uint32_t id = 0; id < plan.workers; ++id) {
      const int cpu = plan.pin && plan.workers <= cpus.size() ? cpus[id] : -1;
      workers_.push_back(std::make_unique<WorkerThread>(id, cpu, workload, control_, clock));
    }
  }

  Result<Measurement> measure();

 private:
  Status start_workers();
  void set_phase(Phase phase) {
    control_.phase.store(phase, std::memory_order_relaxed);
    control_.phase.notify_all();
  }
  void pass(Phase phase, double seconds, double offset);
  std::uint64_t end_of(Phase phase, double seconds, std::uint64_t start) const;
  bool wait_until(std::uint64_t deadline_ns);
  bool watch_releases_until(std::uint64_t deadline_ns);
  CheckpointCost::Look look() const;
  std::uint64_t requests() const;
  void sample(double at_seconds, double length_seconds);
  Status check_room() const;
  void sum_up();

  Workload& workload_;
  const RunPlan& plan_;
  const base::TscClock& clock_;
  StopSignals& signals_;
  RunControl control_;
  std::vector<std::unique_ptr<WorkerThread>> workers_;
  Measurement result_;
  std::uint64_t requests_before_ = 0, transactions_before_ = 0, aborts_before_ = 0;
  std::uint64_t released_epoch_ = 0;  ///< the last one that the time line was told
};

/// Starts all threads and waits until each has made its client.
Status Run::start_workers() {
  const Status started = base::with_threads([this]() -> Status {
    for (auto& worker : workers_) worker->start();
    return {};
  });
  if (!started.ok()) return started;
  while (control_.settled.load(std::memory_order_acquire) != plan_.workers) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (auto& worker : workers_) {
    if (!worker->status().ok()) return worker->status();
  }
  return {};
}

/// Lets a phase run for its time, and looks at it once a second.
void Run::pass(Phase phase, double seconds, double offset) {
  requests_before_ = transactions_before_ = aborts_before_ = 0;
  if (phase == Phase::kMeasure) {
    result_.begun = workload_.figures();
    result_.cluster = workload_.cluster_figures();
  }
  const std::uint64_t start = base::monotonic_ns();
  const std::uint64_t end = end_of(phase, seconds, start);
  set_phase(phase);
  result_.checkpoint_cost = {};
  result_.checkpoint_cost.begin(look());
  std::uint64_t last = start;
  for (std::uint64_t tick = start + base::kSecondNs; last < end; tick += base::kSecondNs) {
    const bool stopped = wait_until(std::min(tick, end));
    const std::uint64_t now = base::monotonic_ns();
    const double length = static_cast<double>(now - last) / 1e9;
    const double at = offset + static_cast<double>(now - start) / 1e9;
    if (length >= 0.5 || seconds < 1) sample(phase == Phase::kWarmUp ? std::min(at, 0.0) : at, length);
    last = now;
    if (stopped || !status_of(workload_).ok()) break;  // no request can come to its end any more
  }
  if (phase == Phase::kMeasure) result_.elapsed_ns = base::monotonic_ns() - start;
}

/// Returns the end of a phase that starts now. It lasts for its time or, with a time line, as long as on all other
/// nodes.
std::uint64_t Run::end_of(Phase phase, double seconds, std::uint64_t start) const {
  const auto length = static_cast<std::uint64_t>(seconds * 1e9);
  if (plan_.time_line == nullptr) return start + length;
  return plan_.time_line->begins_ns() + (phase == Phase::kMeasure ? length : 0);
}

/// Waits like StopSignals::wait_until, and notes meanwhile in the time line when D moves on.
bool Run::watch_releases_until(std::uint64_t deadline_ns) {
  constexpr std::uint64_t kLookNs = 1'000'000;
  const Database* const logged = workload_.logged_database();
  for (;;) {
    const std::uint64_t now = base::monotonic_ns();
    if (const std::uint64_t released = logged == nullptr ? 0 : logged->released_epoch(); released > released_epoch_) {
      released_epoch_ = released;
      plan_.time_line->note_released(plan_.node, now);
    }
    if (signals_.wait_until(std::min(deadline_ns, now + kLookNs))) return true;
    if (now >= deadline_ns) return false;
  }
}

/// Waits like StopSignals::wait_until, and observes meanwhile what a checkpoint costs.
bool Run::wait_until(std::uint64_t deadline_ns) {
  constexpr std::uint64_t kLookNs = 20'000'000;
  if (plan_.time_line != nullptr) return watch_releases_until(deadline_ns);
  if (!plan_.checkpoints) return signals_.wait_until(deadline_ns);
  for (;;) {
    const std::uint64_t next = std::min(deadline_ns, base::monotonic_ns() + kLookNs);
    if (signals_.wait_until(next)) return true;
    result_.checkpoint_cost.observe(look());
    if (next == deadline_ns) return false;
  }
}

CheckpointCost::Look Run::look() const {
  return {base::monotonic_ns(), requests(), workload_.figures().checkpoint_seconds};
}

std::uint64_t Run::requests() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->live_requests();
  return sum;
}

void Run::sample(double at_seconds, double length_seconds) {
  const std::uint64_t requests = this->requests();
  std::uint64_t transactions = 0, aborts = 0;
  for (const auto& worker : workers_) {
    transactions += worker->live_transactions();
    aborts += worker->live_aborts();
  }
  Sample now{.seconds = at_seconds, .resident_bytes = resident_bytes(), .store = workload_.figures()};
  // Right after the switch to the measurement a worker may not have reset its counters yet.
  now.requests = requests - std::min(requests, requests_before_);
  now.transactions = transactions - std::min(transactions, transactions_before_);
  now.aborts = aborts - std::min(aborts, aborts_before_);
  requests_before_ = requests;
  transactions_before_ = transactions;
  aborts_before_ = aborts;
  workload_.observe(now);
  if (plan_.progress) print_progress(now, length_seconds);
  result_.samples.push_back(std::move(now));
}

/// Checks that the log that is still to come, at the warm-up's rate, fits the disk.
Status Run::check_room() const {
  const StoreFigures now = workload_.figures();
  const double rate = static_cast<double>(now.log_bytes - result_.loaded.log_bytes) / plan_.warmup_seconds;
  const double seconds = plan_.seconds * static_cast<double>(plan_.runs_on_this_data);
  return check_log_room(plan_.options, {rate, seconds, now.records_bytes},
                        fmt::format("{}, which logs {} a second, for {} s", workload_.name(),
                                    human_bytes(static_cast<std::uint64_t>(rate)), seconds));
}

void Run::sum_up() {
  for (const std::string& name : workload_.transaction_types()) {
    result_.types.emplace_back();
    result_.types.back().name = name;
  }
  result_.pinned = true;
  for (auto& worker : workers_) {
    worker->add_to(result_.types);
    worker->add_to_pieces(result_.durable_pieces);
    result_.pinned = result_.pinned && worker->pinned();
  }
  result_.durable_piece_seconds = DurableLatency::piece_seconds(plan_.seconds);
  result_.nanoseconds_per_tick = clock_.nanoseconds_per_tick();
  result_.load_average_after = load_average();
  result_.resident_bytes = resident_bytes();
  result_.extra = workload_.extra_figures();
  if (result_.cluster) result_.cluster = workload_.cluster_figures()->since(*result_.cluster);
}

Result<Measurement> Run::measure() {
  result_.load_average_before = load_average();
  result_.loaded = workload_.figures();
  result_.cluster = workload_.cluster_figures();
  Status ready = start_workers();
  if (ready.ok()) {
    signals_.ask_first(true);
    if (plan_.warmup_seconds > 0) {
      pass(Phase::kWarmUp, plan_.warmup_seconds, -plan_.warmup_seconds);
      ready = check_room();
    }
    if (ready.ok() && !signals_.requested()) pass(Phase::kMeasure, plan_.seconds, 0);
    result_.interrupted = signals_.requested();
  }
  if (ready.ok()) result_.store = workload_.figures();  // before the workers wait until their results are durable
  set_phase(Phase::kStop);
  for (auto& worker : workers_) worker->join();
  if (!ready.ok()) return ready;
  sum_up();
  return std::move(result_);
}

}  // namespace

Result<Measurement> measure(Workload& workload, const RunPlan& plan, const base::TscClock& clock,
                            StopSignals& signals) {
  return Run(workload, plan, clock, signals).measure();
}

}  // namespace granary::bench
