#pragma once
// Touches pages of a region before they are taken, so that a worker whose tables grow does not meet the first touch of
// a page, which makes the system clear it. It looks now and then how fast the region is used up, and keeps ahead of
// that. While nothing is taken, nothing is touched.

#include <cstdint>

#include "src/memory/region.h"

namespace granary::memory {

class TouchAhead {
 public:
  /// The greatest number of bytes that are touched and not used yet.
  static constexpr std::uint64_t kMost = std::uint64_t{8} << 20;

  /// Whether touching ahead is of use: where memory lies on several NUMA nodes, the worker that takes a page should
  /// touch it first, unless all of the region is bound to one node (RegionOptions::numa_node).
  static bool of_use(int numa_node);

  /// `touched` says how many bytes of the region have been touched already (RegionOptions::prefault_bytes).
  TouchAhead(Region& region, std::uint64_t touched);

  /// Touches as many bytes as will be used until the next step but one, if they go as fast as since the last step. One
  /// thread calls it. Returns how many bytes it has touched. That is 0 if the system cannot touch in advance, or has no
  /// memory for it, which does no harm.
  std::uint64_t step();

 private:
  Region& region_;
  std::uint64_t touched_;
  std::uint64_t seen_;
  bool cannot_ = false;  ///< the kernel does not know the advice, as it is older than Linux 5.14
};

}  // namespace granary::memory
