#pragma once
// Marks threads that are inside an HTM region. I6: there is no system call, allocation, page fault on purpose, yield or
// fabric operation inside. It would abort a real region each time; a simulated one would not notice. In builds with
// test hooks a region marks its thread, and every function that a region may not call begins with outside_region(). In
// other builds both vanish.

#include <utility>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::base {

/// Returns how many regions the calling thread is in: 0 or 1, except in tests that run one at a sync point of another.
int& region_depth();

/// Marks the thread for as long as the region's body runs.
class RegionMark {
 public:
  RegionMark() {
    if constexpr (kTestHooks) ++region_depth();
  }
  ~RegionMark() {
    if constexpr (kTestHooks) --region_depth();
  }
  RegionMark(const RegionMark&) = delete;
  RegionMark& operator=(const RegionMark&) = delete;
};

/// Takes the thread out of its regions for as long as it lives: for the simulation itself, and for tests in the midst
/// of a region.
class RegionPause {
 public:
  RegionPause() {
    if constexpr (kTestHooks) depth_ = std::exchange(region_depth(), 0);
  }
  ~RegionPause() {
    if constexpr (kTestHooks) region_depth() = depth_;
  }
  RegionPause(const RegionPause&) = delete;
  RegionPause& operator=(const RegionPause&) = delete;

 private:
  int depth_ = 0;
};

/// Checks that the thread is in no region. It is the first line of everything that may not happen inside one.
inline void outside_region([[maybe_unused]] std::source_location where = std::source_location::current()) {
  if constexpr (kTestHooks) invariant("I6", region_depth() == 0, where);
}

}  // namespace granary::base
