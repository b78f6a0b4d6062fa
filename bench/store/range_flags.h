#pragma once
// The flags that workloads on ranges of keys have in common (range_workload.h).

#include <cstdint>
#include <string>

#include <granary/status.h>

#include "bench/harness/command.h"

namespace granary::bench::store {

Flag partitions_flag(std::string help);
Flag index_flag();

/// The parameters of a workload that has no others.
struct RangeParameters {
  std::uint64_t keys = 0;  ///< of all partitions together
  std::uint32_t partitions = 1;
  double distributed = 0;  ///< share of what is in another partition, of what may be
  bool hash = true;
  NodeShare share = {};
  std::uint64_t seed = 1;

  KeyRanges ranges() const { return {keys, partitions}; }
};

/// Gives --partitions, --index and --distributed_percent, unless given, what a cluster or --variant makes of them.
void set_range_defaults(FlagValues& flags);

/// From --partitions, --index, --distributed_percent, and the flag that says how many keys a partition has. On a
/// cluster, partitions are nodes. `tables`: of a partition where a store splits tables. An error is a usage error.
Result<RangeParameters> range_parameters_from(const Settings& settings, const FlagValues& flags, const char* keys_flag,
                                              std::uint32_t tables);

/// An error if --distributed_percent was given and there is but one partition.
Status check_distributed(const FlagValues& flags, const RangeParameters& parameters);

}  // namespace granary::bench::store
