#pragma once
// Standard input, output and error of the `granary` command: what becomes of a report that nobody can read.

#include "bench/harness/exit_code.h"

namespace granary::cli {

/// To be called first. Ignores SIGPIPE, so that a reader who goes away ends no database: writing then fails, and
/// finish_output() tells. Opens /dev/null in the place of standard streams that are closed, or the first files that a
/// database opens would get their numbers, and its messages. Returns false if standard output was closed.
bool prepare_streams();

/// To be called last, with how the command ended. If standard output did not take all that was printed, says so on
/// standard error, and a command that had succeeded has failed for it: kEnvironment.
bench::ExitCode finish_output(bench::ExitCode code);

/// Says that there is no standard output to report on.
bench::ExitCode refuse_closed_output();

}  // namespace granary::cli
