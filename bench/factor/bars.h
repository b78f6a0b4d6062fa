#pragma once
// The steps of the factor analysis and how they are measured.

#include <string>
#include <vector>

#include "bench/harness/command.h"
#include "bench/harness/result.h"

namespace granary::bench::factor {

/// One bar of the figure. The steps of the bars to its left are in force as well.
struct Bar {
  std::string name;
  VariantSet variants;  ///< all variants in force, not only those of this step
  std::vector<Measurement> runs;
  double scale_factor = 0;  ///< the scale of the data that it was measured on
};

/// Returns the bars in the paper's order, without measurements: its "Regular" group, or its "Persistence" group for
/// databases with a log.
std::vector<Bar> bars(bool logged);

/// Returns how the analysis ends: kCheckFailed if a check of the data failed, and kEnvironment if requests were given
/// up. Prints to standard error which step it was.
ExitCode judge(const std::vector<Bar>& measured);

/// Measures all bars in turn, --repeat times; prints them and writes JSON.
ExitCode run_bars(const BenchCommand& workload, const Settings& settings, const FlagValues& flags);

}  // namespace granary::bench::factor
