// To be run under valgrind: XBEGIN is run without asking whether it works, and aborts (for want of capacity, says
// valgrind) without an effect, so that the caller's other way is taken. Not under valgrind it is an illegal
// instruction, or commits.

#include <cstdio>

#include "htm/region.h"

int main() {
  using namespace granary;
  const htm::Support support(htm::Backend::kRtm, {});
  base::ThreadWaiter waiter;
  htm::Region region(support, 0, waiter);
  std::uint64_t word = 0;
  const htm::Attempt ending = region.run([&](auto& memory) {
    memory.store(&word, 1);
    return htm::Verdict::done();
  });
  const std::uint64_t aborts = region.counters().aborts[static_cast<std::size_t>(htm::Cause::kCapacity)];
  std::printf("committed %d, cause %s, %llu aborts, word %llu, RTM %s\n", ending.committed,
              htm::name(ending.cause).data(), static_cast<unsigned long long>(aborts),
              static_cast<unsigned long long>(word), htm::rtm_works() ? "works" : "does not work");
  const std::uint64_t expected = 1 + htm::Policy().retries[static_cast<std::size_t>(htm::Cause::kCapacity)];
  return !ending.committed && ending.cause == htm::Cause::kCapacity && aborts == expected && word == 0 ? 0 : 1;
}
