#include "rdma/mailbox/sleeper.h"

#include <algorithm>

#include "src/base/test_hooks.h"

namespace granary::rdma::mailbox {

void Sleeper::pause(std::uint32_t turn) {
  base::outside_region();
  ++counts_.pauses;
  if (turn < kSpins) {
    base::spin_pause();
  } else {
    sleep();
  }
}

void Sleeper::sleep() {
  for (Receiver* receiver : receivers_) receiver->lie_down(endpoint_.bell());
  if (base::injected("sleep-without-look") || !has_something()) {
    ++counts_.sleeps;
    const std::uint64_t time_us = std::min(most_sleep_us_, limit_us_);
    if (!endpoint_.sleep(time_us) && time_us == most_sleep_us_) ++counts_.slept_through;
  }
  for (Receiver* receiver : receivers_) receiver->get_up();
}

bool Sleeper::has_something() const {
  return std::any_of(receivers_.begin(), receivers_.end(), [](const Receiver* one) { return one->has_something(); });
}

}  // namespace granary::rdma::mailbox
