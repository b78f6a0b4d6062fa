#pragma once
// Keeps the pages of the program's own code usable inside regions.
//
// A region aborts (Cause::kOther) if it needs a page that is not mapped, or whose "accessed" flag is clear in a page
// table: the processor undoes the region before the system, or its own microcode, can mend that. Outside of regions the
// first access to the page mends it. Data are no problem, as the way with locks, which is taken next, uses the same
// data. Code that runs in regions only is a problem: nobody else touches its pages. Systems, and hypervisors below
// them, clear the flags now and then to find out what is in use, and from then on each region would abort.

#include <chrono>

namespace granary::htm {

/// Reads a byte of each page of the program and its libraries. Any thread may call it. It takes some 100 us, longer the
/// first time.
void touch_program();

/// Tells when a thread's regions abort so often without a reason that these pages may be the cause, and touches them.
class ProgramPages {
 public:
  /// A region was given up after an abort of the cause kOther.
  void region_was_in_vain();

 private:
  using Clock = std::chrono::steady_clock;
  // Touching the pages so rarely costs less than one per cent, also where something else makes the regions abort.
  static constexpr std::chrono::milliseconds kInterval{100};
  static constexpr unsigned kFew = 8;  ///< Fewer aborts may all have been interrupts.

  unsigned in_vain_ = 0;  // since the pages were touched last
  Clock::time_point touched_{};
};

}  // namespace granary::htm
