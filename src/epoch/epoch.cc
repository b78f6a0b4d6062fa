#include "src/epoch/epoch.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/line_table.h"

namespace granary::epoch {
namespace {

/// True if this process can make all its threads pass a full fence from one of them.
bool register_membarrier() { return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

void fence_all_threads() { ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

}  // namespace

EpochManager::EpochManager(EpochOptions options)
    : k_(options.snapshot_epochs),
      max_open_epochs_(options.max_open_epochs),
      asymmetric_fence_(register_membarrier()),
      current_(options.first_epoch),
      slots_(kMaxSlots) {}

Slot* EpochManager::acquire_slot() {
  const std::lock_guard lock(slots_mutex_);
  for (std::size_t i = 0; i < kMaxSlots; ++i) {
    Slot& slot = slots_[i];
    if (slot.taken.load(std::memory_order_relaxed)) continue;
    slot.taken.store(true, std::memory_order_relaxed);
    // Release: tick() sees the slot's idle words before it counts it in. A tick that misses a new slot
    // is harmless: its owner's enter() reads E after publishing, as for any slot (I13).
    if (i >= high_water_.load(std::memory_order_relaxed)) high_water_.store(i + 1, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

void EpochManager::release_slot(Slot* slot) {
  const std::lock_guard lock(slots_mutex_);
  slot->snapshot.store(kIdle, std::memory_order_release);
  slot->local.store(kIdle, std::memory_order_release);
  slot->revoked.store(false, std::memory_order_relaxed);
  slot->taken.store(false, std::memory_order_relaxed);
}

void EpochManager::fence() const {
  if (asymmetric_fence_) {
    fence_all_threads();
  } else {
    std::atomic<int> any{0};
    any.fetch_add(1, std::memory_order_seq_cst);  // any read-modify-write is a full fence on x86-64
  }
}

bool EpochManager::idle() const {
  fence();
  const std::size_t count = high_water_.load(std::memory_order_acquire);
  return std::all_of(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Slot& slot) { return slot.local.load(std::memory_order_acquire) == kIdle; });
}

Epoch EpochManager::complete() const {
  // E first: a transaction whose e_w the fence does not show reads E after the fence, so its e_w is at least this.
  const Epoch now = current();
  fence();
  Epoch oldest = now;
  const std::size_t count = high_water_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i)
    oldest = std::min(oldest, slots_[i].local.load(std::memory_order_acquire));  // kIdle is greater than all
  return oldest - 1;
}

bool EpochManager::tick() {
  const Epoch now = current_.load(std::memory_order_relaxed);  // only tick() writes it
  fence();
  Epoch oldest = now;
  Epoch oldest_snapshot = snapshot_of(now);
  std::size_t holder = 0;
  const std::size_t count = high_water_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    // Acquire, and e_w before se_w: a slot pins its snapshot before it leaves, so whoever sees it idle sees the pin.
    const Epoch local = slots_[i].local.load(std::memory_order_acquire);
    if (local != kIdle) {
      if (local < oldest) {
        oldest = local;
        holder = i;
      }
      oldest_snapshot = std::min(oldest_snapshot, snapshot_of(local));
    }
    oldest_snapshot = std::min(oldest_snapshot, slots_[i].snapshot.load(std::memory_order_acquire));
  }
  // Release: whoever frees by these words sees that the slots had moved on. Never backwards.
  if (oldest - 1 > tree_reclamation_.load(std::memory_order_relaxed)) {
    tree_reclamation_.store(oldest - 1, std::memory_order_release);
  }
  if (oldest_snapshot != 0 && oldest_snapshot - 1 > snapshot_reclamation_.load(std::memory_order_relaxed)) {
    snapshot_reclamation_.store(oldest_snapshot - 1, std::memory_order_release);
  }
  if (oldest < now) {
    const std::uint64_t stalled = stall_ticks_.load(std::memory_order_relaxed) + 1;
    stall_ticks_.store(stalled, std::memory_order_relaxed);
    stall_slot_.store(holder, std::memory_order_relaxed);
    // The owner looks at the flag at its next call; it lowers it itself when it opens again.
    if (max_open_epochs_ != 0 && stalled >= max_open_epochs_) {
      slots_[holder].revoked.store(true, std::memory_order_relaxed);
    }
    return false;
  }
  stall_ticks_.store(0, std::memory_order_relaxed);
  const base::lines::Store seen(&current_);  // by regions: a commit's reads E
  current_.store(now + 1, std::memory_order_release);
  return true;
}

EpochManager::Stall EpochManager::stall() const {
  return {stall_ticks_.load(std::memory_order_relaxed), stall_slot_.load(std::memory_order_relaxed)};
}

}  // namespace granary::epoch
