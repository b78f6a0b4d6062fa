#include "bench/harness/node_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/cluster_flags.h"
#include "bench/harness/option_flags.h"
#include "bench/harness/rendezvous.h"
#include "cluster_config/load.h"
#include "src/base/options_table.h"
#include "src/db/options_check.h"
#include "src/node/cluster_options.h"

namespace granary::bench {

namespace {

/// Sets the time line that a driven node shares with the others. Turns the check off if a killed node does not come
/// back, because nobody can check its data.
Status set_time_line(Settings& settings) {
  auto line = TimeLine::at(kTimeLineDescriptor);
  if (!line.ok()) return line.status();
  const TimeLineShape& shape = (*line)->shape();
  if (shape.nodes != settings.share.nodes || shape.workers != settings.workers)
    return {StatusCode::kInvalidArgument, "the time line is of a run with other nodes or workers"};
  settings.verify = settings.verify && shape.returns != 0;
  settings.time_line = std::move(*line);
  return {};
}

/// Sets the time line of a node that is started by hand (--account), for the case that it is killed and started again.
Status keep_account(const BenchCommand& command, const cluster_config::NodeConfig& node, const FlagValues& flags,
                    Settings& settings) {
  if (const Status survives = command.survives_kill(flags); !survives.ok()) return survives;
  if (node.data_directory.empty()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--account: node {} keeps nothing that could be recovered; set 'data_directory' in '{}'",
                        node.id, flags.text("cluster"))};
  }
  if (settings.workers > kMostTrackedWorkers) {
    return {StatusCode::kInvalidArgument, fmt::format("--account: --workers={} are too many; {} are the most with it",
                                                      settings.workers, kMostTrackedWorkers)};
  }
  const double window_ns = flags.real("seconds") * 1e9;
  constexpr double kMost_ns = 600e9;  // the time line is kept in memory
  if (window_ns > kMost_ns)
    return {StatusCode::kInvalidArgument, "--account: --seconds is too much; 600 are the most with it"};
  auto line = TimeLine::in_file(flags.text("account"),
                                {.nodes = settings.share.nodes,
                                 .workers = settings.workers,
                                 .victim = settings.share.node,
                                 .returns = 1,
                                 .ticks = (static_cast<std::uint64_t>(window_ns) + kTickNs - 1) / kTickNs});
  if (!line.ok()) return line.status();
  settings.time_line = std::move(*line);
  return {};
}

/// Refuses flags of the nodes of a cluster, which mean nothing without one.
Status check_alone(const FlagValues& flags) {
  const auto refusal = [](const char* why) { return Status(StatusCode::kInvalidArgument, why); };
  if (kills(flags)) return refusal("--kill is for 'granary cluster run'");
  if (flags.declared("restart_after") && flags.given("restart_after"))
    return refusal("--restart_after: nothing is killed; see --kill");
  if (flags.given("start_timeout"))
    return refusal("--start_timeout: there are no other nodes to wait for; see 'granary cluster'");
  return {};
}

}  // namespace

