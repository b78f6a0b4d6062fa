#include <algorithm>
#include <array>

#include "src/base/tsc_clock.h"
#include "src/db/engine.h"
#include "src/db/released.h"
#include "src/log/ring.h"
#include "src/txn/commit_latencies.h"
#include "src/txn/worker_counters.h"

namespace granary::db {
namespace {

void add(const htm::Counters& counters, HtmStatistics& sum) {
  const auto aborts = [&](htm::Cause cause) {
    return counters.aborts[static_cast<std::size_t>(cause)].load(std::memory_order_relaxed);
  };
  sum.commits += counters.commits.load(std::memory_order_relaxed);
  sum.fallbacks += counters.fallbacks.load(std::memory_order_relaxed);
  sum.conflicts += aborts(htm::Cause::kConflict);
  sum.capacity += aborts(htm::Cause::kCapacity);
  sum.explicit_aborts += aborts(htm::Cause::kExplicit);
  sum.others += aborts(htm::Cause::kOther);
}

/// Sums the latencies of all workers, in ticks.
class LatencySum {
 public:
  using Buckets = txn::CommitLatencies::Buckets;

  void add(const txn::CommitLatencies& latencies) {
    for (std::size_t bucket = 0; bucket < Buckets::kBuckets; ++bucket) counts_[bucket] += latencies.count(bucket);
    ticks_ += static_cast<double>(latencies.sum_ticks());
  }

  CommitLatencies in_nanoseconds(double nanoseconds_per_tick) const {
    CommitLatencies sum{.seconds = ticks_ * nanoseconds_per_tick / 1e9};
    for (std::size_t bucket = 0; bucket < Buckets::kBuckets; ++bucket) {
      if (counts_[bucket] == 0) continue;
      const double most = static_cast<double>(Buckets::bucket_high(bucket)) * nanoseconds_per_tick;
      sum.buckets.push_back({.most_ns = static_cast<std::uint64_t>(most), .count = counts_[bucket]});
      sum.samples += counts_[bucket];
    }
    return sum;
  }

 private:
  std::array<std::uint64_t, Buckets::kBuckets> counts_{};
  double ticks_ = 0;
};

void add(const log::Ring& ring, Statistics& sum) {
  const std::uint64_t held = ring.fill();
  sum.ring_bytes += ring.capacity();
  sum.ring_held_bytes += held;
  sum.ring_fullest = std::max(sum.ring_fullest, static_cast<double>(held) / static_cast<double>(ring.capacity()));
}

}  // namespace

Statistics Engine::statistics() const {
  Statistics sum;
  std::int64_t records = 0;
  std::int64_t index = schema_.index_bytes();
  std::int64_t versions = 0;
  LatencySum latencies;
  workers_.for_each([&](txn::WorkerCore& worker) {
    const cc::WorkerState& state = worker.state();
    const txn::WorkerCounters& counters = worker.counters();
    sum.commits += counters.commits();
    sum.snapshots += counters.snapshots();
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) sum.aborts[reason] += counters.aborts(reason);
    records +=
        state.slabs.bytes_in_use(memory::SlabKind::kRecord) + state.slabs.bytes_in_use(memory::SlabKind::kSharedRecord);
    index += state.slabs.index_bytes_in_use();
    versions += state.version_bytes.load(std::memory_order_relaxed);
    sum.versions_created += state.versions_created.load(std::memory_order_relaxed);
    sum.ring_waits += state.ring_waits.load(std::memory_order_relaxed);
    sum.garbage_items += state.garbage_items.load(std::memory_order_relaxed);
    if (state.region != nullptr) add(state.region->counters(), sum.htm);
    if (state.open_region != nullptr) add(state.open_region->counters(), sum.htm);
    if (state.ring != nullptr) add(*state.ring, sum);
    latencies.add(worker.latencies());
  });
  sum.commit_latencies = latencies.in_nanoseconds(shared_.meter.nanoseconds_per_tick());
  sum.htm.backend = htm::name(htm_->backend());
  sum.records_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, records));
  sum.index_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, index));
  sum.version_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, versions));
  sum.reserved_bytes = slabs_.bytes_reserved();
  sum.limit_bytes = slabs_.limit_bytes();
  sum.epoch = epochs_.current();
  if (shared_.log != nullptr) {
    const log::LogStatistics log = shared_.log->statistics();
    sum.durable_epoch = durable_everywhere(epochs_, *shared_.log);
    sum.log_bytes = log.bytes;
    sum.log_entries = log.entries;
    sum.log_syncs = log.syncs;
    sum.log_segments = log.segments;
    storage_->checkpoints().figures().add_to(&sum);
  }
  sum.stalled_ticks = epochs_.stall().ticks;
  if (const std::uint64_t turned = turned_us_.load(std::memory_order_relaxed); turned != 0)
    sum.epoch_thread_silence_us = std::max(base::monotonic_us(), turned) - turned;
  return sum;
}

}  // namespace granary::db
