#pragma once
// Runs a worker's fibers one at a time, each until it waits. When none can run, the worker polls and idles.
//
// Code of the worker's thread that is in no fiber may wait as well, and fibers run meanwhile. So a worker with one
// transaction at a time needs no fibers.

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
  /// `poll` looks for the events that fibers wait for, and wakes the fibers. It is called between turns, also when all
  /// fibers yield, so in a simulation it lets time pass. `idle` is paused while there is nothing to run. On a thread it
  /// is base::ThreadWaiter, which spins briefly and then gives the processor away.
  Scheduler(std::function<void()> poll, base::Waiter& idle) : poll_(std::move(poll)), idle_(idle) {}

  /// Adds a fiber, before or during run(). Throws std::bad_alloc, and adds none, if there is no memory for it or its
  /// stack.
  void spawn(std::function<void()> body);
  /// Runs until all fibers have ended.
  void run();

  /// Returns the fiber that is running; nullptr outside of fibers.
  Fiber* current() const { return current_; }
  /// Returns the number of the fiber that is running, from 1 on in the order of spawn(); 0 outside of fibers. A number
  /// is not used again, but the address of a fiber that has ended may be that of a later one.
  std::uint64_t current_number() const { return current_number_; }
  /// Returns where current_number() is stored, for callers that ask often.
  const std::uint64_t* where_current_number() const { return &current_number_; }
  /// Whether the thread has no other fibers than the one that runs.
  bool is_alone() const { return fibers_.size() <= (current_ != nullptr ? 1u : 0u); }
  /// Whether the code of the fiber with this number, or that of no fiber if it is 0, may go on while the code that runs
  /// now waits. A fiber that has ended does not go on, nor does code of no fiber that is in run().
  bool goes_on(std::uint64_t number) const;
  /// Lets the other fibers run, and polls.
  void yield();
  /// Waits until wake() is called with this fiber.
  void park();
  /// Makes a parked fiber run again; nullptr stands for code in no fiber. Called once for each park(). Needs no memory.
  void wake(Fiber* fiber) {
    if (fiber == nullptr) {
      outside_awake_ = true;
    } else {
      ready_.push_back(fiber);
    }
  }

 private:
  /// Polls, and lets each fiber that is ready run once. Returns false if no fiber was ready, and no code outside of
  /// fibers was woken.
  bool turn();

  const std::function<void()> poll_;
  base::Waiter& idle_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::uint64_t last_number_ = 0;
  std::vector<Fiber*> ready_;
  std::vector<Fiber*> running_;  ///< those of this turn; a member only so that its memory is used again
  Fiber* current_ = nullptr;
  std::uint64_t current_number_ = 0;
  bool in_run_ = false;
  bool outside_awake_ = false;
};

/// Makes the engine's waits work in a fiber: each pause lets the worker's other fibers run.
class FiberWaiter final : public base::Waiter {
 public:
  explicit FiberWaiter(Scheduler& scheduler) : scheduler_(scheduler) {}
  void pause(std::uint32_t) override { scheduler_.yield(); }

 private:
  Scheduler& scheduler_;
};

}  // namespace granary::rdma::fiber
