#include "bench/cluster/run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/cluster/apart.h"
#include "bench/cluster/drive.h"
#include "bench/cluster/merge.h"
#include "bench/cluster/node_table.h"
#include "bench/cluster/node_report.h"
#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"

namespace granary::bench::cluster {

namespace {

using Json = nlohmann::ordered_json;

/// One repeat: of each node, and of all.
struct Repeat {
  std::vector<Measurement> nodes;
  Measurement all;
  double scale_factor = 0;  ///< of all data: each node says so
};

bool same_types(const Measurement& one, const Measurement& other) {
  return std::equal(one.types.begin(), one.types.end(), other.types.begin(), other.types.end(),
                    [](const TypeResult& a, const TypeResult& b) { return a.name == b.name; });
}

/// Whether both took part in one start of the cluster, if it was Granary's (not a baseline's).
bool same_start(const Measurement& one, const Measurement& other) {
  if (!one.cluster || !other.cluster) return one.cluster.has_value() == other.cluster.has_value();
  return one.cluster->start == other.cluster->start;
}

Result<Repeat> read_reports(const NodesRun& run, const std::vector<std::string>& paths) {
  Repeat repeat;
  for (std::size_t node = 0; node < paths.size(); ++node) {
    const Result<Json> report = read_report(paths[node], run.labels[node]);
    if (!report.ok()) return report.status();
    Result<Measurement> measured = measurement_of(*report);
    if (!measured.ok()) return measured.status();
    repeat.nodes.push_back(std::move(*measured));
    repeat.scale_factor = report->value("scalefactor", 0.0);
    if (!same_types(repeat.nodes.front(), repeat.nodes.back())) {
      return Status(StatusCode::kDamaged,
                    fmt::format("{} reports other types of transactions than {}; is its report of "
                                "the same version and run?",
                                run.labels[node], run.labels.front()));
    }
    if (!same_start(repeat.nodes.front(), repeat.nodes.back())) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("{} and {} report different runs: they were not started together", run.labels.front(),
                                run.labels[node]));
    }
  }
  repeat.all = merged(repeat.nodes);
  return repeat;
}

/// What the nodes have left of one run, each in a file; removed with it.
struct Reports {
  std::shared_ptr<ScratchDirectory> directory;
  std::vector<std::string> paths;
};

/// Runs all nodes once. `*driven` tells how they ended.
Result<Reports> run_once(const NodesRun& run, const StopSignals& signals, DriveResult* driven) {
  auto directory = ScratchDirectory::make(std::filesystem::temp_directory_path().string());
  if (!directory.ok()) return directory.status();
  Reports reports{std::move(*directory), {}};
  std::vector<NodeCommand> commands;
  for (std::size_t node = 0; node < run.labels.size(); ++node) {
    reports.paths.push_back(fmt::format("{}/node-{}.json", reports.directory->path(), node));
    commands.push_back({run.labels[node], run.words(node, reports.paths.back())});
  }
  // What a command joins by itself, it also wants of nodes that go on after another's death.
  constexpr int kGoOn_ms = 2'000;
  *driven = drive(commands, signals, {.go_on_ms = run.command.join ? kGoOn_ms : 0});
  return reports;
}

bool came_to_an_end(const DriveResult& driven) {
  return driven.code == ExitCode::kOk || driven.code == ExitCode::kCheckFailed;
}

/// How a run ended that has no result.
ExitCode failed(const Status& status, ExitCode code) {
  return refuse(code == ExitCode::kOk ? exit_code_of(status) : code, status.message());
}

/// One run, of which the command itself makes something, also of what is left when nodes have died: a check that fails then counts for
/// more than their death.
ExitCode run_and_join(const NodesRun& run, const StopSignals& signals) {
  DriveResult driven;
  const Result<Reports> reports = run_once(run, signals, &driven);
  if (!reports.ok()) return failed(reports.status(), driven.code);
  const bool whole = came_to_an_end(driven);
  const ExitCode joined = run.command.join(run.flags, {.files = reports->paths, .whole = whole});
  if (whole) return joined;
  const ExitCode ended = refuse(driven.code, driven.message);
  return joined == ExitCode::kCheckFailed ? joined : ended;
}

