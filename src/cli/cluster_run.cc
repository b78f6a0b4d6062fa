#include "src/cli/cluster_run.h"

#include <filesystem>

#include <fmt/format.h>

#include "bench/cluster/run.h"
#include "bench/harness/trial.h"
#include "cluster_config/load.h"
#include "src/cli/commands.h"

namespace granary::cli {
namespace {

/// The flags that were given, but for those that each node has its own of.
std::vector<std::string> passed_on(const bench::FlagValues& flags) {
  std::vector<std::string> words;
  for (const auto& [name, entry] : flags.all()) {
    if (entry.given && name != "json" && name != "repeat") words.push_back(fmt::format("--{}={}", name, entry.text));
  }
  return words;
}

}  // namespace

bench::ExitCode run_on_nodes(const bench::BenchCommand& command, const bench::FlagValues& flags) {
  const std::string words = fmt::format("cluster run {}", command.name);
  if (!flags.declared("cluster"))
    return bench::refuse(bench::ExitCode::kUsage, fmt::format("{}: this benchmark runs in one process only", words));
  if (flags.given("node") || flags.text("cluster").empty())
    return bench::refuse(bench::ExitCode::kUsage, fmt::format("{}: expected --cluster=FILE and no --node", words));
  if (const auto protocol = bench::protocol_from(command, flags); !protocol.ok())
    return bench::refuse(bench::ExitCode::kUsage, protocol.status().message());
  const auto config = cluster_config::load(flags.text("cluster"));
  if (!config.ok()) return bench::refuse(bench::exit_code_of(config.status()), config.status().message());
  std::vector<std::string> labels;
  for (const cluster_config::NodeConfig& node : config->nodes) labels.push_back(fmt::format("node {}", node.id));
  bench::Settings settings;
  settings.workers = static_cast<std::uint32_t>(flags.integer("workers"));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto node_words = [&](std::size_t node, const std::string& report) {
    std::vector<std::string> all{program, "bench", command.name};
    for (std::string& word : passed_on(flags)) all.push_back(std::move(word));
    all.insert(all.end(),
               {fmt::format("--node={}", config->nodes[node].id), "--driven", "--repeat=1", "--json=" + report});
    return all;
  };
  return bench::cluster::run_nodes({command, flags, settings, labels, node_words});
}

std::string cluster_run_help() {
  std::string text =
      "granary cluster run NAME --cluster=FILE [flags]: a benchmark on all nodes of a cluster file\n\n"
      "Starts a process for each node, on this host, brings them together before and after the requests, and reports\n"
      "their results as one, with a line a node. The flags are those of 'granary bench NAME'; --workers counts for "
      "each\n"
      "node, at most as many as the file gives it. Each repeat starts the nodes anew.\n\n";
  for (const bench::BenchCommand* command : bench_commands()) {
    if (command->on_nodes) text += fmt::format("  {:<9} {}\n", command->name, command->summary);
  }
  return text;
}

}  // namespace granary::cli
