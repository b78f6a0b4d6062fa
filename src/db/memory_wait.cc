#include "src/db/memory_wait.h"

#include <chrono>

namespace granary::db {
namespace {

using Clock = std::chrono::steady_clock;

/// How many epochs beyond two snapshot periods pass until garbage that waited for these has been freed: an absent
/// record is unhooked first, and freed some epochs after that.
constexpr epoch::Epoch kMargin = 8;

/// After so many looks the background thread has seen a shortage that was there before the first of them. One look is
/// not enough, since it may have been under way when the shortage began.
constexpr std::uint64_t kFewestLooks = 2;

/// How long E may stand still, in addition to a few of its periods, because the thread that advances it waits for a
/// processor.
constexpr std::chrono::milliseconds kSlack{250};

/// Returns true when E has moved on; false if it has not for a few of its periods and kSlack, or if the node may not
/// commit.
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
    // If the background thread has looked just now, its former looks count, so a full database refuses at once.
    const bool looked_at = shared.relief.last_look.load(std::memory_order_relaxed) + 1 >= now && looks >= kFewestLooks;
    first_look_ = looked_at ? looks - kFewestLooks : looks;
  }
  if (over_) return false;
  // This thread may have slept through the last epochs, so it looks once more for memory that they have made free.
  over_ = now > last_;
  if (worker.make_room()) return true;
  if (over_) return false;
  if (shared.settings.epoch_ms == 0) return false;
  const bool looked = looks >= first_look_ + kFewestLooks;
  // The lists of garbage must not be read here: another thread may have borrowed the worker just now and be changing
  // them. The number of items is atomic; make_room() above stores it when it has collected, and so does that thread.
  const bool own_garbage = worker.state().garbage_items.load(std::memory_order_relaxed) != 0;
  const bool garbage = own_garbage || shared.relief.garbage_waiting.load(std::memory_order_relaxed) != 0;
  if (looked && (!garbage || shared.epochs.snapshot_holds())) return false;
  return await_next_epoch(shared, *worker.state().waiter);
}

}  // namespace granary::db
