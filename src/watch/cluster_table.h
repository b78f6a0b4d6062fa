#pragma once
// The cluster's document as a table for a terminal: a line for each node, then what needs attention, then recoveries.

#include <string>

#include "src/watch/node_document.h"

namespace granary::watch {

/// `color`: with ANSI colors. The document may be anything; what is missing is shown as "-".
std::string cluster_table(const Json& document, bool color);

}  // namespace granary::watch
