#pragma once
// Touches pages of a region before they are taken, so that a worker whose tables grow does not meet the first touch of
// a page, which the system has to clear. It looks now and then how fast the region is used up and keeps ahead of that;
// while nothing is taken, nothing is touched.

#include <cstdint>

#include "src/memory/region.h"

namespace granary::memory {

class TouchAhead {
 public:
  /// The most that is touched and not used yet.
  static constexpr std::uint64_t kMost = std::uint64_t{8} << 20;

  /// Whether it is of use here: where memory lies on several NUMA nodes, a page is best touched by the worker that
  /// takes it, unless all of the region is bound to one (RegionOptions::numa_node).
  static bool of_use(int numa_node);

  /// `touched`: so many bytes of the region have been touched already (RegionOptions::prefault_bytes).
  TouchAhead(Region& region, std::uint64_t touched) : region_(region), touched_(touched), seen_(region.used()) {}

  /// Touches as much as will be used until the next step but one, if it goes on as since the last step. One thread
  /// calls it. Returns how many bytes it has touched: 0 as well where the system cannot, which is no harm.
  std::uint64_t step();

 private:
  Region& region_;
  std::uint64_t touched_;
  std::uint64_t seen_;
  bool cannot_ = false;  ///< the kernel is older than Linux 5.14
};

}  // namespace granary::memory
