// What a database does now and then: epochs, checkpoints, garbage of workers that are gone, the watchdog.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "src/base/notice.h"
#include "src/cc/garbage.h"
#include "src/db/engine.h"
#include "src/epoch/entered.h"

namespace granary::db {
namespace {

/// Of a node of a cluster, in an epoch period.
constexpr unsigned kPublishings = 8;

/// Items of garbage that are freed for another worker in an epoch period: a few milliseconds, in which it may have to wait.
constexpr std::size_t kBudgetForOthers = 16384;

}  // namespace

/// Where a node's stored data was given up (Options::salvage), the first comes soon: it makes the next opening possible without.
void Engine::checkpoint_now_and_then() {
  const std::chrono::seconds period(options_.checkpoint_interval_s), soon(1);
  bool lost = epochs_.in_cluster() && storage_->recovery().lost();
  std::unique_lock lock(stop_mutex_);
  while (!stop_signal_.wait_for(lock, lost ? soon : period, [this] { return stopping_; })) {
    if (!storage_->recovery().has_all()) continue;
    lock.unlock();
    // However long that takes: the next one would have to write everything anew. Closing ends it.
    const Status done = checkpoint(log::DurableEpoch::kForever);
    lock.lock();
    lost = lost && !done.ok();
    if (done.ok() || stopping_) continue;  // stopping_: it was cancelled
    lock.unlock();
    base::tell(options_.notices, {.severity = NoticeSeverity::kWarning,
                                  .topic = NoticeTopic::kCheckpoint,
                                  .text = "checkpoint: " + done.message()});
    lock.lock();
  }
}

void Engine::run_background() {
  // A leader advances E no sooner than it sees that all nodes have arrived in it, so they tell it often.
  const unsigned parts = epochs_.in_cluster() ? kPublishings : 1;
  const auto period = std::chrono::microseconds(std::uint64_t{1000} * options_.epoch_ms / parts);
  auto next = std::chrono::steady_clock::now() + period;
  std::unique_lock lock(stop_mutex_);
  for (unsigned part = 1; !stop_signal_.wait_until(lock, next, [this] { return stopping_; }); ++part) {
    lock.unlock();
    if (part % parts == 0) {
      step();
    } else {
      publish();
    }
    // After a pause of the whole machine, go on from now instead of catching up in a burst.
    next = std::max(next + period, std::chrono::steady_clock::now());
    lock.lock();
  }
}

bool Engine::step() {
  const bool advanced = epochs_.tick(durable());
  if (shared_.log != nullptr) {
    if (options_.background == Background::kManual) {
      shared_.log->step();
    } else if (advanced) {
      shared_.log->nudge();
    }
  }
  report_stall();
  collect_for_idle();
  if (slabs_.short_of_memory()) relieve_memory();
  return advanced;
}

epoch::Epoch Engine::durable() const {
  return shared_.log == nullptr ? epoch::kIdle : shared_.log->durable().current();
}

/// Frees what workers that are gone left behind, and passes their free blocks on.
void Engine::collect_for_idle() {
  const std::lock_guard lock(workers_mutex_);  // nobody takes the worker meanwhile
  for (txn::WorkerCore* worker : idle_workers_) {
    if (!worker->has_garbage()) continue;
    worker->collect(kBudgetForOthers);
    worker->pass_on_memory();
  }
}

/// Somebody found no memory: frees the garbage of workers that are registered and in no transaction, which only their own threads
/// look after otherwise, passes on their free blocks, and takes extents that are all free away from their size classes.
void Engine::relieve_memory() {
  slabs_.age_shortage();
  std::uint64_t garbage = 0;
  {
    const std::lock_guard lock(workers_mutex_);  // nobody registers or gives back a worker meanwhile
    for (const auto& worker : workers_) {
      if (worker->borrow()) {
        const epoch::Entered entered(epochs_, *relief_slot_);
        if (options_.garbage_collection) cc::collect_garbage(worker->state(), kBudgetForOthers);
        worker->pass_on_memory();
        worker->give_back();
      }
      garbage += worker->state().garbage_items.load(std::memory_order_relaxed);
    }
  }
  slabs_.regain();
  shared_.relief.garbage_waiting.store(garbage, std::memory_order_relaxed);
  shared_.relief.last_look.store(epochs_.current(), std::memory_order_relaxed);
  shared_.relief.looks.store(shared_.relief.looks.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

/// The watchdog (I13): one notice for each worker that holds the epoch back for a second, not one a tick.
void Engine::report_stall() {
  if (options_.background != Background::kThreads) return;
  const epoch::EpochManager::Stall stall = epochs_.stall();
  const std::uint64_t second = std::max<std::uint64_t>(1, 1000 / options_.epoch_ms);
  if (stall.ticks < second) {
    reported_stall_ = 0;
    return;
  }
  if (reported_stall_ != 0) return;
  reported_stall_ = stall.ticks;
  const epoch::Epoch held = epochs_.current();
  base::tell(options_.notices,
             {.severity = NoticeSeverity::kWarning,
              .topic = NoticeTopic::kOpenTransaction,
              .text = fmt::format("{} has kept a transaction open for over a second; epoch {} cannot end",
                                  owner_of_slot(stall.slot), held),
              .epoch = held});
}

std::string Engine::owner_of_slot(std::size_t slot) const {
  const std::lock_guard lock(workers_mutex_);
  for (const auto& worker : workers_) {
    if (worker->owns_slot(epochs_.slot_at(slot))) return fmt::format("worker {}", worker->id());
  }
  return "a worker";
}

}  // namespace granary::db
