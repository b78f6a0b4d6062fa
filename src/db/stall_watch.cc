#include "src/db/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/notice.h"

namespace granary::db {
namespace {

/// Tells which worker holds the epoch back by this slot, and how. If the workers cannot be looked at just now, it names
/// none.
std::string tell_holder(const epoch::Slot* slot, const Workers& workers) {
  std::string owner = "a worker";
  bool dropped = false;
  workers.try_for_each([&](const txn::WorkerCore& worker) {
    if (!worker.slots().has(slot)) return;
    owner = fmt::format("worker {}", worker.id());
    dropped = worker.has_dropped();
  });
  if (!dropped) return owner + " has kept a transaction open for over a second";
  return owner +
         " has a transaction open that another thread dropped, which the worker's own thread ends at its next "
         "begin(), commit() or collect_garbage()";
}

}  // namespace

void StallWatch::look() {
  const epoch::EpochManager::Stall stall = epochs_.stall();
  const bool stalled = stall.ticks >= std::max<std::uint64_t>(1, 1000 / epoch_ms_);
  if (stalled && !told_) {
    const epoch::Epoch held = epochs_.current();
    base::tell(sink_, {.severity = NoticeSeverity::kWarning,
                       .topic = NoticeTopic::kOpenTransaction,
                       .text = fmt::format("{}; epoch {} cannot end",
                                           tell_holder(epochs_.slot_at(stall.slot), workers_), held),
                       .epoch = held});
  }
  told_ = stalled;
}

}  // namespace granary::db
