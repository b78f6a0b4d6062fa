#include "src/db/memory_relief.h"

#include "src/cc/garbage.h"
#include "src/epoch/entered.h"

namespace granary::db {
namespace {

/// How many items of garbage are freed for another worker in an epoch period. This takes a few milliseconds, for which
/// that worker may have to wait.
constexpr std::size_t kBudgetForOthers = 16384;

}  // namespace

void MemoryRelief::look() {
  const bool looked = workers_.try_for_each_idle([](txn::WorkerCore& worker) {  // nobody takes the worker meanwhile
    if (!worker.has_garbage()) return;
    worker.collect(kBudgetForOthers);
    worker.pass_on_memory();
  });
  if (looked && shared_.slabs.short_of_memory()) relieve();
}

void MemoryRelief::relieve() {
  std::uint64_t garbage = 0;
  const bool looked = workers_.try_for_each([&](txn::WorkerCore& worker) {  // nobody takes or gives back one meanwhile
    if (worker.lending().borrow()) {
      const epoch::Entered entered(shared_.epochs, *slot_);
      if (shared_.settings.garbage_collection) cc::collect_garbage(worker.state(), kBudgetForOthers);
      worker.pass_on_memory();
      worker.lending().give_back();
    }
    garbage += worker.state().garbage_items.load(std::memory_order_relaxed);
  });
  if (!looked) return;
  shared_.slabs.age_shortage();
  shared_.slabs.regain();
  shared_.slabs.restore_reserve();
  shared_.relief.garbage_waiting.store(garbage, std::memory_order_relaxed);
  shared_.relief.last_look.store(shared_.epochs.current(), std::memory_order_relaxed);
  shared_.relief.looks.store(shared_.relief.looks.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace granary::db
