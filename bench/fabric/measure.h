#pragma once
// How long one-sided operations take, at random places of a region that another node offers; beside a plain copy by the
// processor at such places of the same memory.

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
  std::uint64_t operations = 0;  ///< for each figure
  std::uint64_t seed = 1;
  std::string run_directory;       ///< where the two nodes meet
  StopSignals* signals = nullptr;  ///< end it early, with the figures that are complete
};

/// How long an operation takes. The mean of a chain is divided by its length. Its percentiles are those of the whole
/// chain: nobody knows how long each of its operations takes. Fibers have the mean only.
struct OperationFigure {
  std::string operation;  ///< "READ", ..., "memcpy"
  std::uint32_t bytes = 0;
  std::string how;         ///< "one by one", "chains of 16", "16 fibers"
  std::size_t length = 1;  ///< of the chain
  double nanoseconds = 0;  ///< mean
  double p50_ns = 0;       ///< from a second, shorter run that looks at the clock after each
  double p99_ns = 0;
};

/// One by one means: each waits for the one before, as the next address depends on what was read.
Result<std::vector<OperationFigure>> measure(const Load& load);

/// A figure set beside the plain copy of the same bytes at such places.
struct Comparison {
  std::string what;
  double ours = 0;   ///< ns
  double plain = 0;  ///< ns
  double most = 0;   ///< ns that ours may take, by the bars in docs/rdma.md
};
/// For providers that work by the processor: a READ of 64 bytes, alone and in chains of 16, where these figures are
/// there.
std::vector<Comparison> compare(const std::vector<OperationFigure>& figures);

}  // namespace granary::bench::fabric
