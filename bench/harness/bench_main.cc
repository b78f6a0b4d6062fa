// Runs `granary bench NAME`, from parsed flags to the exit code. Impossible settings are refused before any data is
// loaded.

#include <cstdio>

#include <fmt/format.h>

#include "bench/harness/command.h"
#include "bench/harness/json_report.h"
#include "bench/harness/machine.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"
#include "src/base/print.h"

namespace granary::bench {

namespace {

class BenchRun {
 public:
  BenchRun(const BenchCommand& command, const FlagValues& flags, const Settings& settings)
      : command_(command),
        flags_(flags),
        settings_(settings),
        plan_(plan_from(settings, flags)),
        repeats_(settings.share.in_cluster ? 1 : flags.integer("repeat")) {}

  ExitCode run();

 private:
  Status prepare();
  Status measure_one(std::uint64_t repeat);
  void verify();
  /// Whether another process has started this one, and shows the results of all nodes.
  bool driven() const { return settings_.rendezvous != nullptr; }
  Status meet(Meeting meeting);
  ExitCode report();

  const BenchCommand& command_;
  const FlagValues& flags_;
  const Settings& settings_;
  const RunPlan plan_;
  const std::uint64_t repeats_;
  const base::TscClock clock_ = base::TscClock::calibrated();
  StopSignals signals_;
  Machine machine_ = describe_machine();
  LoadedWorkload loaded_;
  std::vector<Measurement> runs_;
  bool interrupted_ = false;  ///< whether a signal has ended the runs before all of them were whole
  Status failure_;            ///< the status_of() the workload
};

/// Meets the other nodes, if there are any. A process that has started all nodes brings them together, since it sees
/// which of them has died. Nodes that have loaded also meet through the cluster: only after Cluster::barrier() do they
/// know which tables of the others are sealed.
Status BenchRun::meet(Meeting meeting) {
  if (!driven()) return loaded_.workload->meet();
  const Status met = settings_.rendezvous->await(meeting);
  return met.ok() && meeting == Meeting::kLoaded ? loaded_.workload->meet() : met;
}

/// Makes and loads a workload, unless the data of the last repeat can be used again.
Status BenchRun::prepare() {
  if (loaded_.workload && !loaded_.workload->reload_each_repeat()) return {};
  loaded_.workload.reset();  // before the next one is made, because two loads may not fit
  Result<LoadedWorkload> loaded = make_loaded(command_, settings_, flags_);
  if (!loaded.ok()) return loaded.status();
  loaded_ = std::move(*loaded);
  return {};
}

Status BenchRun::measure_one(std::uint64_t repeat) {
  if (Status ready = prepare(); !ready.ok()) return ready;
  // The others have met long before a node that comes back.
  if (Status met = settings_.returned() ? Status() : meet(Meeting::kLoaded); !met.ok()) return met;
  if (signals_.requested()) {  // while reloading: report the repeats there are
    interrupted_ = true;
    return {};
  }
  if (plan_.progress) {
    base::print(stderr, "[run {} of {}]  {} worker{}, {} s after {} s of warm-up; loaded in {:.1f} s\n", repeat + 1,
                repeats_, plan_.workers, plan_.workers == 1 ? "" : "s", plan_.seconds, plan_.warmup_seconds,
                loaded_.load_seconds);
  }
  const bool times_itself = settings_.time_line != nullptr && !driven();
  if (times_itself && !settings_.returned())
    settings_.time_line->begin(base::monotonic_ns() + static_cast<std::uint64_t>(plan_.warmup_seconds * 1e9));
  RunPlan plan = plan_;
  if (!loaded_.workload->reload_each_repeat()) plan.runs_on_this_data = repeats_ - repeat;
  Result<Measurement> measured = measure(*loaded_.workload, plan, clock_, signals_);
  if (!measured.ok()) return measured.status();
  if (Status met = meet(Meeting::kMeasured); !met.ok()) return met;
  // A run that was interrupted before it measured anything is no result. But the process that has started all nodes
  // waits for a report of each.
  if (measured->elapsed_ns != 0 || driven()) {
    runs_.push_back(std::move(*measured));
    runs_.back().load_seconds = loaded_.load_seconds;
    if (times_itself && settings_.returned())
      runs_.back().lost_life = {settings_.time_line, &settings_.time_line->lost_account()};
    const bool last_of_this_data = loaded_.workload->reload_each_repeat() || repeat + 1 == repeats_;
    const bool sound = status_of(*loaded_.workload).ok();
    if (settings_.verify && last_of_this_data && sound && !signals_.requested()) verify();
  }
  const Status met = meet(Meeting::kChecked);
  if (met.ok() && times_itself) settings_.time_line->remove_file();
  return met;
}

void BenchRun::verify() {
  if (plan_.progress) base::print(stderr, "[verifying]\n");
  runs_.back().findings = loaded_.workload->verify();
  runs_.back().verified = !runs_.back().findings.empty();
}

ExitCode BenchRun::report() {
  const NodeShare& share = settings_.share;
  const std::string node =
      share.in_cluster ? fmt::format("node {} of {}, ", settings_.cluster.node, share.nodes) : std::string();
  const std::string title =
      fmt::format("granary bench {}, {}{} worker{}, {}{}", command_.name, node, settings_.workers,
                  settings_.workers == 1 ? "" : "s", base::version_text(), interrupted_ ? "; interrupted" : "");
  if (!driven()) note_build_type();
  const ReportInput input{command_, flags_, settings_, machine_, loaded_.workload->scale_factor(), runs_, interrupted_};
  const std::string_view why_unverified = !flags_.enabled("verify") ? kUnasked
                                          : !failure_.ok()          ? "the run failed"
                                          : interrupted_            ? kInterrupted
                                                                    : kNotBack;
  const ExitCode written =
      bench::report(driven() ? "" : result_text(title, runs_, why_unverified), flags_.text("json"), json_report(input));
  if (written != ExitCode::kOk) return written;
  const ExitCode found = check_findings(runs_);
  if (found != ExitCode::kOk || driven()) return found;
  // A node that was started by hand cannot tell whether another node was killed on purpose. 'cluster merge' judges
  // that.
  const bool by_hand = settings_.share.in_cluster && settings_.time_line == nullptr;
  return check_given_up(runs_, by_hand || settings_.time_line != nullptr ? NodesDie::kYes : NodesDie::kNo);
}

ExitCode BenchRun::run() {
  if (const Status writable = check_writable(flags_.text("json")); !writable.ok()) {
    return refuse(ExitCode::kEnvironment, writable.message());
  }
  for (std::uint64_t repeat = 0; repeat < repeats_ && !signals_.requested(); ++repeat) {
    const Status done = measure_one(repeat);
    if (loaded_.workload) failure_ = status_of(*loaded_.workload);
    if (!done.ok() && failure_.ok())
      return refuse(exit_code_of(done), (settings_.share.in_cluster ? in_flags_of_node(done) : done).message());
    if (!failure_.ok()) break;  // no further run can come to its end
  }
  // This error is reported last and sets the exit code, because it explains requests and checks that failed.
  if (!failure_.ok()) {
    if (!runs_.empty()) static_cast<void>(report());
    return refuse(exit_code_of(failure_), failure_.message());
  }
  if (runs_.empty()) return interrupted(signals_);
  interrupted_ |= leave_out_interrupted(runs_) || (signals_.requested() && runs_.size() < repeats_);
  return report();
}

}  // namespace

ExitCode run_bench(const BenchCommand& command, const FlagValues& flags) {
  Result<Settings> settings = settings_from(command, flags);
  if (!settings.ok()) return refuse(exit_code_of(settings.status()), settings.status().message());
  if (command.run_instead) return command.run_instead(*settings, flags);
  return BenchRun(command, flags, *settings).run();
}

}  // namespace granary::bench
