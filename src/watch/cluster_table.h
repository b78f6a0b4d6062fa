#pragma once
// The cluster's document as a table for a terminal: a line for each node, then what needs attention, then recoveries.

#include <string>

#include "src/watch/node_document.h"

namespace granary::watch {

/// Returns the table, with ANSI colors if `color`. The document may be anything; a missing value is shown as "-".
std::string cluster_table(const Json& document, bool color);

}  // namespace granary::watch
