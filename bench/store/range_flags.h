#pragma once
// The flags that workloads on ranges of keys share (range_workload.h).

#include <cstdint>
#include <string>

#include <granary/status.h>

#include "bench/harness/command.h"

namespace granary::bench::store {

Flag partitions_flag(std::string help);
Flag index_flag();

/// The parameters of a workload that has no others.
struct RangeParameters {
  std::uint64_t keys = 0;  ///< keys of all partitions together
  std::uint32_t partitions = 1;
  double distributed = 0;  ///< the share that is in another partition, of all that may be
  bool hash = true;
  NodeShare share = {};
  std::uint64_t seed = 1;

  KeyRanges ranges() const { return {keys, partitions}; }
};

/// Sets --partitions, --index and --distributed_percent, unless given, to the values that a cluster or --variant
/// implies.
void set_range_defaults(FlagValues& flags);

/// Takes the parameters from --partitions, --index, --distributed_percent, and the flag that says how many keys a
/// partition has. On a cluster, partitions are nodes. `tables` is the number of tables of a partition where a store
/// splits tables. An error is a usage error.
Result<RangeParameters> range_parameters_from(const Settings& settings, const FlagValues& flags, const char* keys_flag,
                                              std::uint32_t tables);

/// Returns an error if --distributed_percent was given and there is but one partition.
Status check_distributed(const FlagValues& flags, const RangeParameters& parameters);

}  // namespace granary::bench::store
