#pragma once
// Runs HTM regions, code that takes effect all at once or not at all, on the hardware or the simulation that a database
// has.
//
//   const htm::Attempt last = region.run([&](auto& memory) {
//     if (memory.load(&flag) != 0) return htm::Verdict::retry(kFlagSet);
//     memory.store(&total, memory.load(&total) + 1);
//     return htm::Verdict::done();
//   });
//   if (!last.committed) ...   // do it with locks
//
// A body is written once, over `memory`, and runs on hardware or on the simulation. It may run several times, and end
// at any access. So it changes only words that it stores to through `memory`, and variables of its own that it sets
// anew each time. I6: there is no system call, allocation, page fault on purpose, yield or fabric operation inside
// (src/base/region_mark.h).

#include <array>
#include <cstdint>

#include "htm/attempt.h"
#include "htm/back_off.h"
#include "htm/program_pages.h"
#include "htm/rtm.h"
#include "htm/simulator.h"
#include "htm/support.h"
#include "src/base/waiter.h"

namespace granary::htm {

/// The regions of one thread.
class Region {
 public:
  /// `stream` gives each thread random numbers of its own. `support` must outlive the region, and is not off.
  Region(const Support& support, std::uint64_t stream, base::Waiter& waiter, const Policy& policy = {});

  /// Runs the body until an attempt has committed or no more attempts are worthwhile. Returns the last attempt.
  template <typename Body>
  Attempt run(Body&& body) {
    std::array<std::uint32_t, kCauses> aborts{};
    for (;;) {
      const Attempt tried = rtm_ ? attempt_rtm(body) : simulator_.attempt(body);
      counters_.count(tried);
      if (tried.committed || !worth_retrying(tried, aborts)) return tried;
      back_off_.wait_after(tried.cause, aborts[static_cast<std::size_t>(tried.cause)]);
    }
  }

  const Counters& counters() const { return counters_; }
  /// Counts that the caller went on with locks.
  void count_fallback() { counters_.count_fallback(); }

 private:
  bool worth_retrying(const Attempt& tried, std::array<std::uint32_t, kCauses>& aborts);

  const bool rtm_;
  const Policy policy_;
  ProgramPages pages_;
  BackOff back_off_;
  Simulator simulator_;
  Counters counters_;
};

}  // namespace granary::htm
