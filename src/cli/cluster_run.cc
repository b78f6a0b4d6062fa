#include "src/cli/cluster_run.h"

#include <filesystem>

#include <fmt/format.h>

#include "bench/cluster/node_directories.h"
#include "bench/cluster/run.h"
#include "bench/harness/cluster_flags.h"
#include "bench/harness/comma_list.h"
#include "bench/harness/flag_effects.h"
#include "bench/harness/trial.h"
#include "cluster_config/load.h"
#include "src/cli/commands.h"
#include "src/node/node_fabric.h"

namespace granary::cli {
namespace {

/// The cluster file, and the labels of its nodes in reports.
struct Nodes {
  cluster_config::ClusterConfig config;
  std::vector<std::string> labels;
};

Result<Nodes> nodes_of(const bench::FlagValues& flags) {
  auto config = cluster_config::load(flags.text("cluster"));
  if (!config.ok()) return config.status();
  Nodes nodes{std::move(*config), {}};
  for (const cluster_config::NodeConfig& node : nodes.config.nodes)
    nodes.labels.push_back(fmt::format("node {}", node.id));
  return nodes;
}

/// Returns an error if a node is on another host, where this process cannot start it.
Status check_one_host(const cluster_config::ClusterConfig& config) {
  for (const cluster_config::NodeConfig& node : config.nodes) {
    if (node.host == config.nodes.front().host) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("{}: nodes {} and {} are on different hosts, and 'cluster run' starts those of this one; run "
                        "'granary bench NAME --cluster=FILE --node=N' on each (docs/operations.md, Several hosts)",
                        config.file, config.nodes.front().id, node.id)};
  }
  return {};
}

/// Returns the flags that were given, except those of which each node has its own.
std::vector<std::string> passed_on(const bench::FlagValues& flags) {
  std::vector<std::string> words;
  for (const auto& [name, entry] : flags.all()) {
    if (entry.given && name != "json" && name != "repeat") words.push_back(fmt::format("--{}={}", name, entry.text));
  }
  return words;
}

/// Returns which node is killed, and when, if the flags ask for it.
Result<std::optional<bench::cluster::KillPlan>> kill_plan(const bench::BenchCommand& command,
                                                          const bench::FlagValues& flags,
                                                          const cluster_config::ClusterConfig& config) {
  using Plan = std::optional<bench::cluster::KillPlan>;
  const auto kill = bench::cluster::kill_from(command, flags, config);
  if (!kill.ok()) return kill.status();
  if (!*kill) return Plan();
  return Plan({.kill = **kill, .open_board = [&config] {
                 Status made = db::make_run_directory(config);
                 return made.ok() ? db::open_board(config) : Result<std::unique_ptr<membership::Board>>(made);
               }});
}

}  // namespace

bench::ExitCode run_on_nodes(const bench::BenchCommand& command, const bench::FlagValues& flags) {
  const std::string words = fmt::format("cluster run {}", command.name);
  if (flags.given("node") || flags.given("reports") || flags.text("cluster").empty())
    return bench::refuse(bench::ExitCode::kUsage,
                         fmt::format("{}: expected --cluster=FILE, no --node and no --reports", words));
  if (flags.given("driven"))
    return bench::refuse(bench::ExitCode::kUsage,
                         fmt::format("{}: --driven: each node gets it without being told; leave it out", words));
  for (const std::string& flag : command.alone_flags) {
    if (!flags.given(flag)) continue;
    return bench::refuse(
        bench::ExitCode::kUsage,
        fmt::format("{}: --{} runs nothing on nodes; use it with 'granary bench {}'", words, flag, command.name));
  }
  if (const Status followed = bench::check_cluster_flags(flags); !followed.ok())
    return bench::refuse(bench::ExitCode::kUsage, followed.message());
  const auto variants = bench::variants_from(command, flags);
  if (!variants.ok()) return bench::refuse(bench::ExitCode::kUsage, variants.status().message());
  if (const Status effective = bench::check_flag_effects(command, flags, *variants); !effective.ok())
    return bench::refuse(bench::ExitCode::kUsage, effective.message());
  if (const auto protocol = bench::protocol_from(command, flags); !protocol.ok())
    return bench::refuse(bench::ExitCode::kUsage, protocol.status().message());
  const auto nodes = nodes_of(flags);
  const Status status = nodes.ok() ? check_one_host(nodes->config) : nodes.status();
  if (!status.ok()) return bench::refuse(bench::exit_code_of(status), status.message());
  auto kill = kill_plan(command, flags, nodes->config);
  if (!kill.ok()) return bench::refuse(bench::exit_code_of(kill.status()), kill.status().message());
  const auto kills = bench::cluster::kills_from(command, flags, nodes->config);
  if (!kills.ok()) return bench::refuse(bench::exit_code_of(kills.status()), kills.status().message());
  std::optional<bench::cluster::RepeatedDeaths> kills_plan;
  if (*kills != 0) kills_plan = {*kills, flags.integer("seed")};
  bench::Settings settings;
  settings.workers = static_cast<std::uint32_t>(flags.integer("workers"));
  settings.variants = *variants;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto node_words = [&](std::size_t node, const std::string& report) {
    std::vector<std::string> all{program, "bench", command.name};
    for (std::string& word : passed_on(flags)) all.push_back(std::move(word));
    all.insert(all.end(),
               {fmt::format("--node={}", nodes->config.nodes[node].id), "--driven", "--repeat=1", "--json=" + report});
    return all;
  };
  return bench::cluster::run_nodes({command, flags, settings, nodes->labels, node_words,
                                    bench::cluster::directories_of(nodes->config), std::move(*kill), kills_plan});
}

