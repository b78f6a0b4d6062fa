#pragma once
// Options of databases that have to fit on disks of a few mebibytes.

#include <string>
#include <utility>

#include <granary/granary.h>

namespace granary::tests {

/// Makes options for a database with small rings, segments and memory, which takes no checkpoint of itself.
inline Options small_options(std::string directory, std::string rings) {
  Options options;
  options.directory = std::move(directory);
  options.reliable_directory = std::move(rings);
  options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
  options.checkpoint_interval_s = 0;
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  options.huge_pages = HugePages::kOff;
  return options;
}

}  // namespace granary::tests
