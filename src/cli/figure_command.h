#pragma once
// `granary figure`: measures the papers' figures again. scripts/figure/ does it, in Python; this finds and starts it.

#include <string>
#include <vector>

#include "bench/harness/exit_code.h"

namespace granary::cli {

struct FigureUse {
  std::string words;  ///< the words that follow `granary`
  std::string summary;
};

/// Returns the uses of `granary figure`, for the list of all commands.
const std::vector<FigureUse>& figure_uses();

/// Replaces this process by the Python program, so that it returns only if that fails.
bench::ExitCode run_figure(const std::vector<std::string>& words);

}  // namespace granary::cli
