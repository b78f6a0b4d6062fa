#pragma once
// The steps of the factor analysis and how they are measured.

#include <string>
#include <vector>

#include "bench/harness/command.h"
#include "bench/harness/result.h"

namespace granary::bench::factor {

/// One bar of the figure: everything to its left is in force as well.
struct Bar {
  std::string name;
  VariantSet variants;  ///< of this step
  std::vector<Measurement> runs;
  double scale_factor = 0;  ///< of the data that it was measured on
};

/// In the paper's order, nothing measured yet: its "Regular" group, or "Persistence" for databases with a log.
std::vector<Bar> bars(bool logged);

/// Returns how the analysis ends: kCheckFailed if a check of the data failed, and kEnvironment if requests were given
/// up. Says which step it was on standard error.
ExitCode judge(const std::vector<Bar>& measured);

/// Measures all bars in turn, --repeat times; prints them and writes JSON.
ExitCode run_bars(const BenchCommand& workload, const Settings& settings, const FlagValues& flags);

}  // namespace granary::bench::factor
