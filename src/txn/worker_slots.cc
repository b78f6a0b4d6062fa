#include "src/txn/worker_slots.h"

#include <algorithm>

namespace granary::txn {

WorkerSlots::~WorkerSlots() {
  for (const auto& mine : contexts_) {
    if (epoch::Slot* const slot = mine.load(std::memory_order_relaxed); slot != nullptr) epochs_.release_slot(slot);
  }
  if (collecting_ != nullptr) epochs_.release_slot(collecting_);
}

epoch::Slot* WorkerSlots::of_context(std::size_t number) {
  std::atomic<epoch::Slot*>& mine = contexts_[number];
  if (mine.load(std::memory_order_relaxed) == nullptr) mine.store(epochs_.acquire_slot(), std::memory_order_release);
  return mine.load(std::memory_order_relaxed);
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
