#include "rdma/fiber/scheduler.h"

#include "src/base/check.h"
#include "src/base/region_mark.h"

namespace granary::rdma::fiber {

void Scheduler::spawn(std::function<void()> body) {
  fibers_.push_back(std::make_unique<Fiber>(std::move(body)));
  ready_.push_back(fibers_.back().get());
}

void Scheduler::run() {
  std::uint32_t idle_turn = 0;
  while (!fibers_.empty()) {
    poll_();
    if (ready_.empty()) {
      idle_.pause(idle_turn++);
      continue;
    }
    idle_turn = 0;
    for (std::size_t round = ready_.size(); round > 0; --round) {
      current_ = ready_.front();
      ready_.pop_front();
      current_->resume();
      if (current_->ended()) std::erase_if(fibers_, [this](const auto& fiber) { return fiber.get() == current_; });
    }
    current_ = nullptr;
  }
}

void Scheduler::yield() {
  ready_.push_back(current_);
  park();
}

void Scheduler::park() {
  base::outside_region();
  base::always_check(current_ != nullptr, "only a fiber waits in its scheduler");
  current_->suspend();
}

}  // namespace granary::rdma::fiber
