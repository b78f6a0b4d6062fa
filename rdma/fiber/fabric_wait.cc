#include "rdma/fiber/fabric_wait.h"

#include <array>
#include <utility>

namespace granary::rdma::fiber {

void FiberEndpoint::poll() {
  std::array<Completion, 16> completions;
  std::size_t count = 0;
  do {
    count = endpoint_.poll(completions);
    for (const Completion& completion : std::span(completions).first(count)) {
      if ((completion.tag & 1) == 0) {
        reinterpret_cast<Chains*>(completion.tag)->completed(completion.status);
      } else if (others_) {
        others_(completion);
      }
    }
  } while (count == completions.size());
}

PostResult Chains::post(ConnectionId connection, std::span<const Operation> chain) {
  static_assert(alignof(Chains) > 1, "its address is an even tag");
  const auto tag = reinterpret_cast<std::uint64_t>(this);
  PostResult result = endpoint_.endpoint().post(connection, chain, Signal::kYes, tag);
  while (result == PostResult::kFull) {
    scheduler_.yield();
    result = endpoint_.endpoint().post(connection, chain, Signal::kYes, tag);
  }
  if (result == PostResult::kPosted) ++under_way_;
  if (result == PostResult::kBroken) failed_ = true;
  return result;
}

bool Chains::wait() {
  if (under_way_ != 0) endpoint_.poll();  // a chain that has completed already costs no switch of fibers
  if (under_way_ != 0) {
    waiter_ = scheduler_.current();
    waiting_ = true;
    scheduler_.park();
  }
  return !std::exchange(failed_, false);
}

void Chains::completed(CompletionStatus status) {
  if (status == CompletionStatus::kBroken) failed_ = true;
  if (--under_way_ == 0 && std::exchange(waiting_, false)) scheduler_.wake(waiter_);
}

}  // namespace granary::rdma::fiber
