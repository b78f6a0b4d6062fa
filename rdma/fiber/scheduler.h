#pragma once
// A worker's fibers: they run one at a time, each until it waits. When none can run, the worker polls and idles.
//
// Code of the worker's thread that is in no fiber may wait as well: while it does, the fibers run. So a worker with one
// transaction at a time needs none.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "src/base/fiber.h"
#include "src/base/waiter.h"

namespace granary::rdma::fiber {

using base::Fiber;

class Scheduler {
 public:
  /// `poll` looks for what fibers wait for and wakes them; it is called between turns, also when all fibers yield, so
  /// in a simulation it lets time pass. `idle` is paused at while there is nothing to run: on a thread
  /// base::ThreadWaiter, which spins briefly and then gives the processor away.
  Scheduler(std::function<void()> poll, base::Waiter& idle) : poll_(std::move(poll)), idle_(idle) {}

  /// A fiber more; before or during run().
  void spawn(std::function<void()> body);
  /// Runs until all fibers have ended.
  void run();

  /// The fiber that is running; nullptr outside of fibers.
  Fiber* current() const { return current_; }
  /// Where current() is found, for who asks often.
  Fiber* const* where_current() const { return &current_; }
  /// Whether the thread has no other fibers than the one that runs.
  bool is_alone() const { return fibers_.size() <= (current_ != nullptr ? 1u : 0u); }
  /// Lets the others run, and what they wait for be looked for.
  void yield();
  /// Waits until somebody calls wake() with this fiber.
  void park();
  /// Makes a parked fiber (nullptr: what is in none) run again; once for each park().
  void wake(Fiber* fiber) {
    if (fiber == nullptr) {
      outside_awake_ = true;
    } else {
      ready_.push_back(fiber);
    }
  }

 private:
  /// Polls, and lets each fiber that is ready run once. False if there was none, and nothing outside of them was woken.
  bool turn();

  const std::function<void()> poll_;
  base::Waiter& idle_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> ready_;
  std::vector<Fiber*> running_;  ///< those of this turn; a member only so that its memory is used again
  Fiber* current_ = nullptr;
  bool outside_awake_ = false;
};

/// The engine's waits, in a fiber: each pause lets the worker's other fibers run.
class FiberWaiter final : public base::Waiter {
 public:
  explicit FiberWaiter(Scheduler& scheduler) : scheduler_(scheduler) {}
  void pause(std::uint32_t) override { scheduler_.yield(); }

 private:
  Scheduler& scheduler_;
};

}  // namespace granary::rdma::fiber
