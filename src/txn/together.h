#pragma once
// Several bodies of one worker in turns, so that the cache misses of one are hidden behind the work of the others: a body that asks for
// memory that is likely to be far away fetches it ahead and lets the others run until it comes round again. All on one thread, and
// one at a time; what a body leaves open while others run is its transaction, before its commit (I30).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <granary/function_ref.h>

#include "src/base/fiber.h"
#include "src/base/waiter.h"

namespace granary::txn {

class Together {
 public:
  using Body = FunctionRef<void(std::size_t)>;
  /// Each has a transaction open, of which a worker may have so many.
  static constexpr std::uint32_t kMost = 16;

  /// `waiter`: how the worker waits otherwise.
  explicit Together(base::Waiter& waiter) : waiter_(*this, waiter) {}
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  /// Calls body(0) ... body(count - 1), up to kMost of them in turns, each in a fiber, and returns when all have ended. False, with nothing
  /// done, if there is no memory for a single stack; with memory for some only, so many are in turns.
  [[nodiscard]] bool run(std::size_t count, Body body);
  /// Lets the others go on. Called by a body.
  void turn() { seats_[current_]->fiber->suspend(); }
  /// Which of the fibers runs, from 0 on.
  std::uint32_t current() const { return current_; }
  /// How a body waits: with each pause the others go on.
  base::Waiter& waiter() { return waiter_; }

 private:
  class TurnWaiter final : public base::Waiter {
   public:
    TurnWaiter(Together& together, base::Waiter& alone) : together_(together), alone_(alone) {}
    void pause(std::uint32_t turn) override;

   private:
    Together& together_;
    base::Waiter& alone_;
  };
  /// A fiber that lives on from one run() to the next, as a stack costs more than a transaction. Each run() may be another thread's; between
  /// two of them the fiber stands in live(), which knows nothing of threads.
  struct Seat {
    std::unique_ptr<base::Fiber> fiber;
    bool busy = false;
  };

  /// How many fibers there are, at most `count`, after having made those that were missing.
  std::uint32_t seat(std::uint32_t count);
  /// A fiber's life: it runs bodies for as long as there are any, and then rests until the next run().
  void live(Seat& seat);

  TurnWaiter waiter_;
  std::array<std::unique_ptr<Seat>, kMost> seats_;
  std::uint32_t made_ = 0;
  std::uint32_t current_ = 0;
  const Body* body_ = nullptr;        ///< of the run() that goes on
  std::size_t next_ = 0, count_ = 0;  ///< which body is begun next, and how many there are
  bool over_ = false;
};

}  // namespace granary::txn
