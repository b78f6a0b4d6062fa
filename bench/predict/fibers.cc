#include "bench/predict/fibers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/base/random.h"

namespace granary::bench::predict {
namespace {

struct Fiber {
  double ready_at = 0;
  unsigned waits_left = 0;  ///< of its distributed transaction
};

/// Draws what a fiber does from one wait to the next.
class Bursts {
 public:
  explicit Bursts(const FiberLoad& load) : load_(load), waits_(std::max(1.0, load.waits)) {}

  /// Returns the length of the fiber's next burst.
  double next(Fiber& fiber) {
    const double part = load_.distributed_ns / waits_;
    if (fiber.waits_left > 0) {
      --fiber.waits_left;
      return part;
    }
    fiber.waits_left = waits_of_one() - 1;
    return local_ones() * load_.local_ns + part;
  }

  double wait_ns() const { return load_.waiting_ns / waits_; }
  double waits() const { return waits_; }

 private:
  /// A whole number, of which the mean is `waits`.
  unsigned waits_of_one() { return static_cast<unsigned>(waits_ + random_.unit()); }
  /// Returns how many local transactions come before a distributed one.
  double local_ones() {
    if (load_.distributed_share >= 1) return 0;
    return std::floor(std::log(1 - random_.unit()) / std::log(1 - load_.distributed_share));
  }

  const FiberLoad& load_;
  const double waits_;
  base::Random random_{1};
};

}  // namespace

double idle_ns(const FiberLoad& load) {
  if (load.distributed_share <= 0 || load.waiting_ns <= 0) return 0;
  constexpr unsigned kRounds = 100'000;  // of one burst of each fiber
  Bursts bursts(load);
  std::vector<Fiber> fibers(load.fibers);
  double now = 0, idle = 0;
  for (unsigned round = 0; round <= kRounds; ++round) {
    if (round == 1) idle = 0;  // in the first one no fiber has waited yet
    for (Fiber& fiber : fibers) {
      const double begin = std::max(now, fiber.ready_at);
      idle += begin - now;
      now = begin + bursts.next(fiber);
      fiber.ready_at = now + bursts.wait_ns();
    }
  }
  return idle / (kRounds * load.fibers) * bursts.waits();
}

}  // namespace granary::bench::predict
