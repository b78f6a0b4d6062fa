// `granary bench NAME` from parsed flags to exit code: what can be refused is refused before anything is loaded.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "bench/harness/command.h"
#include "bench/harness/json_report.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/harness/runner.h"
#include "bench/harness/table.h"
#include "src/base/build_info.h"

namespace granary::bench {

namespace {

ExitCode refuse(ExitCode code, const std::string& message) {
  fmt::print(stderr, "granary: {}\n", message);
  return code;
}

ExitCode exit_code_of(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ? ExitCode::kUsage : ExitCode::kEnvironment;
}

/// The memory that loading will need against what there is.
Status check_memory(const BenchCommand& command, const Workload& workload, const Settings& settings) {
  const std::uint64_t needed = workload.estimated_bytes();
  const std::uint64_t limit = settings.options.memory_limit_bytes;
  if (limit != 0 && needed > limit) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} of this size needs about {}; --memory_limit allows {}", command.name,
                                                            human_bytes(needed), human_bytes(limit)));
  }
  if (const std::uint64_t available = available_memory(); needed > available) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} of this size needs about {} of memory; {} are available", command.name,
                                                            human_bytes(needed), human_bytes(available)));
  }
  return {};
}

/// Whether the file can be written, found out before the run and not after it.
Status check_writable(const std::string& path) {
  if (path.empty()) return {};
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr) return Status(StatusCode::kUnavailable, fmt::format("--json={}: cannot write: {}", path, std::strerror(errno)));
  std::fclose(file);
  return {};
}

RunPlan plan_from(const Settings& settings, const FlagValues& flags) {
  return {.workers = settings.workers,
          .seconds = flags.real("seconds"),
          .warmup_seconds = flags.real("warmup"),
          .latency_sample = flags.integer("latency_sample"),
          .pin = flags.text("pin") != "off",
          .progress = flags.enabled("progress")};
}

class Bench {
 public:
  Bench(const BenchCommand& command, const FlagValues& flags, const Settings& settings)
      : command_(command), flags_(flags), settings_(settings), plan_(plan_from(settings, flags)), repeats_(flags.integer("repeat")) {}

  ExitCode run();

 private:
  Status prepare();
  Status measure_one(std::uint64_t repeat);
  void verify();
  ExitCode report();

  const BenchCommand& command_;
  const FlagValues& flags_;
  const Settings& settings_;
  const RunPlan plan_;
  const std::uint64_t repeats_;
  const base::TscClock clock_ = base::TscClock::calibrated();
  StopSignals signals_;
  Machine machine_ = describe_machine();
  std::unique_ptr<Workload> workload_;
  double load_seconds_ = 0;
  std::vector<Measurement> runs_;
};

/// Makes and loads a workload, unless the last repeat's data will do.
Status Bench::prepare() {
  if (workload_ && !workload_->reload_each_repeat()) return {};
  workload_.reset();  // before the next one is made: two loads may not fit
  Result<std::unique_ptr<Workload>> made = command_.make(settings_, flags_);
  if (!made.ok()) return made.status();
  workload_ = std::move(*made);
  if (Status fits = check_memory(command_, *workload_, settings_); !fits.ok()) return fits;
  LoadProgress progress(command_.name, workload_->load_units(), plan_.progress);
  const std::uint64_t start = base::monotonic_ns();
  const Status loaded = workload_->load(static_cast<unsigned>(machine_.cpus), progress);
  load_seconds_ = static_cast<double>(base::monotonic_ns() - start) / 1e9;
  return loaded;
}

Status Bench::measure_one(std::uint64_t repeat) {
  if (Status ready = prepare(); !ready.ok()) return ready;
  if (signals_.requested()) return {};  // while reloading: report the repeats there are
  if (plan_.progress) {
    fmt::print(stderr, "[run {} of {}]  {} worker{}, {} s after {} s of warm-up; loaded in {:.1f} s\n", repeat + 1, repeats_, plan_.workers,
               plan_.workers == 1 ? "" : "s", plan_.seconds, plan_.warmup_seconds, load_seconds_);
  }
  Result<Measurement> measured = measure(*workload_, plan_, clock_, signals_);
  if (!measured.ok()) return measured.status();
  if (measured->elapsed_ns == 0 && !runs_.empty()) return {};  // interrupted before it measured anything
  runs_.push_back(std::move(*measured));
  runs_.back().load_seconds = load_seconds_;
  const bool last_of_this_data = workload_->reload_each_repeat() || repeat + 1 == repeats_;
  if (settings_.verify && last_of_this_data && !signals_.requested()) verify();
  return {};
}

void Bench::verify() {
  if (plan_.progress) fmt::print(stderr, "[verifying]\n");
  runs_.back().findings = workload_->verify();
  runs_.back().verified = !runs_.back().findings.empty();
}

ExitCode Bench::report() {
  const std::string title = fmt::format("granary bench {}, {} worker{}, {}", command_.name, settings_.workers,
                                        settings_.workers == 1 ? "" : "s", base::version_text());
  fmt::print("{}", result_text(title, runs_));
  std::fflush(stdout);
  if (const std::string& path = flags_.text("json"); !path.empty()) {
    const ReportInput input{command_, flags_, settings_, machine_, workload_->scale_factor(), runs_};
    if (const Status written = write_json(path, json_report(input)); !written.ok()) return refuse(ExitCode::kEnvironment, written.message());
  }
  for (const Measurement& run : runs_) {
    for (const Finding& finding : run.findings) {
      if (!finding.holds) return refuse(ExitCode::kCheckFailed, fmt::format("{} does not hold: {}", finding.condition, finding.detail));
    }
  }
  return ExitCode::kOk;
}

ExitCode Bench::run() {
  if (const Status writable = check_writable(flags_.text("json")); !writable.ok()) {
    return refuse(ExitCode::kEnvironment, writable.message());
  }
  if (base::build_info().build_type != "Release") {
    fmt::print(stderr, "granary: note: this is a {} build; its figures say little about speed\n", base::build_info().build_type);
  }
  for (std::uint64_t repeat = 0; repeat < repeats_ && !signals_.requested(); ++repeat) {
    if (const Status done = measure_one(repeat); !done.ok()) return refuse(exit_code_of(done), done.message());
  }
  return report();
}

}  // namespace

ExitCode run_bench(const BenchCommand& command, const FlagValues& flags) {
  Result<Settings> settings = settings_from(command, flags);
  if (!settings.ok()) return refuse(exit_code_of(settings.status()), settings.status().message());
  if (command.run_instead) return command.run_instead(*settings, flags);
  return Bench(command, flags, *settings).run();
}

}  // namespace granary::bench
