#pragma once
// `granary figure`: the papers' figures, measured again. scripts/figure/ does it, in Python; this finds and starts it.

#include <string>
#include <vector>

#include "bench/harness/exit_code.h"

namespace granary::cli {

struct FigureUse {
  std::string words;  ///< after `granary`
  std::string summary;
};

/// For the list of all commands.
const std::vector<FigureUse>& figure_uses();

/// Becomes the process that understands the words, so it returns only if that did not work.
bench::ExitCode run_figure(const std::vector<std::string>& words);

}  // namespace granary::cli
