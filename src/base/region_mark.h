#pragma once
// I6: no system call, allocation, page fault on purpose, yield or fabric operation inside an HTM region. It would abort
// a real one each time; a simulated one would not notice. In builds with test hooks a region marks its thread, and
// whatever a region may not do begins with outside_region(); in other builds both vanish.

#include <utility>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::base {

/// How many regions the calling thread is in: 0 or 1, but for tests that run one at a sync point of another.
int& region_depth();

/// Lives as long as the region's body runs.
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

/// While one lives, the thread counts as outside of its regions: what imitates them, and what tests do in their midst.
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

/// The first line of what may not happen inside a region.
inline void outside_region([[maybe_unused]] std::source_location where = std::source_location::current()) {
  if constexpr (kTestHooks) invariant("I6", region_depth() == 0, where);
}

}  // namespace granary::base
