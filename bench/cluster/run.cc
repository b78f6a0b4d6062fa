#include "bench/cluster/run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/cluster/apart.h"
#include "bench/cluster/drive.h"
#include "bench/cluster/kill_run.h"
#include "bench/cluster/lost_life.h"
#include "bench/cluster/merge.h"
#include "bench/cluster/node_directories.h"
#include "bench/cluster/node_table.h"
#include "bench/cluster/node_report.h"
#include "bench/cluster/recovery_report.h"
#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"

namespace granary::bench::cluster {

namespace {

using Json = nlohmann::ordered_json;

/// One repeat: the measurements of each node, and of all.
struct Repeat {
  std::vector<std::string> labels;  ///< the labels of the nodes that came to the end
  std::vector<Measurement> nodes;
  Measurement all;
  double scale_factor = 0;  ///< the scale of all data, which each node reports
  std::optional<KilledRun> killed = {};
};

bool same_types(const Measurement& one, const Measurement& other) {
  return std::equal(one.types.begin(), one.types.end(), other.types.begin(), other.types.end(),
                    [](const TypeResult& a, const TypeResult& b) { return a.name == b.name; });
}

/// Whether both nodes took part in one start of the cluster, if it was Granary's (not a baseline's).
bool same_start(const Measurement& one, const Measurement& other) {
  if (!one.cluster || !other.cluster) return one.cluster.has_value() == other.cluster.has_value();
  return one.cluster->start == other.cluster->start;
}

/// Whether the node's report is that of a life which began later than those of the others.
bool came_back(const NodesRun& run, std::size_t node) { return run.kill && run.kill->kill.node == node; }

/// Returns an error if the reports of two nodes of one run do not fit together.
Status compare(const NodesRun& run, const Repeat& repeat, std::size_t one, std::size_t other) {
  const std::string &label = repeat.labels[one], &other_label = repeat.labels[other];
  if (!same_types(repeat.nodes[one], repeat.nodes[other])) {
    return {StatusCode::kDamaged,
            fmt::format("{} reports other types of transactions than {}; is its report of the same version and run?",
                        other_label, label)};
  }
  const bool began_later = came_back(run, one) || came_back(run, other) || repeat.nodes[one].lost_life != nullptr ||
                           repeat.nodes[other].lost_life != nullptr;
  if (began_later || same_start(repeat.nodes[one], repeat.nodes[other])) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("{} and {} report different runs: they were not started together", label, other_label)};
}

/// Reads the reports. A node that was killed and not started again has left none.
Result<Repeat> read_reports(const NodesRun& run, const std::vector<std::string>& paths) {
  Repeat repeat;
  for (std::size_t node = 0; node < paths.size(); ++node) {
    if (came_back(run, node) && !run.kill->kill.restart_after_seconds) continue;
    const Result<Json> report = read_report(paths[node], run.labels[node]);
    if (!report.ok()) return report.status();
    Result<Measurement> measured = measurement_of(*report);
    if (!measured.ok()) return measured.status();
    repeat.labels.push_back(run.labels[node]);
    repeat.nodes.push_back(std::move(*measured));
    repeat.scale_factor = report->value("scalefactor", 0.0);
    for (std::size_t earlier = 0; earlier + 1 < repeat.nodes.size(); ++earlier) {
      if (Status fits = compare(run, repeat, earlier, repeat.nodes.size() - 1); !fits.ok()) return fits;
    }
  }
  return repeat;
}

/// The reports that the nodes have left of one run, each in a file; the files are removed with this.
struct Reports {
  std::shared_ptr<ScratchDirectory> directory;
  std::vector<std::string> paths;
};

/// Runs all nodes once. Sets `*driven` to how they ended.
Result<Reports> run_once(const NodesRun& run, const StopSignals& signals, const DriveOptions& options,
                         DriveResult* driven) {
  // A command with a `join` has its nodes note what they do while they do it, and these notes outlive a command that is
  // killed. The reports of other commands are complete or worth nothing.
  const WhenKilled when_killed = run.command.join ? WhenKilled::kKept : WhenKilled::kRemoved;
  auto directory = ScratchDirectory::make(std::filesystem::temp_directory_path().string(), when_killed);
  if (!directory.ok()) return directory.status();
  Reports reports{std::move(*directory), {}};
  std::vector<NodeCommand> commands;
  for (std::size_t node = 0; node < run.labels.size(); ++node) {
    reports.paths.push_back(fmt::format("{}/node-{}.json", reports.directory->path(), node));
    commands.push_back({run.labels[node], run.words(node, reports.paths.back())});
  }
  *driven = drive(commands, signals, options);
  return reports;
}

bool came_to_an_end(const DriveResult& driven) {
  return driven.code == ExitCode::kOk || driven.code == ExitCode::kCheckFailed;
}

/// Adds the account of a node that was started by hand in the place of a process that was killed.
Status add_lost_lives(Repeat& repeat) {
  std::vector<std::size_t> victims;
  for (std::size_t node = 0; node < repeat.nodes.size(); ++node) {
    if (repeat.nodes[node].lost_life) victims.push_back(node);
  }
  if (victims.size() > 1) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--reports: {} and {} were both killed and started again, and the check can only tell what one "
                        "killed node had done",
                        repeat.labels[victims[0]], repeat.labels[victims[1]])};
  }
  for (const std::size_t victim : victims) add_lost_life(*repeat.nodes[victim].lost_life, repeat.nodes, victim);
  return {};
}

