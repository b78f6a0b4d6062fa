#pragma once
// Measures how long one-sided operations take, at random places of a region that another node offers, and compares them
// with plain copies by the processor at such places of the same memory.

#include <cstdint>
#include <string>
#include <vector>

#include <granary/status.h>

#include "bench/harness/early_end.h"
#include "cluster_config/provider.h"

namespace granary::bench::fabric {

struct Load {
  cluster_config::Provider provider = cluster_config::Provider::kShm;
  std::uint64_t region_bytes = 0;
  std::uint64_t operations = 0;  ///< operations for each figure
  std::uint64_t seed = 1;
  std::string run_directory;       ///< the directory in which the two nodes meet
  StopSignals* signals = nullptr;  ///< ends the measurement early, with the figures that are complete
};

/// The time that an operation takes. The mean of a chain is divided by its length. Percentiles are those of the whole
/// chain, because the time of each of its operations is not known. Fibers have the mean only.
struct OperationFigure {
  std::string operation;  ///< "READ", ..., "memcpy"
  std::uint32_t bytes = 0;
  std::string how;         ///< "one by one", "chains of 16", "16 fibers"
  std::size_t length = 1;  ///< the length of the chain
  double nanoseconds = 0;  ///< mean
  double p50_ns = 0;       ///< from a second, shorter run that reads the clock after each operation
  double p99_ns = 0;
};

/// Measures the operations. "One by one" means that each waits for the one before, as the next address depends on what
/// was read.
Result<std::vector<OperationFigure>> measure(const Load& load);

/// A figure and the plain copy of the same bytes at such places.
struct Comparison {
  std::string what;
  double ours = 0;   ///< ns
  double plain = 0;  ///< ns
  double most = 0;   ///< the most that ours may take in ns, by the bars in docs/rdma.md
};
/// Compares a READ of 64 bytes, alone and in chains of 16, where these figures are there. For providers that work by
/// the processor.
std::vector<Comparison> compare(const std::vector<OperationFigure>& figures);

}  // namespace granary::bench::fabric
