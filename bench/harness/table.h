#pragma once
// The result as text for people, on standard output.

#include <string>
#include <vector>

#include "bench/harness/result.h"

namespace granary::bench {

/// Rows of cells as aligned columns: the first left, all others right.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

/// What transactions did at other nodes, and the clock that leases are judged by: a few lines.
std::string cluster_text(const ClusterFigures& figures);

inline constexpr std::string_view kUnasked = "--verify was not asked for";
inline constexpr std::string_view kInterrupted = "the run was interrupted";
inline constexpr std::string_view kNotBack = "a killed node did not come back";

/// Everything worth reading about a set of repeats: the table of the median one by transaction type, aborts by reason,
/// totals with minimum and maximum, memory, and what was verified. `why_unverified` is told if nothing was.
std::string result_text(const std::string& title, const std::vector<Measurement>& runs,
                        std::string_view why_unverified = kUnasked);

}  // namespace granary::bench