std::string cluster_run_help() {
  std::string text =
      "granary cluster run NAME --cluster=FILE [flags]: a benchmark on all nodes of a cluster file\n\n"
      "Starts a process for each node, on this host, brings them together before and after the requests, and reports\n"
      "their results as one, with a line a node. The flags are those of 'granary bench NAME'; --workers counts for\n"
      "each node, at most as many as the file gives it. Each repeat starts the nodes anew, with empty directories;\n"
      "those of the last repeat stay, and must be removed before the next run. On several hosts, start\n"
      "each node by 'granary bench NAME --cluster=FILE --node=N --json=REPORT', and see 'granary cluster merge\n"
      "--help'.\n\n"
      "With --kill=NODE@SECONDS a node's process is killed so many seconds after the measurement began, and with\n"
      "--restart_after=SECONDS started again so many seconds later. The result then tells when the others noticed,\n"
      "when the node was recovered, served and was used again, how much was committed meanwhile, by 50 ms and node,\n"
      "and of each such figure the median and the greatest over all repeats. The nodes need 'data_directory'.\n"
      "With --kills=N (append) nodes are killed and come back N times, and what all clients saw is one history.\n\n";
  for (const bench::BenchCommand* command : bench_commands()) {
    if (command->on_nodes) text += fmt::format("  {:<9} {}\n", command->name, command->summary);
  }
  return text;
}

bench::ExitCode merge_reports(const bench::BenchCommand& command, const bench::FlagValues& flags) {
  const auto refuse = [&](const std::string& message) {
    return bench::refuse(bench::ExitCode::kUsage, fmt::format("cluster merge {}: {}", command.name, message));
  };
  if (command.join) return refuse("nodes of several hosts do not run this benchmark");
  if (flags.text("cluster").empty() || flags.text("reports").empty())
    return refuse("expected --cluster=FILE and --reports=FILE,FILE,...");
  for (const auto& [name, entry] : flags.all()) {
    if (entry.given && name != "cluster" && name != "reports" && name != "json")
      return refuse(
          fmt::format("--{}: nothing runs here, and the reports tell with which flags the nodes ran; leave "
                      "it out",
                      name));
  }
  const auto nodes = nodes_of(flags);
  if (!nodes.ok()) return bench::refuse(bench::exit_code_of(nodes.status()), nodes.status().message());
  std::vector<std::uint16_t> ids;
  for (const cluster_config::NodeConfig& node : nodes->config.nodes) ids.push_back(node.id);
  const auto reports = bench::comma_list("reports", flags.text("reports"));
  if (!reports.ok()) return refuse(reports.status().message());
  return bench::cluster::merge_nodes({command, flags, {}, nodes->labels, {}}, ids, *reports);
}

std::string cluster_merge_help() {
  return "granary cluster merge NAME --cluster=FILE --reports=REPORT,REPORT,... [--json=FILE]\n\n"
         "Makes one result of a benchmark whose nodes were started one by one, each on its host, by\n"
         "'granary bench NAME --cluster=FILE --node=N --json=REPORT' with the same flags. The reports, brought to one\n"
         "host, are named in the order of the nodes' ids. Reports of nodes that were not started together, or with "
         "other\n"
         "flags or versions, are refused. Conditions that only all nodes' sums can tell are judged here: exit code 1 "
         "if\n"
         "one does not hold.\n";
}

const std::vector<ClusterBench>& cluster_benches() {
  static const std::vector<ClusterBench> all{
      {"run", "runs a benchmark on all nodes of a cluster on this host", cluster_run_help, run_on_nodes},
      {"merge", "makes one result of nodes that were started on several hosts", cluster_merge_help, merge_reports}};
  return all;
}

const ClusterBench* find_cluster_bench(std::string_view name) {
  for (const ClusterBench& each : cluster_benches()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace granary::cli
