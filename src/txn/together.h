#pragma once
// Runs several bodies of one worker in turns (Worker::run_many), to hide the cache misses of one behind the work of the
// others. A body that needs memory which is probably in no cache prefetches it, and lets the others run until its next
// turn. All bodies run on one thread, each in a fiber, one at a time. While others run, a body may have a transaction
// open, but not in the part of its commit in which nothing may wait (I30).

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include <granary/function_ref.h>

#include "src/base/fiber.h"
#include "src/base/waiter.h"

namespace granary::txn {

class Together {
 public:
  using Body = FunctionRef<void(std::size_t)>;
  /// The most bodies that take turns. Each may have a transaction open, and a worker may have so many.
  static constexpr std::uint32_t kMost = 16;

  /// `waiter`: how the worker waits when no bodies take turns.
  explicit Together(base::Waiter& waiter) : waiter_(*this), alone_(waiter) {}
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  /// Makes seats for bodies until there are `count` (kMost at most), and returns how many of them run() can use: fewer
  /// if there is memory for fewer stacks. Throws std::bad_alloc if the system has no memory for what a seat needs
  /// besides; the seats that were made by then stay.
  std::uint32_t make_seats(std::size_t count);
  /// Calls body(0) ... body(count - 1), up to `seats` of them in turns, and returns when all have ended. `seats` is not
  /// 0, and make_seats() has returned at least that. Once an exception has left a body, no other body begins.
  void run(std::size_t count, std::uint32_t seats, Body body);
  /// Throws the first exception that has left a body of the last run(), if there was one. Called outside of bodies.
  void rethrow();
  /// Lets the other bodies go on. Called by a body.
  void turn() { seats_[current_]->fiber->suspend(); }
  /// The number of the fiber that runs, from 0 on.
  std::uint32_t current() const { return current_; }
  /// Where it is told which body runs: by its number among all bodies of this object, from 1 on. Valid while run()
  /// runs.
  const std::uint64_t* running() const { return &running_; }
  /// How a body waits: each pause lets the other bodies go on. The thread itself pauses only when all of them wait, and
  /// rests only when all of them rest.
  base::Waiter& waiter() { return waiter_; }

 private:
  class TurnWaiter final : public base::Waiter {
   public:
    explicit TurnWaiter(Together& together) : together_(together) {}
    void pause(std::uint32_t turn) override;
    void rest() override;

   private:
    Together& together_;
  };
  /// A fiber. It lives from one run() to the next, as making a stack costs more than a transaction. Different threads
  /// may call run(). That is safe, since between two of them the fiber is suspended in live(), which uses nothing of a
  /// thread.
  struct Seat {
    std::unique_ptr<base::Fiber> fiber;
    std::uint64_t body = 0;  ///< the number of its last body
    bool busy = false;
  };

  /// Runs in each fiber: it calls bodies while there are any, and then suspends the fiber until the next run().
  void live(Seat& seat);

  TurnWaiter waiter_;
  base::Waiter& alone_;
  std::array<std::unique_ptr<Seat>, kMost> seats_;
  std::uint32_t made_ = 0;
  std::uint32_t current_ = 0;
  std::uint64_t running_ = 0;         ///< the number of the body that runs
  std::uint64_t last_number_ = 0;     ///< the greatest that a body has had
  const Body* body_ = nullptr;        ///< the argument of the present run()
  std::size_t next_ = 0, count_ = 0;  ///< the body to begin next, and how many there are
  std::exception_ptr thrown_;         ///< the first that has left a body of the present run()
  bool pauses_ = false;               ///< set by who ends its turn because it waits
  bool rests_ = false;                ///< set by who does so in rest()
  bool over_ = false;                 ///< set by the destructor: the fibers return from live()
};

}  // namespace granary::txn
