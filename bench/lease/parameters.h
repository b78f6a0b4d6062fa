#pragma once
// What the flags of `granary bench lease` say, checked.

#include <cstdint>
#include <vector>

#include <granary/status.h>

#include "bench/harness/command.h"

namespace granary::bench::lease {

inline constexpr std::size_t kMostRecords = 32;  // of a transaction

struct Parameters {
  std::uint64_t keys = 100'000;  ///< of all partitions together
  std::uint32_t partitions = 1;
  std::uint32_t records = 10;   ///< of a transaction
  std::uint32_t only_read = 5;  ///< of these; the others are incremented
  std::uint64_t hot_keys = 0;   ///< evenly over the partitions; if any, each transaction reads one of them
  double distributed = 0.1;     ///< share of records, other than hot ones, in another partition
  bool hash = true;
  NodeShare share = {};
  std::uint64_t seed = 1;

  KeyRanges ranges() const { return {keys, partitions}; }
};

std::vector<Flag> parameter_flags();
/// An error is a usage error.
Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags);

std::uint64_t estimated_bytes(const Parameters& parameters);

}  // namespace granary::bench::lease
