#pragma once
// Keeps the pages of the program's own code usable inside regions.
//
// A region aborts (Cause::kOther) if it needs a page that is not mapped, or whose "accessed" flag is clear in a page
// table: the processor undoes the region before the system, or its own microcode, can mend that. Outside of regions,
// the first access to the page mends it. Data are no problem, because the transaction goes on with locks after the
// abort, and then uses the same data. Code that runs only in regions is a problem, since nothing else touches its
// pages. Systems, and hypervisors below them, clear the flags now and then to find out which pages are in use, and from
// then on each region would abort.

#include <chrono>

namespace granary::htm {

/// Reads a byte of each page of the program and its libraries. Any thread may call it. It takes some 100 us, and longer
/// the first time.
void touch_program();

/// Notices when a thread's regions abort so often without a reason that these pages may be the cause, and touches them
/// then.
class ProgramPages {
 public:
  /// Notes that a region was given up after an abort of the cause kOther.
  void region_was_in_vain();

 private:
  using Clock = std::chrono::steady_clock;
  // Touching the pages at most so often costs less than one per cent, even if something else makes the regions abort.
  static constexpr std::chrono::milliseconds kInterval{100};
  static constexpr unsigned kFew = 8;  ///< fewer aborts may all have been interrupts

  unsigned in_vain_ = 0;  // since the pages were touched last
  Clock::time_point touched_{};
};

}  // namespace granary::htm
