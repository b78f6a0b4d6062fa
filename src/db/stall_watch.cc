#include "src/db/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/notice.h"

namespace granary::db {
namespace {

/// "worker 3", for messages.
std::string owner_of(const epoch::Slot* slot, const Workers& workers) {
  std::string owner = "a worker";
  workers.for_each([&](const txn::WorkerCore& worker) {
    if (worker.slots().has(slot)) owner = fmt::format("worker {}", worker.id());
  });
  return owner;
}

}  // namespace

void StallWatch::look() {
  const epoch::EpochManager::Stall stall = epochs_.stall();
  const bool stalled = stall.ticks >= std::max<std::uint64_t>(1, 1000 / epoch_ms_);
  if (stalled && !told_) {
    const epoch::Epoch held = epochs_.current();
    base::tell(sink_, {.severity = NoticeSeverity::kWarning,
                       .topic = NoticeTopic::kOpenTransaction,
                       .text = fmt::format("{} has kept a transaction open for over a second; epoch {} cannot end",
                                           owner_of(epochs_.slot_at(stall.slot), workers_), held),
                       .epoch = held});
  }
  told_ = stalled;
}

}  // namespace granary::db
