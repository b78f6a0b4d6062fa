#include "src/txn/worker_slots.h"

#include <algorithm>

namespace granary::txn {

WorkerSlots::~WorkerSlots() {
  for (std::size_t i = 0; i < count_; ++i) epochs_.release_slot(contexts_[i].load(std::memory_order_relaxed));
  if (collecting_ != nullptr) epochs_.release_slot(collecting_);
}

epoch::Slot* WorkerSlots::add() {
  epoch::Slot* const slot = epochs_.acquire_slot();
  if (slot != nullptr) contexts_[count_++].store(slot, std::memory_order_release);
  return slot;
}

bool WorkerSlots::has(const epoch::Slot* slot) const {
  for (const auto& mine : contexts_) {
    if (mine.load(std::memory_order_acquire) == slot) return slot != nullptr;
  }
  return false;
}

bool WorkerSlots::idle() const {
  const auto idle = [](const epoch::Slot* slot) {
    return slot == nullptr || slot->local.load(std::memory_order_acquire) == epoch::kIdle;
  };
  return idle(collecting_) && std::all_of(contexts_.begin(), contexts_.end(),
                                          [&](const auto& mine) { return idle(mine.load(std::memory_order_acquire)); });
}

}  // namespace granary::txn