Status set_node(const BenchCommand& command, const FlagValues& flags, Settings& settings) {
  if (!flags.declared("cluster")) return {};
  const std::string& file = flags.text("cluster");
  const std::uint64_t id = flags.integer("node");
  const auto refusal = [](const char* why) { return Status(StatusCode::kInvalidArgument, why); };
  if (file.empty() != (id == 0))
    return refusal("--cluster and --node go together, for one node; 'granary cluster run' starts all of a host");
  if (!flags.text("reports").empty()) return refusal("--reports is for 'granary cluster merge'");
  if (file.empty()) {
    if (const Status fits = check_alone(flags); !fits.ok()) return fits;
  }
  const bool keeps_account = flags.declared("account") && !flags.text("account").empty();
  if (keeps_account && (file.empty() || flags.enabled("driven")))
    return refusal("--account is for nodes that are started by hand: see --cluster and --node");
  if (file.empty()) return flags.enabled("driven") ? refusal("--driven is for 'granary cluster run'") : Status();
  if (flags.given("repeat") && flags.integer("repeat") != 1)
    return refusal("--repeat: a node of a cluster runs once; start all nodes anew");
  const auto config = cluster_config::load(file);
  if (!config.ok()) return config.status();
  const auto node = std::find_if(config->nodes.begin(), config->nodes.end(), [&](const auto& n) { return n.id == id; });
  if (node == config->nodes.end())
    return {StatusCode::kInvalidArgument, fmt::format("--node={}: '{}' has no such node", id, file)};
  if (settings.workers > node->workers) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--workers={}: node {} has {} by '{}'", settings.workers, id, node->workers, file)};
  }
  if (settings.variants.has(Variant::kMemSilo) && !node->data_directory.empty()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--variant=memsilo has no log; node {} has one by 'data_directory' of '{}'", id, file)};
  }
  settings.options.memory_limit_bytes = node->memory_bytes;
  settings.share = {.node = static_cast<std::uint32_t>(node - config->nodes.begin()),
                    .nodes = static_cast<std::uint32_t>(config->nodes.size()),
                    .in_cluster = true};
  // If the log of a node fails, the run ends with the cause (trial.cc).
  settings.cluster = {.file = file,
                      .node = node->id,
                      .database = settings.options,
                      .start_timeout_ms = start_timeout_ms(flags),
                      .leaves_when_log_fails = false};
  if (!flags.enabled("driven")) {
    if (kills(flags)) return refusal("--kill is for 'granary cluster run'");
    if (flags.declared("restart_after") && flags.given("restart_after"))
      return refusal("--restart_after: nothing is killed; it is for 'granary cluster run', see --kill");
    return keeps_account ? keep_account(command, *node, flags, settings) : Status();
  }
  settings.rendezvous = rendezvous_over(kRendezvousDescriptor);
  return kills(flags) ? set_time_line(settings) : Status();
}

Status set_read_lock(const FlagValues& flags, Settings& settings) {
  if (!flags.declared("read_lock") || !flags.given("read_lock")) return {};
  if (settings.protocol != Protocol::kLease2pl && !db::runs_in_regions(settings.options)) {
    return Status(StatusCode::kInvalidArgument,
                  "--read_lock: only --protocol=lease_2pl and drtm hold at other nodes what is read");
  }
  set_option(flags, "read_lock", option::row<&ClusterOptions::read_lock>(), settings.cluster);
  return {};
}

void add_node_flags(const BenchCommand& command, std::vector<Flag>& flags) {
  const ClusterOptions unset;
  flags.push_back(flag_of("cluster", option::row<&ClusterOptions::file>(), unset,
                          "The benchmark runs on its nodes: see 'granary cluster run --help'."));
  flags.push_back(flag_of("node", option::row<&ClusterOptions::node>(), unset,
                          "It starts each node by hand, on a host of its own."));
  flags.push_back(start_timeout_flag());
  flags.push_back(
      switch_flag("driven", false,
                  "Set by 'granary cluster run' for the processes it starts: they wait for each other through it."));
  if (command.survives_kill) {
    flags.push_back(text_flag("kill", "", "NODE@SECONDS",
                              "For 'granary cluster run': kills the node's process (SIGKILL) so many seconds after the "
                              "measurement began, and tells how the cluster recovers. The nodes have data_directory."));
    flags.push_back(real_flag("restart_after", 0, 0, 1e6, "seconds",
                              "With --kill: starts the killed node again so many seconds later; 0: never."));
    flags.push_back(
        text_flag("account", "", "FILE",
                  "For a node that is started by hand: keeps in FILE what its clients have done. If the node "
                  "is killed, the same command starts it again: it goes on with its data, and the check of "
                  "all nodes' data knows what the killed process had done. FILE is removed at the end."));
  }
  if (command.survives_kills) {
    flags.push_back(
        integer_flag("kills", 0, 0, 100'000, "kills",
                     "For 'granary cluster run': so many times a node's process is killed (SIGKILL), whichever "
                     "--seed says, while the others go on. It is started again after up to 0.3 s; when all "
                     "serve, the next one follows within half a second. The run ends when the last one is "
                     "back. The nodes have data_directory."));
  }
  flags.push_back(
      text_flag("reports", "", "a,b",
                "For 'granary cluster merge': what the nodes have left (--json), in the order of their ids."));
  flags.push_back(flag_of("read_lock", option::row<&ClusterOptions::read_lock>(), unset,
                          "Only with --protocol=lease_2pl or drtm."));
}

}  // namespace granary::bench
