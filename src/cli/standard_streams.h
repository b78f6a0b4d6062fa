#pragma once
// Standard input, output and error of the `granary` command; a report that nobody can read is an error.

#include "bench/harness/exit_code.h"

namespace granary::cli {

/// Prepares the standard streams. To be called first. Ignores SIGPIPE, so that a reader that goes away ends no
/// database: writing then fails, and finish_output() reports it. Opens /dev/null in the place of standard streams that
/// are closed, because otherwise the first files that a database opens would get their numbers, and the messages.
/// Returns false if standard output was closed.
bool prepare_streams();

/// Returns the exit code of the process, given that of the command. To be called last. If standard output did not take
/// all that was printed, says so on standard error, and a command that had succeeded ends with kEnvironment.
bench::ExitCode finish_output(bench::ExitCode code);

/// Says that there is no standard output to report on, and returns the exit code.
bench::ExitCode refuse_closed_output();

}  // namespace granary::cli
