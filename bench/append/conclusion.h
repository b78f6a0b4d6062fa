#pragma once
// Writes, judges and reports the history of a run, or one that is in a file.

#include <string>

#include <nlohmann/json.hpp>

#include "bench/append/run.h"
#include "bench/harness/exit_code.h"
#include "bench/harness/flags.h"

namespace granary::bench::append {

/// Prints the error on standard error, and returns the code.
ExitCode fail(ExitCode code, const std::string& text);

/// Reads the history in the file. Leaves out a last line that is cut short, because the process that wrote it was
/// killed.
Result<history::History> read_history(const std::string& path);

/// Serves --check: judges a file, and runs nothing.
ExitCode judge_file(const FlagValues& flags);

/// Writes the histories that were asked for, judges them with --verify, and reports. `more` has members of the report's
/// object "granary" beside the verdicts.
ExitCode conclude(const AppendRun& done, const FlagValues& flags,
                  nlohmann::ordered_json more = nlohmann::ordered_json::object());

}  // namespace granary::bench::append
