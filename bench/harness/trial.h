#pragma once
// The steps before a measurement, for the ordinary run and for commands that measure several set-ups in turn.

#include <cstdint>
#include <memory>
#include <string_view>

#include "bench/harness/command.h"
#include "bench/harness/given_up.h"
#include "bench/harness/runner.h"

namespace granary::bench {

RunPlan plan_from(const Settings& settings, const FlagValues& flags);

struct LoadedWorkload {
  std::unique_ptr<Workload> workload;
  double load_seconds = 0;
};

/// Makes a workload and loads it, unless its data would not fit into memory (kInvalidArgument).
Result<LoadedWorkload> make_loaded(const BenchCommand& command, const Settings& settings, const FlagValues& flags);

/// Returns kInvalidArgument if a run of `command` needs more memory than is available.
Status check_available(std::string_view command, std::uint64_t needed_bytes);

/// Prints "granary: message" on standard error, and returns the code.
ExitCode refuse(ExitCode code, const std::string& message);
/// Returns the exit code for an error: wrong usage for kInvalidArgument, damaged data or a disk fault, else the
/// environment.
ExitCode exit_code_of(const Status& status);

/// Prints "interrupted" on standard error, and returns the exit code of a run that a signal has ended before there was
/// anything to report.
ExitCode interrupted(const StopSignals& signals);

/// Returns kCheckFailed, and says so on standard error, if any finding does not hold.
ExitCode check_findings(const std::vector<Measurement>& runs);

/// Returns kEnvironment, and says so on standard error, if requests were given up because memory ran out, because they
/// take longer than a transaction may be open, or for any other reason (given_up_text()). `step` names the runs where
/// there are others beside them.
ExitCode check_given_up(const std::vector<Measurement>& runs, NodesDie nodes_die = NodesDie::kNo,
                        std::string_view step = "");

/// Finds out before a run whether the file that --`flag` names can be written; OK if none is named. Leaves no new file.
Status check_writable(const std::string& path, std::string_view flag = "json");

/// Warns on standard error if the build is not fit for measurements.
void note_build_type();

}  // namespace granary::bench
