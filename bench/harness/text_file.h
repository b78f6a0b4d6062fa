#pragma once
// Reads files that a command line names, such as reports of earlier runs.

#include <string>

#include <granary/status.h>

namespace granary::bench {

/// Returns all of a file, or of a pipe. kUnavailable if there is none, or it is no file that can be read.
Result<std::string> read_text(const std::string& path);

}  // namespace granary::bench
