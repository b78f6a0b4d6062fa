#include "bench/harness/trial.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "src/base/build_info.h"
#include "src/base/print.h"

namespace granary::bench {

namespace {

/// Returns what limits the memory, as the beginning of a sentence that goes on with the limit.
std::string limit_text(const Settings& settings) {
  if (!settings.share.in_cluster) return "--memory_limit allows";
  return fmt::format("node {} has, by 'memory' in '{}',", settings.cluster.node, settings.cluster.file);
}

/// Compares the memory that the run will need with the limit and with what is available.
Status check_memory(const BenchCommand& command, const Workload& workload, const Settings& settings) {
  const std::uint64_t needed = workload.estimated_bytes();
  const std::uint64_t limit = settings.options.memory_limit_bytes;
  if (limit != 0 && needed > limit) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} of this size needs about {}; {} {}", command.name, human_bytes(needed),
                              limit_text(settings), human_bytes(limit)));
  }
  return check_available(command.name, needed);
}

/// Loads the data. A process in the place of one that was killed comes back to them instead.
Status fill(Workload& workload, const Settings& settings, Progress& progress) {
  if (settings.time_line) workload.keep_account(settings.time_line->account(settings.share.node));
  if (settings.returned()) return workload.come_back();
  const bool alone = settings.share.alone();  // otherwise other nodes load as well, and sessions are few
  return workload.load(alone ? static_cast<unsigned>(allowed_cpus().size()) : 1, progress);
}

}  // namespace

RunPlan plan_from(const Settings& settings, const FlagValues& flags) {
  return {.workers = settings.workers,
          .fibers = settings.fibers,
          .seconds = flags.real("seconds"),
          .warmup_seconds = flags.real("warmup"),
          .latency_sample = flags.integer("latency_sample"),
          // The cluster file says where a node runs, as nodes of one host must not share a core.
          .pin = flags.text("pin") != "off" && settings.share.alone(),
          .checkpoints = !settings.options.directory.empty() && settings.options.checkpoint_interval_s != 0,
          .progress = flags.enabled("progress"),
          .options = settings.options,
          .time_line = settings.time_line.get(),
          .node = settings.share.node};
}

Result<LoadedWorkload> make_loaded(const BenchCommand& command, const Settings& settings, const FlagValues& flags) {
  Result<std::unique_ptr<Workload>> made = command.make(settings, flags);
  if (!made.ok()) return made.status();
  LoadedWorkload loaded{.workload = std::move(*made)};
  if (Status fits = check_memory(command, *loaded.workload, settings); !fits.ok()) return fits;
  LoadProgress progress(command.name, loaded.workload->load_units(), flags.enabled("progress"));
  const std::uint64_t start = base::monotonic_ns();
  const Status done = fill(*loaded.workload, settings, progress);
  loaded.load_seconds = static_cast<double>(base::monotonic_ns() - start) / 1e9;
  // A failed log, or a membership that was lost, explains loading that failed.
  if (const Status why = status_of(*loaded.workload); !why.ok()) return why;
  if (!done.ok()) return done;
  return loaded;
}

Status check_available(std::string_view command, std::uint64_t needed_bytes) {
  const std::uint64_t available = available_memory();
  if (needed_bytes <= available) return {};
  return {StatusCode::kInvalidArgument, fmt::format("{} of this size needs about {} of memory; {} are available",
                                                    command, human_bytes(needed_bytes), human_bytes(available))};
}

ExitCode refuse(ExitCode code, const std::string& message) {
  base::print(stderr, "granary: {}\n", message);
  return code;
}

ExitCode interrupted(const StopSignals& signals) {
  return refuse(static_cast<ExitCode>(signals.exit_code()), "interrupted");
}

ExitCode check_findings(const std::vector<Measurement>& runs) {
  for (const Measurement& run : runs) {
    for (const Finding& finding : run.findings) {
      if (!finding.holds)
        return refuse(ExitCode::kCheckFailed, fmt::format("{} does not hold: {}", finding.condition, finding.detail));
    }
  }
  return ExitCode::kOk;
}

ExitCode check_given_up(const std::vector<Measurement>& runs, NodesDie nodes_die, std::string_view step) {
  const std::string name = step.empty() ? "" : fmt::format("{}: ", step);
  for (const Measurement& run : runs) {
    if (const std::uint64_t starved = run.starved(); starved != 0) {
      return refuse(
          ExitCode::kEnvironment,
          fmt::format("{}{} requests were given up for want of memory, so the figures are of something else; run it "
                      "for less time, or with {}",
                      name, with_commas(starved), kMoreMemory));
    }
    if (const std::uint64_t too_long = run.total().too_long; too_long != 0) {
      return refuse(
          ExitCode::kEnvironment,
          fmt::format("{}{} requests were given up, each after ten attempts in a row that were open for more than {} "
                      "epochs, so the figures are of something else; make requests smaller, or epochs longer "
                      "(--epoch_ms; in a cluster, 'epoch_ms' of its file)",
                      name, with_commas(too_long), Options().max_open_epochs));
    }
    if (const std::string others = given_up_text(run, nodes_die); !others.empty()) {
      return refuse(ExitCode::kEnvironment, fmt::format("{}{}, so the figures are of something else", name, others));
    }
  }
  return ExitCode::kOk;
}

ExitCode exit_code_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return ExitCode::kOk;
    case StatusCode::kInvalidArgument: return ExitCode::kUsage;
    case StatusCode::kDamaged: return ExitCode::kDamagedData;
    case StatusCode::kIoError:
    case StatusCode::kDiskFull: return ExitCode::kDiskFault;
    case StatusCode::kMembershipLost: return ExitCode::kMembershipLost;
    default: return ExitCode::kEnvironment;
  }
}

Status check_writable(const std::string& path, std::string_view flag) {
  if (path.empty()) return {};
  const bool there = ::access(path.c_str(), F_OK) == 0;
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr)
    return Status(StatusCode::kUnavailable, fmt::format("--{}={}: cannot write: {}", flag, path, std::strerror(errno)));
  std::fclose(file);
  if (!there) ::unlink(path.c_str());
  return {};
}

void note_build_type() {
  if (base::build_info().build_type == "Release") return;
  base::print(stderr, "granary: note: this is a {} build; its figures say little about speed\n",
              base::build_info().build_type);
}

}  // namespace granary::bench
