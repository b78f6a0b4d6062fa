#pragma once
// Makes one history of the files that the nodes of a cluster have left.

#include <string>

#include "bench/harness/command.h"

namespace granary::bench::append {

/// Returns the file beside a node's history that has what the node's transactions did at other nodes.
std::string figures_of(const std::string& file);

/// Implements BenchCommand::join.
ExitCode join(const FlagValues& flags, const NodesLeft& left);

}  // namespace granary::bench::append