/// Returns the exit code of a run that has no result.
ExitCode failed(const Status& status, ExitCode code) {
  return refuse(code == ExitCode::kOk ? exit_code_of(status) : code, status.message());
}

/// Empties the directories if the nodes refuse their flags. They have then written only files that say whose the
/// directories are, and these would keep the next run from using them. The directories were empty when the run began.
void empty_if_refused(const NodesRun& run, ExitCode code) {
  if (code == ExitCode::kUsage) static_cast<void>(empty(run.directories));
}

/// Runs the nodes once and lets the command join what they leave, also if nodes have died. A check that fails then
/// counts for more than their death.
ExitCode run_and_join(const NodesRun& run, const StopSignals& signals) {
  // Such a command also uses the files of nodes that go on after another's death.
  DriveOptions options{.go_on_ms = 2'000};
  if (run.kills) options.deaths = *run.kills;
  DriveResult driven;
  const Result<Reports> reports = run_once(run, signals, options, &driven);
  if (!reports.ok()) return failed(reports.status(), driven.code);
  const bool whole = came_to_an_end(driven);
  empty_if_refused(run, driven.code);
  const ExitCode joined =
      run.command.join(run.flags, {.files = reports->paths, .whole = whole, .returns = driven.returns});
  if (run.kills && whole) {
    if (const Status emptied = empty(run.directories); !emptied.ok()) return failed(emptied, joined);
  }
  if (whole) return joined;
  const ExitCode ended = refuse(driven.code, driven.message);
  return joined == ExitCode::kCheckFailed ? joined : ended;
}

Json nodes_json(const std::vector<Repeat>& repeats) {
  Json list = Json::array();
  for (const Repeat& repeat : repeats) {
    Json nodes = Json::object();
    for (std::size_t i = 0; i < repeat.nodes.size(); ++i) nodes[repeat.labels[i]] = repeat_json(repeat.nodes[i]);
    list.push_back(std::move(nodes));
  }
  return list;
}

std::vector<KilledRun> killed_runs(const std::vector<Repeat>& repeats) {
  std::vector<KilledRun> runs;
  for (const Repeat& repeat : repeats) {
    if (repeat.killed) runs.push_back(*repeat.killed);
  }
  return runs;
}

/// Returns the nodes' figures of the repeat `shown` as text and, if a node was killed, those of its recovery.
std::string nodes_text(const NodesRun& run, const std::vector<Repeat>& repeats, std::size_t shown) {
  const Repeat& repeat = repeats[shown];
  std::string text = node_table(repeat.labels, repeat.nodes, repeat.all);
  if (!repeat.killed) return text;
  const bool is_back = run.kill->kill.restart_after_seconds.has_value();
  text += fmt::format(
      "{} {}\n\n", run.labels[run.kill->kill.node],
      is_back ? "was killed; its figures above count since it came back" : "was killed, and has left no figures");
  return text + recovery_text(run.labels, killed_runs(repeats), shown);
}

/// Prints and writes the result. `apart` is set if the nodes were not started by this process. `interrupted` is
/// ReportInput::interrupted.
ExitCode report(const NodesRun& run, const std::vector<Repeat>& repeats, bool interrupted,
                const Apart* apart = nullptr) {
  std::vector<Measurement> totals;
  for (const Repeat& repeat : repeats) totals.push_back(repeat.all);
  const std::size_t median = median_by_throughput(totals);
  const Machine machine = describe_machine();
  Json json = json_report({run.command, run.flags, run.settings, machine, repeats[median].scale_factor, totals,
                           interrupted, run.labels.size()});
  json["granary"]["nodes"] = nodes_json(repeats);
  if (run.kill) json["granary"]["killed"] = recovery_json(run.labels, killed_runs(repeats));
  if (apart != nullptr) put_into(json, *apart);
  const std::string title =
      fmt::format("granary cluster {} {}, {} nodes of {} worker{} each, {}{}", apart == nullptr ? "run" : "merge",
                  run.command.name, run.labels.size(), run.settings.workers, run.settings.workers == 1 ? "" : "s",
                  apart == nullptr ? base::version_text() : apart->version, interrupted ? "; interrupted" : "");
  if (apart == nullptr) note_build_type();
  const bool asked = apart == nullptr ? run.flags.declared("verify") && run.flags.enabled("verify")
                                      : apart->parameters.value("verify", true);
  const std::string text = result_text(title, totals, !asked ? kUnasked : interrupted ? kInterrupted : kNotBack);
  const ExitCode written = bench::report(text + "\n" + nodes_text(run, repeats, median), run.flags.text("json"), json);
  if (written != ExitCode::kOk) return written;
  const ExitCode found = check_findings(totals);
  if (found != ExitCode::kOk) return found;
  const bool nodes_die = run.kill.has_value() || (apart != nullptr && apart->keep_accounts);
  return check_given_up(totals, nodes_die ? NodesDie::kYes : NodesDie::kNo);
}

/// Runs one repeat, from start to end. If it yields none, sets `*code` to how the nodes ended.
Result<Repeat> run_repeat(const NodesRun& run, const StopSignals& signals, ExitCode* code) {
  std::unique_ptr<KillRun> kill;
  if (run.kill) {
    auto board = run.kill->open_board();
    if (!board.ok()) return board.status();
    auto made = KillRun::make(run.kill->kill, run.labels.size(), run.flags, std::move(*board));
    if (!made.ok()) return made.status();
    kill = std::move(*made);
  }
  DriveResult driven;
  const Result<Reports> reports = run_once(run, signals, kill ? kill->options() : DriveOptions(), &driven);
  *code = driven.code;
  if (!reports.ok()) return reports.status();
  if (!came_to_an_end(driven)) return Status(StatusCode::kUnavailable, driven.message);
  Result<Repeat> repeat = read_reports(run, reports->paths);
  if (!repeat.ok()) return repeat;
  if (kill) {
    auto killed = kill->end();
    if (!killed.ok()) return killed.status();
    repeat->killed = std::move(*killed);
    if (repeat->nodes.size() == run.labels.size())
      add_lost_life(kill->lost_account(), repeat->nodes, run.kill->kill.node);
  }
  repeat->all = merged(repeat->nodes);
  return repeat;
}

}  // namespace

