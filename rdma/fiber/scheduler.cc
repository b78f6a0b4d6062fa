#include "rdma/fiber/scheduler.h"

#include <algorithm>
#include <new>

#include "src/base/region_mark.h"

namespace granary::rdma::fiber {
namespace {

/// Sets a flag as long as it lives.
class Raised {
 public:
  explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
  ~Raised() { flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
};

}  // namespace

void Scheduler::spawn(std::function<void()> body) {
  std::unique_ptr<Fiber> fiber = Fiber::try_make(std::move(body), last_number_ + 1);
  if (fiber == nullptr) throw std::bad_alloc();
  // With room for all fibers, waking one needs no memory: that is done in the turn of any other fiber, or of none.
  fibers_.reserve(fibers_.size() + 1);
  ready_.reserve(fibers_.size() + 1);
  running_.reserve(fibers_.size() + 1);
  ready_.push_back(fiber.get());
  fibers_.push_back(std::move(fiber));
  ++last_number_;
}

bool Scheduler::turn() {
  poll_();
  if (ready_.empty()) return outside_awake_;
  running_.swap(ready_);
  for (std::size_t i = 0; i < running_.size(); ++i) {  // a fiber may spawn another one, which moves them
    Fiber* const fiber = running_[i];
    current_ = fiber;
    current_number_ = fiber->number();
    fiber->resume();
    if (fiber->ended()) std::erase_if(fibers_, [fiber](const auto& one) { return one.get() == fiber; });
  }
  running_.clear();
  current_ = nullptr;
  current_number_ = 0;
  return true;
}

void Scheduler::run() {
  const Raised in_run(in_run_);
  for (std::uint32_t idle_turn = 0; !fibers_.empty();) {
    if (turn()) {
      idle_turn = 0;
    } else {
      idle_.pause(idle_turn++);
    }
  }
}

bool Scheduler::goes_on(std::uint64_t number) const {
  if (number == current_number()) return false;
  if (number == 0) return !in_run_;
  return std::ranges::any_of(fibers_, [number](const auto& one) { return one->number() == number; });
}

void Scheduler::yield() {
  base::outside_region();
  if (current_ == nullptr) {
    (void)turn();
    return;
  }
  ready_.push_back(current_);
  current_->suspend();
}

void Scheduler::park() {
  base::outside_region();
  if (current_ != nullptr) {
    current_->suspend();
    return;
  }
  for (std::uint32_t idle_turn = 0; !outside_awake_;) {
    if (turn()) {
      idle_turn = 0;
    } else {
      idle_.pause(idle_turn++);
    }
  }
  outside_awake_ = false;
}

}  // namespace granary::rdma::fiber
