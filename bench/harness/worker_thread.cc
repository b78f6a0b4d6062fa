#include "bench/harness/worker_thread.h"

#include <chrono>
#include <utility>

#include "bench/harness/machine.h"

namespace granary::bench {

WorkerThread::WorkerThread(std::uint32_t id, int cpu, Workload& workload, RunControl& control,
                           const base::TscClock& clock)
    : id_(id),
      cpu_(cpu),
      type_count_(workload.transaction_types().size()),
      workload_(workload),
      control_(control),
      clock_(clock),
      latencies_(type_count_),
      durable_(type_count_, control.piece_ticks),
      aborts_at_start_(type_count_),
      aborts_(type_count_) {}

void WorkerThread::main() {
  pinned_ = cpu_ >= 0 && pin_to(cpu_);
  auto made = workload_.make_clients(id_, control_.fibers);
  if (made.ok()) clients_ = std::move(*made);
  status_ = made.status();
  control_.settled.fetch_add(
      1, std::memory_order_release);  // pairs with the runner's acquire: it reads status_ and pinned_
  if (!made.ok()) return;
  logged_ = workload_.logged_database();
  if (TimeLine* const line = control_.time_line; line != nullptr) {
    track_.emplace(*line, control_.node, id_);
    clients_.front()->track(line->account(control_.node).workers[id_]);
  }
  control_.phase.wait(Phase::kSetUp, std::memory_order_relaxed);
  durable_.begin(clock_.ticks());
  run_phase(Phase::kWarmUp);
  begin_measurement();
  run_phase(Phase::kMeasure);
  await_releases();
  end_measurement();
  clients_.front()->idle();
  clients_.clear();
}

void WorkerThread::run_phase(Phase phase) {
  if (clients_.size() == 1) return run_phase(*clients_.front(), phase);
  clients_.front()->run_together(static_cast<std::uint32_t>(clients_.size()),
                                 [&](std::uint32_t i) { run_phase(*clients_[i], phase); });
}

void WorkerThread::run_phase(Client& client, Phase phase) {
  constexpr std::uint64_t kPublishEvery = 64;
  const std::uint64_t sample = control_.latency_sample;
  std::uint64_t until_timed = 1, until_published = kPublishEvery;
  std::uint64_t last = clock_.ticks();
  while (control_.phase.load(std::memory_order_relaxed) == phase) {
    const bool timed = --until_timed == 0;
    // With every request timed, one request's end is the next one's start: one reading of the clock each.
    if (timed && sample != 1) last = clock_.ticks();
    const Request request = client.run_one();
    if (timed) {
      const std::uint64_t now = clock_.ticks();
      latencies_[request.type].record(now - last);
      if (logged_ != nullptr) {
        durable_.add(request.type, logged_->current_epoch(), last);
        durable_.release(logged_->released_epoch(), now);
      }
      last = now;
      until_timed = sample;
    }
    counters_[request.type].count(request);
    if (track_) [[unlikely]]
      track(client, request);
    if (--until_published == 0) {
      publish_aborts();
      until_published = kPublishEvery;
    }
  }
}

AbortCounts WorkerThread::aborts(std::size_t type) const {
  AbortCounts sum{};
  for (const auto& client : clients_) {
    const AbortCounts& part = client->aborts(static_cast<std::uint8_t>(type));
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) sum[reason] += part[reason];
  }
  return sum;
}

void WorkerThread::publish_aborts() {
  std::uint64_t sum = 0;
  for (std::size_t type = 0; type < type_count_; ++type) {
    const AbortCounts now = aborts(type);
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) sum += now[reason] - aborts_at_start_[type][reason];
  }
  published_aborts_.store(sum, std::memory_order_relaxed);
}

void WorkerThread::track(Client& client, const Request& request) {
  std::uint64_t aborts = 0;
  for (const std::uint64_t count : client.aborts(request.type)) aborts += count;
  const std::uint64_t aborted = aborts - std::exchange(tracked_aborts_[request.type], aborts);
  track_->note(base::monotonic_ns(), !is_given_up(request.ending), client.reached(), aborted);
}

void WorkerThread::begin_measurement() {
  for (const auto& client : clients_) client->begin_measurement();
  for (std::size_t type = 0; type < type_count_; ++type) {
    counters_[type].reset();
    latencies_[type].reset();
    aborts_at_start_[type] = aborts(type);
  }
  durable_.begin(clock_.ticks());
  published_aborts_.store(0, std::memory_order_relaxed);
}

/// Waits a bounded time until the results of all timed requests may be shown. Otherwise the latencies would leave out
/// the last requests, and the more of them the longer a release takes.
void WorkerThread::await_releases() {
  constexpr std::uint64_t kMost_ns = 2 * base::kSecondNs;
  durable_.end(clock_.ticks());
  const std::uint64_t deadline = base::monotonic_ns() + kMost_ns;
  while (durable_.waits() && base::monotonic_ns() < deadline && status_of(workload_).ok()) {
    clients_.front()->idle();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    durable_.release(logged_->released_epoch(), clock_.ticks());
  }
}

void WorkerThread::end_measurement() {
  for (std::size_t type = 0; type < type_count_; ++type) {
    aborts_[type] = aborts(type);
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason)
      aborts_[type][reason] -= aborts_at_start_[type][reason];
  }
}

std::uint64_t WorkerThread::live_requests() const {
  std::uint64_t sum = 0;
  for (std::size_t type = 0; type < type_count_; ++type) {
    sum +=
        counters_[type].of(Ending::kCommitted) + counters_[type].of(Ending::kRolledBack) + counters_[type].given_up();
  }
  return sum;
}

std::uint64_t WorkerThread::live_transactions() const {
  std::uint64_t sum = 0;
  for (std::size_t type = 0; type < type_count_; ++type) sum += counters_[type].transactions();
  return sum;
}

void WorkerThread::add_to(std::vector<TypeResult>& types) const {
  for (std::size_t type = 0; type < type_count_; ++type) {
    const std::uint64_t committed = counters_[type].of(Ending::kCommitted);
    const std::uint64_t rolled_back = counters_[type].of(Ending::kRolledBack);
    types[type].committed += committed;
    types[type].rolled_back += rolled_back;
    types[type].gave_up += counters_[type].given_up();
    types[type].too_long += counters_[type].of(Ending::kTooLong);
    types[type].transactions += counters_[type].transactions();
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) types[type].aborts[reason] += aborts_[type][reason];
    types[type].latency.merge(latencies_[type]);
    types[type].durable.merge(durable_.of(type));
    types[type].unreleased += durable_.unreleased(type);
  }
}

void WorkerThread::add_to_pieces(std::vector<Histogram>& pieces) const {
  if (pieces.size() < durable_.pieces().size()) pieces.resize(durable_.pieces().size());
  for (std::size_t piece = 0; piece < durable_.pieces().size(); ++piece) pieces[piece].merge(durable_.pieces()[piece]);
}

}  // namespace granary::bench
