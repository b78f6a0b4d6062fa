#include "src/txn/together.h"

#include <algorithm>
#include <utility>

#include "src/base/region_mark.h"

namespace granary::txn {

Together::~Together() {
  over_ = true;
  for (std::uint32_t i = 0; i < made_; ++i) seats_[i]->fiber->resume();
}

std::uint32_t Together::make_seats(std::size_t count) {
  const auto wanted = static_cast<std::uint32_t>(std::min<std::size_t>(count, kMost));
  for (; made_ < wanted; ++made_) {
    auto added = std::make_unique<Seat>();
    Seat* const seat = added.get();
    added->fiber = base::Fiber::try_make([this, seat] { live(*seat); });
    if (added->fiber == nullptr) break;
    seats_[made_] = std::move(added);
  }
  return std::min(made_, wanted);
}

void Together::live(Seat& seat) {
  while (!over_) {
    while (next_ < count_) {
      seat.busy = true;
      running_ = seat.body = ++last_number_;
      try {
        (*body_)(next_++);
      } catch (...) {
        if (thrown_ == nullptr) thrown_ = std::current_exception();
        next_ = count_;
      }
    }
    seat.busy = false;
    seat.fiber->suspend();
  }
}

void Together::run(std::size_t count, std::uint32_t seats, Body body) {
  body_ = &body;
  next_ = 0;
  count_ = count;
  std::uint32_t rounds_in_vain = 0;
  for (bool any = true; any;) {
    any = false;
    bool in_vain = true;  // all who had a turn only looked whether they may go on
    bool at_rest = true;  // and have time
    for (current_ = 0; current_ < seats; ++current_) {
      Seat& seat = *seats_[current_];
      if (!seat.busy && next_ == count_) continue;
      pauses_ = rests_ = false;
      running_ = seat.body;
      seat.fiber->resume();
      any |= seat.busy;
      in_vain &= pauses_;
      at_rest &= rests_;
    }
    if (at_rest) {
      alone_.rest();
    } else if (in_vain) {
      alone_.pause(rounds_in_vain++);
    } else {
      rounds_in_vain = 0;
    }
  }
}

void Together::rethrow() {
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Together::TurnWaiter::pause(std::uint32_t) {
  base::outside_region();
  together_.pauses_ = true;
  together_.turn();
}

void Together::TurnWaiter::rest() {
  together_.rests_ = true;
  pause(0);
}

}  // namespace granary::txn