ExitCode run_nodes(const NodesRun& run) {
  if (const Status writable = check_writable(run.flags.text("json")); !writable.ok())
    return refuse(ExitCode::kEnvironment, writable.message());
  if (run.command.check_files) {
    if (const Status writable = run.command.check_files(run.flags); !writable.ok())
      return refuse(ExitCode::kEnvironment, writable.message());
  }
  StopSignals signals;
  signals.ask_first(true);
  if (const Status fresh = check_empty(run.directories); !fresh.ok()) return failed(fresh, ExitCode::kOk);
  if (run.command.join) return run_and_join(run, signals);
  std::vector<Repeat> repeats;
  const std::uint64_t count = run.flags.integer("repeat");
  while (repeats.size() < count && !signals.requested()) {
    ExitCode code = ExitCode::kOk;
    Result<Repeat> repeat = run_repeat(run, signals, &code);
    if (!repeat.ok()) {
      empty_if_refused(run, code);
      return failed(repeat.status(), code);
    }
    if (repeat->all.elapsed_ns == 0 && !signals.requested()) {
      return failed({StatusCode::kUnavailable, "a signal has ended the nodes before they had measured anything"},
                    ExitCode::kOk);
    }
    if (repeat->all.elapsed_ns != 0) repeats.push_back(std::move(*repeat));
    if (!run.kill && repeats.size() == count) continue;
    if (const Status emptied = empty(run.directories); !emptied.ok()) return failed(emptied, code);
  }
  if (repeats.empty()) return interrupted(signals);
  const bool cut_short = repeats.back().all.interrupted || repeats.size() < count;
  if (repeats.back().all.interrupted && repeats.size() > 1) repeats.pop_back();
  return report(run, repeats, cut_short);
}

ExitCode merge_nodes(const NodesRun& run, const std::vector<std::uint16_t>& nodes,
                     const std::vector<std::string>& reports) {
  if (const Status apart = check_result_apart(run.flags.text("json"), reports); !apart.ok())
    return failed(apart, ExitCode::kOk);
  if (const Status writable = check_writable(run.flags.text("json")); !writable.ok())
    return refuse(ExitCode::kEnvironment, writable.message());
  const Result<Apart> apart = read_apart(run.command.name, nodes, run.labels, reports);
  if (!apart.ok()) return failed(apart.status(), ExitCode::kOk);
  Result<Repeat> repeat = read_reports(run, reports);
  if (!repeat.ok()) return failed(repeat.status(), ExitCode::kOk);
  if (const Status added = add_lost_lives(*repeat); !added.ok()) return failed(added, ExitCode::kOk);
  repeat->all = merged(repeat->nodes);
  Settings settings = run.settings;
  if (const auto workers = apart->parameters.find("workers");
      workers != apart->parameters.end() && workers->is_number_unsigned())
    settings.workers = workers->get<std::uint32_t>();
  return report({run.command, run.flags, settings, run.labels, {}}, {*repeat}, /*interrupted=*/false, &*apart);
}

}  // namespace granary::bench::cluster