Json nodes_json(const NodesRun& run, const std::vector<Repeat>& repeats) {
  Json list = Json::array();
  for (const Repeat& repeat : repeats) {
    Json nodes = Json::object();
    for (std::size_t i = 0; i < repeat.nodes.size(); ++i) nodes[run.labels[i]] = repeat_json(repeat.nodes[i]);
    list.push_back(std::move(nodes));
  }
  return list;
}

/// `apart`: if the nodes were not started by this process.
ExitCode report(const NodesRun& run, const std::vector<Repeat>& repeats, const Apart* apart = nullptr) {
  std::vector<Measurement> totals;
  for (const Repeat& repeat : repeats) totals.push_back(repeat.all);
  const Repeat& median = repeats[median_by_throughput(totals)];
  const Machine machine = describe_machine();
  Json json =
      json_report({run.command, run.flags, run.settings, machine, median.scale_factor, totals, run.labels.size()});
  json["granary"]["nodes"] = nodes_json(run, repeats);
  if (apart != nullptr) put_into(json, *apart);
  const std::string title =
      fmt::format("granary cluster {} {}, {} nodes of {} worker{} each, {}", apart == nullptr ? "run" : "merge",
                  run.command.name, run.labels.size(), run.settings.workers, run.settings.workers == 1 ? "" : "s",
                  apart == nullptr ? base::version_text() : apart->version);
  if (apart == nullptr) note_build_type();
  const ExitCode written =
      bench::report(result_text(title, totals) + "\n" + node_table(run.labels, median.nodes, median.all),
                    run.flags.text("json"), json);
  if (written != ExitCode::kOk) return written;
  const ExitCode found = check_findings(totals);
  return found == ExitCode::kOk ? check_memory_sufficed(totals) : found;
}

}  // namespace

ExitCode run_nodes(const NodesRun& run) {
  if (const Status writable = check_writable(run.flags.text("json")); !writable.ok())
    return refuse(ExitCode::kEnvironment, writable.message());
  StopSignals signals;
  signals.ask_first(true);
  if (run.command.join) return run_and_join(run, signals);
  std::vector<Repeat> repeats;
  for (std::uint64_t i = 0; i < run.flags.integer("repeat") && !signals.requested(); ++i) {
    DriveResult driven;
    const Result<Reports> reports = run_once(run, signals, &driven);
    if (!reports.ok()) return failed(reports.status(), driven.code);
    if (!came_to_an_end(driven)) return refuse(driven.code, driven.message);
    Result<Repeat> repeat = read_reports(run, reports->paths);
    if (!repeat.ok()) return failed(repeat.status(), driven.code);
    repeats.push_back(std::move(*repeat));
  }
  return report(run, repeats);
}

ExitCode merge_nodes(const NodesRun& run, const std::vector<std::uint16_t>& nodes,
                     const std::vector<std::string>& reports) {
  if (const Status apart = check_result_apart(run.flags.text("json"), reports); !apart.ok())
    return failed(apart, ExitCode::kOk);
  if (const Status writable = check_writable(run.flags.text("json")); !writable.ok())
    return refuse(ExitCode::kEnvironment, writable.message());
  const Result<Apart> apart = read_apart(run.command.name, nodes, run.labels, reports);
  if (!apart.ok()) return failed(apart.status(), ExitCode::kOk);
  const Result<Repeat> repeat = read_reports(run, reports);
  if (!repeat.ok()) return failed(repeat.status(), ExitCode::kOk);
  Settings settings = run.settings;
  if (const auto workers = apart->parameters.find("workers");
      workers != apart->parameters.end() && workers->is_number_unsigned())
    settings.workers = workers->get<std::uint32_t>();
  return report({run.command, run.flags, settings, run.labels, {}}, {*repeat}, &*apart);
}

}  // namespace granary::bench::cluster
