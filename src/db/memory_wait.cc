#include "src/db/memory_wait.h"

#include <chrono>

namespace granary::db {
namespace {

using Clock = std::chrono::steady_clock;

/// Epochs beyond two snapshot periods until what waited for these has been freed: an absent record is unhooked, and
/// freed after that.
constexpr epoch::Epoch kMargin = 8;

/// Looks of the background thread after which it has seen a shortage that was there before: one may have been under
/// way.
constexpr std::uint64_t kFewestLooks = 2;

/// E may stand still for so long, beyond a few of its periods, because the thread that advances it waits for a
/// processor.
constexpr std::chrono::milliseconds kSlack{250};

/// Returns false if E has not moved for a few of its periods and kSlack.
bool await_next_epoch(const cc::DatabaseState& shared, base::Waiter& waiter) {
  const auto end = Clock::now() + kSlack + std::chrono::milliseconds(8 * std::uint64_t{shared.settings.epoch_ms});
  const epoch::Epoch now = shared.epochs.current();
  while (shared.epochs.current() == now) {
    if (Clock::now() > end || cc::may_not_commit(shared)) return false;
    waiter.rest();
  }
  return true;
}

}  // namespace

bool MemoryWait::await(txn::WorkerCore& worker) {
  const cc::DatabaseState& shared = worker.shared();
  const epoch::Epoch now = shared.epochs.current();
  const std::uint64_t looks = shared.relief.looks.load(std::memory_order_acquire);
  if (!begun_) {
    begun_ = true;
    last_ = now + 2 * shared.epochs.snapshot_epochs() + kMargin;
    // What was looked at just now need not be awaited again: a full database refuses at once.
    const bool looked_at = shared.relief.last_look.load(std::memory_order_relaxed) + 1 >= now && looks >= kFewestLooks;
    first_look_ = looked_at ? looks - kFewestLooks : looks;
  }
  if (over_) return false;
  // The thread may have slept through the last epochs, so it looks once more for what they have made free.
  over_ = now > last_;
  if (worker.make_room()) return true;
  if (over_) return false;
  if (shared.settings.epoch_ms == 0) return false;
  const bool looked = looks >= first_look_ + kFewestLooks;
  // The lists of garbage must not be read here: another thread may have borrowed the worker just now and be changing
  // them. Whoever collects leaves the number of items behind, make_room() above or that thread, and the number is
  // atomic.
  const bool own_garbage = worker.state().garbage_items.load(std::memory_order_relaxed) != 0;
  const bool garbage = own_garbage || shared.relief.garbage_waiting.load(std::memory_order_relaxed) != 0;
  if (looked && (!garbage || shared.epochs.snapshot_holds())) return false;
  return await_next_epoch(shared, *worker.state().waiter);
}

}  // namespace granary::db
