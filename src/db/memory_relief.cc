#include "src/db/memory_relief.h"

#include <algorithm>
#include <optional>

#include "src/cc/garbage.h"
#include "src/epoch/entered.h"

namespace granary::db {
namespace {

/// A turn ends when it has freed so many items of garbage. They take a few milliseconds, for which E stands still, and
/// a worker that is borrowed may have to wait. The last worker of a turn may come to so many of each kind of garbage
/// (cc::collect_garbage()).
constexpr std::size_t kBudget = 16384;

void spend(std::size_t& budget, std::size_t freed) { budget -= std::min(budget, freed); }

}  // namespace

void MemoryRelief::look() {
  std::size_t budget = kBudget;
  const bool looked = workers_.try_for_each_idle([&](txn::WorkerCore& worker) {  // nobody takes the worker meanwhile
    if (budget == 0 || !worker.has_garbage()) return;
    spend(budget, worker.collect(budget));
    worker.pass_on_memory();
  });
  if (looked && shared_.slabs.short_of_memory()) relieve(budget);
}

void MemoryRelief::relieve(std::size_t budget) {
  std::uint64_t garbage = 0;
  std::size_t number = 0;
  std::optional<std::size_t> next;
  const bool looked = workers_.try_for_each([&](txn::WorkerCore& worker) {  // nobody takes or gives back one meanwhile
    const bool in_turn = number >= first_;
    if (in_turn && budget == 0 && !next) next = number;
    ++number;
    if (in_turn && budget != 0 && worker.lending().borrow()) {
      const epoch::Entered entered(shared_.epochs, *slot_);
      if (shared_.settings.garbage_collection) spend(budget, cc::collect_garbage(worker.state(), budget));
      worker.pass_on_memory();
      worker.lending().give_back();
    }
    garbage += worker.state().garbage_items.load(std::memory_order_relaxed);
  });
  if (!looked) return;
  first_ = next.value_or(0);
  shared_.slabs.age_shortage();
  shared_.slabs.regain();
  shared_.slabs.restore_reserve();
  shared_.relief.garbage_waiting.store(garbage, std::memory_order_relaxed);
  if (next) return;  // a look is one at all workers
  shared_.relief.last_look.store(shared_.epochs.current(), std::memory_order_relaxed);
  shared_.relief.looks.store(shared_.relief.looks.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace granary::db
