#pragma once
// Reads files that a command line names, such as reports of earlier runs.

#include <string>

#include <granary/status.h>

namespace granary::bench {

/// Returns the contents of a file or a pipe. kUnavailable if there is none, or it cannot be read.
Result<std::string> read_text(const std::string& path);

}  // namespace granary::bench
