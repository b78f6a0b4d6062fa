#pragma once
// Holds the epoch slots of a worker (Silo 4.1): one in which it collects garbage, and one for each of its contexts.
// WorkerCore has one such object; the watchdog and threads that borrow the worker look at it, too.

#include <array>
#include <atomic>
#include <cstddef>

#include <granary/limits.h>

#include "src/epoch/epoch.h"

namespace granary::txn {

class WorkerSlots {
 public:
  explicit WorkerSlots(epoch::EpochManager& epochs) : epochs_(epochs), collecting_(epochs.acquire_slot()) {}
  /// Gives all slots back. None is entered.
  ~WorkerSlots();
  WorkerSlots(const WorkerSlots&) = delete;
  WorkerSlots& operator=(const WorkerSlots&) = delete;

  /// The slot in which the worker collects garbage; nullptr if there was none left.
  epoch::Slot* collecting() const { return collecting_; }
  /// Returns the slot of the context with this number, from 0 on, and takes one for it if it has none yet; nullptr if
  /// there is none left. Called by the worker, with a number less than kMaxOpenTransactions.
  epoch::Slot* of_context(std::size_t number);

  /// Whether the slot is that of a context. Any thread may call it.
  bool has(const epoch::Slot* slot) const;
  /// Whether no slot is entered. Any thread may call it.
  bool idle() const;

 private:
  epoch::EpochManager& epochs_;
  epoch::Slot* const collecting_;
  // Set by the worker (release) before it makes a context, never unset; read by the watchdog and borrowers (acquire).
  std::array<std::atomic<epoch::Slot*>, kMaxOpenTransactions> contexts_{};
};

}  // namespace granary::txn
