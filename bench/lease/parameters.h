#pragma once
// The parameters of `granary bench lease`, from its flags.

#include <cstdint>
#include <vector>

#include <granary/status.h>

#include "bench/harness/command.h"

namespace granary::bench::lease {

inline constexpr std::size_t kMostRecords = 32;  // the most records of a transaction

struct Parameters {
  std::uint64_t keys = 100'000;  ///< keys of all partitions together
  std::uint32_t partitions = 1;
  std::uint32_t records = 10;   ///< records of a transaction
  std::uint32_t only_read = 5;  ///< how many of these are only read; the others are incremented
  std::uint64_t hot_keys =
      0;  ///< spread evenly over the partitions; if there are any, each transaction reads one of them
  double distributed = 0.1;  ///< share of records, other than hot ones, that are in another partition
  bool hash = true;
  NodeShare share = {};
  std::uint64_t seed = 1;

  KeyRanges ranges() const { return {keys, partitions}; }
};

std::vector<Flag> parameter_flags();
/// Takes the parameters. An error is a usage error.
Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags);

std::uint64_t estimated_bytes(const Parameters& parameters);

}  // namespace granary::bench::lease
