#pragma once
// Shows the result as text for people, on standard output.

#include <string>
#include <vector>

#include "bench/harness/result.h"

namespace granary::bench {

/// Returns rows of cells as aligned columns: the first to the left, all others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

/// Returns a few lines on what transactions did at other nodes, and on the clock that leases are judged by.
std::string cluster_text(const ClusterFigures& figures);

inline constexpr std::string_view kUnasked = "--verify was not asked for";
inline constexpr std::string_view kInterrupted = "the run was interrupted";
inline constexpr std::string_view kNotBack = "a killed node did not come back";

/// Returns the text on a set of repeats: the table of the median one by transaction type, aborts by reason, totals with
/// minimum and maximum, memory, and what was verified. `why_unverified` is printed if nothing was.
std::string result_text(const std::string& title, const std::vector<Measurement>& runs,
                        std::string_view why_unverified = kUnasked);

}  // namespace granary::bench
