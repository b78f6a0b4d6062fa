#pragma once
// How long one-sided operations of the shm fabric take, at random places of a region that another node maps as its own;
// beside a plain copy by the processor at such places of the same memory.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/status.h>

namespace granary::bench::fabric {

struct Load {
  std::uint64_t region_bytes = 0;
  std::uint64_t operations = 0;  ///< for each figure
  std::uint64_t seed = 1;
  std::string run_directory;  ///< where the two nodes meet
};

struct Figure {
  std::string operation;  ///< "READ", ..., "memcpy"
  std::uint32_t bytes = 0;
  std::string how;         ///< "one by one", "chains of 16", "16 fibers"
  double nanoseconds = 0;  ///< mean of one operation
};

/// One by one means: each waits for the one before, as the next address depends on what was read.
Result<std::vector<Figure>> measure(const Load& load);

}  // namespace granary::bench::fabric
