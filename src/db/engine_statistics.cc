#include <algorithm>

#include "src/db/engine.h"
#include "src/db/released.h"
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

}  // namespace

Statistics Engine::statistics() const {
  Statistics sum;
  std::int64_t records = 0;
  std::int64_t index = schema_.index_bytes();
  std::int64_t versions = 0;
  workers_.for_each([&](txn::WorkerCore& worker) {
    const cc::WorkerState& state = worker.state();
    const txn::WorkerCounters& counters = worker.counters();
    sum.commits += counters.commits();
    sum.snapshots += counters.snapshots();
    for (std::size_t reason = 0; reason < kAbortReasons; ++reason) sum.aborts[reason] += counters.aborts(reason);
    records +=
        state.slabs.bytes_in_use(memory::SlabKind::kRecord) + state.slabs.bytes_in_use(memory::SlabKind::kSharedRecord);
    index += state.slabs.bytes_in_use(memory::SlabKind::kNode);
    versions += state.version_bytes.load(std::memory_order_relaxed);
    sum.versions_created += state.versions_created.load(std::memory_order_relaxed);
    sum.ring_waits += state.ring_waits.load(std::memory_order_relaxed);
    sum.garbage_items += state.garbage_items.load(std::memory_order_relaxed);
    if (state.region != nullptr) add(state.region->counters(), sum.htm);
  });
  sum.htm.backend = htm::name(htm_->backend());
  sum.records_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, records));
  sum.index_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, index));
  sum.version_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, versions));
  sum.reserved_bytes = slabs_.bytes_reserved();
  sum.epoch = epochs_.current();
  if (shared_.log != nullptr) {
    const log::LogStatistics log = shared_.log->statistics();
    sum.durable_epoch = durable_everywhere(epochs_, *shared_.log);
    sum.log_bytes = log.bytes;
    sum.log_entries = log.entries;
    sum.log_syncs = log.syncs;
    storage_->checkpoints().figures().add_to(&sum);
  }
  sum.stalled_ticks = epochs_.stall().ticks;
  return sum;
}

}  // namespace granary::db
