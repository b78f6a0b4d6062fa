#include "src/epoch/epoch.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

#include "src/base/check.h"
#include "src/base/line_table.h"

namespace granary::epoch {
namespace {

/// Registers the process for membarrier. Returns whether one of its threads can now make all of them pass a full fence.
bool register_membarrier() { return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

/// Makes all threads of the process pass a full fence. It tries until it succeeds, since I13 has no other fence. The
/// kernel may have no memory for the set of processors that it interrupts (ENOMEM). Epochs stand still meanwhile, and
/// statistics tell so (epoch_thread_silence_us).
void fence_all_threads() {
  while (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    base::always_check(errno == ENOMEM, "a process that has registered for membarrier may use it");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

EpochManager::EpochManager(EpochOptions options)
    : k_(options.snapshot_epochs),
      max_open_epochs_(options.max_open_epochs),
      asymmetric_fence_(register_membarrier()),
      own_(options.control == nullptr ? std::make_unique<ControlBlock>() : nullptr),
      control_(options.control == nullptr ? own_.get() : new(options.control) ControlBlock),
      last_seen_(options.first_epoch),
      slots_(kMaxSlots) {
  control_->by_leader.epoch.store(options.first_epoch, std::memory_order_release);  // no other thread sees it yet
}

Slot* EpochManager::acquire_slot() {
  const std::lock_guard lock(slots_mutex_);
  for (std::size_t i = 0; i < kMaxSlots; ++i) {
    Slot& slot = slots_[i];
    if (slot.taken.load(std::memory_order_relaxed)) continue;
    slot.taken.store(true, std::memory_order_relaxed);
    // Release: tick() sees the slot's idle words before it counts the slot in. A tick may miss a new slot. That does no
    // harm, because the slot's owner reads E in enter() after publishing, as for any slot (I13).
    if (i >= high_water_.load(std::memory_order_relaxed)) high_water_.store(i + 1, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

void EpochManager::release_slot(Slot* slot) {
  const std::lock_guard lock(slots_mutex_);
  slot->snapshot.store(kIdle, std::memory_order_release);
  slot->answer.store(kIdle, std::memory_order_release);
  slot->local.store(kIdle, std::memory_order_release);
  slot->revoked.store(0, std::memory_order_relaxed);
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
  if (ended()) return current();
  // E is read first: a transaction whose e_w the fence does not show reads E after the fence, so its e_w is at least
  // `now`.
  const Epoch now = current();
  fence();
  Epoch oldest = now;
  const std::size_t count = high_water_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i)
    oldest = std::min(oldest, slots_[i].local.load(std::memory_order_acquire));  // kIdle is greater than all
  return oldest - 1;
}

EpochManager::Oldest EpochManager::look() {
  const std::lock_guard lock(promise_mutex_);
  const Epoch allowed = snapshot_reclamation();  // read before the fence, for the reason at pin_answer()
  // E, too, is read before the slots: a slot that the fence does not show is entered with an E that is read after the
  // fence, so with at least `now`.
  const Epoch now = current();
  const Epoch latest = latest_snapshot_.load(std::memory_order_acquire);
  fence();
  Oldest oldest{.now = now, .open = now, .snapshot = std::min(snapshot_of(now), latest), .versions = allowed};
  const std::size_t count = high_water_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    // Acquire, and e_w is read before se_w: a slot pins its snapshot before it leaves, so a thread that sees the slot
    // idle sees the pin as well.
    const Epoch local = slots_[i].local.load(std::memory_order_acquire);
    if (local != kIdle) {
      if (local < oldest.open) {
        oldest.open = local;
        oldest.holder = i;
      }
      oldest.snapshot = std::min(oldest.snapshot, snapshot_of(local));
    }
    oldest.snapshot = std::min(oldest.snapshot, slots_[i].snapshot.load(std::memory_order_acquire));
    const Epoch answer = std::max(slots_[i].answer.load(std::memory_order_acquire), Epoch{1});
    oldest.versions = std::min(oldest.versions, answer - 1);
  }
  promised_snapshot_ = std::max(promised_snapshot_, oldest.snapshot);
  return oldest;
}

Epoch EpochManager::limit_snapshots(Epoch latest) {
  const std::lock_guard lock(promise_mutex_);
  const Epoch limit =
      std::min(std::max(snap(latest), promised_snapshot_), latest_snapshot_.load(std::memory_order_relaxed));
  latest_snapshot_.store(limit, std::memory_order_release);
  return limit;
}

void EpochManager::note_loaded(Epoch latest) {
  Epoch known = loaded_.load(std::memory_order_relaxed);
  while (known < latest && !loaded_.compare_exchange_weak(known, latest, std::memory_order_release)) {
  }
}

void EpochManager::unlimit_snapshots() {
  const std::lock_guard lock(promise_mutex_);
  latest_snapshot_.store(kIdle, std::memory_order_release);
}

bool EpochManager::tick(Epoch durable) {
  const Oldest oldest = look();
  base::sync_point("epoch.looked");
  raise_reclamation(oldest);
  count_stall(oldest);
  const bool advanced = in_cluster() ? oldest.now > last_seen_ : advance(oldest);
  if (in_cluster()) publish(oldest, durable);
  last_seen_ = oldest.now;
  return advanced;
}

void EpochManager::publish(Epoch durable) { publish(look(), durable); }

/// Publishes to the leader. All stores are release stores: a node that acts on these words sees that the slots had
/// moved on.
void EpochManager::publish(const Oldest& oldest, Epoch durable) {
  ControlBlock::ByNode& mine = control_->by_node;
  // A slot with an e_w below the published one is just being entered: its owner reads E again, and publishes anew
  // (I13). So the owner pins no snapshot of that first E, either.
  const Epoch open = std::max(oldest.open, mine.oldest.load(std::memory_order_relaxed));
  base::debug_invariant("I7", [&] { return open <= oldest.now; });
  mine.oldest.store(open, std::memory_order_release);
  mine.oldest_snapshot.store(std::max(oldest.snapshot, mine.oldest_snapshot.load(std::memory_order_relaxed)),
                             std::memory_order_release);
  mine.durable.store(std::min(durable, open - 1), std::memory_order_release);
}

/// Raises the reclamation epochs, which never go back. Release: a thread that frees by these words sees that the slots
/// had moved on.
///
/// In a cluster, transactions of other nodes also look at memory that this node frees. Garbage is registered with an
/// epoch that is at least this node's E at the time when it became unreachable. A transaction of another node that
/// still saw it had begun by then, and the nodes' epochs differ by at most 1, so its e_w is at most one more. Therefore
/// min e_w - 2 is safe, where min e_w - 1 is for a node alone. The node knows of the others' min e_w only that it is
/// not below E - 1.
void EpochManager::raise_reclamation(const Oldest& oldest) {
  const auto raise = [now = oldest.now](std::atomic<Epoch>& word, Epoch to) {
    base::invariant("I17", to < now);
    if (to > word.load(std::memory_order_relaxed)) word.store(to, std::memory_order_release);
  };
  if (in_cluster()) {
    constexpr Epoch kSkew = 1;
    const Epoch open = std::min(oldest.open, oldest.now - 1);
    if (open > 1 + kSkew) raise(tree_reclamation_, open - 1 - kSkew);
    raise(version_reclamation_, oldest.versions);
    return;
  }
  raise(tree_reclamation_, oldest.open - 1);
  if (oldest.snapshot == 0) return;
  raise(control_->by_leader.snapshot_reclamation, oldest.snapshot - 1);
  raise(version_reclamation_, oldest.snapshot - 1);  // a node alone answers no other node
}

bool EpochManager::advance(const Oldest& oldest) {
  if (oldest.open < oldest.now || oldest.now == kLastEpoch) return false;
  std::atomic<Epoch>& epoch = control_->by_leader.epoch;
  base::invariant("I13", epoch.load(std::memory_order_relaxed) == oldest.now);  // no other thread advances it
  const base::lines::Store seen(&epoch);  // regions see it, since a commit's region reads E
  epoch.store(oldest.now + 1, std::memory_order_release);
  return true;
}

void EpochManager::count_stall(const Oldest& oldest) {
  if (oldest.open == oldest.now) {
    stall_ticks_.store(0, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t stalled = stall_ticks_.load(std::memory_order_relaxed) + 1;
  stall_ticks_.store(stalled, std::memory_order_relaxed);
  stall_slot_.store(oldest.holder, std::memory_order_relaxed);
  // The owner compares the word with its e_w at its next call. Relaxed, as nothing else comes with it. If the owner has
  // left the slot since look() and entered it anew, its e_w differs from `oldest.open`, since E was greater than that
  // already.
  if (max_open_epochs_ != 0 && stalled >= max_open_epochs_)
    slots_[oldest.holder].revoked.store(oldest.open, std::memory_order_relaxed);
}

EpochManager::Stall EpochManager::stall() const {
  return {stall_ticks_.load(std::memory_order_relaxed), stall_slot_.load(std::memory_order_relaxed)};
}

}  // namespace granary::epoch
