#include "recovery/checkpoint/key_work.h"

#include <chrono>
#include <thread>

#include "src/base/check.h"
#include "src/epoch/entered.h"

namespace granary::recovery::checkpoint {

KeyWork::KeyWork(std::span<txn::TableCore* const> tables, epoch::EpochManager& epochs, unsigned threads)
    : tables_(tables),
      epochs_(epochs) {
  for (unsigned i = 0; i < threads; ++i) shares_.push_back(std::make_unique<Share>());
}

bool KeyWork::find(unsigned me, epoch::Slot& slot, const std::atomic<bool>& stop) {
  constexpr auto kPause = std::chrono::microseconds(200);
  while (!stop.load(std::memory_order_relaxed)) {
    if (take_table(me, slot) || take_half(me, slot)) return true;
    // A thread that still works may be between two pieces, or have less than can be shared.
    if (busy_.load(std::memory_order_acquire) == 0) return false;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

void KeyWork::finish(Share& share) {
  base::invariant("I21", share.table != nullptr);
  share.table = nullptr;
  busy_.fetch_sub(1, std::memory_order_acq_rel);
}

bool KeyWork::take_table(unsigned me, epoch::Slot& slot) {
  busy_.fetch_add(1, std::memory_order_acq_rel);
  for (;;) {
    const std::size_t next = next_table_.load(std::memory_order_acquire) < tables_.size()
                                 ? next_table_.fetch_add(1, std::memory_order_acq_rel)
                                 : tables_.size();
    if (next >= tables_.size()) break;
    std::optional<TableRange> range;
    {
      const epoch::Entered entered(epochs_, slot);
      range = whole_range(tables_[next]->index());
    }
    if (!range) continue;
    const std::lock_guard lock(share(me).mutex);
    base::invariant("I21", share(me).table == nullptr);
    share(me).range = std::move(*range);
    share(me).table = tables_[next];
    return true;
  }
  busy_.fetch_sub(1, std::memory_order_acq_rel);
  return false;
}

bool KeyWork::take_half(unsigned me, epoch::Slot& slot) {
  for (std::size_t i = 1; i < shares_.size(); ++i) {
    Share& victim = share(static_cast<unsigned>((me + i) % shares_.size()));
    txn::TableCore* table = nullptr;
    std::optional<TableRange> half;
    {
      const std::lock_guard lock(victim.mutex);
      table = victim.table;
      if (table == nullptr) continue;
      {
        const epoch::Entered entered(epochs_, slot);
        half = split(table->index(), &victim.range);
      }
      if (!half) continue;
      busy_.fetch_add(1, std::memory_order_acq_rel);
    }
    const std::lock_guard lock(share(me).mutex);
    base::invariant("I21", share(me).table == nullptr);
    share(me).range = std::move(*half);
    share(me).table = table;
    return true;
  }
  return false;
}

}  // namespace granary::recovery::checkpoint
