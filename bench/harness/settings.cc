// The flags that every benchmark has, and what they mean.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/cluster_flags.h"
#include "bench/harness/comma_list.h"
#include "bench/harness/command.h"
#include "bench/harness/engine_flags.h"
#include "bench/harness/flag_effects.h"
#include "bench/harness/machine.h"
#include "bench/harness/option_flags.h"
#include "bench/harness/rendezvous.h"
#include "cluster_config/load.h"
#include "src/base/options_table.h"
#include "src/db/options_check.h"
#include "src/node/cluster_options.h"

namespace granary::bench {

namespace {

constexpr std::uint64_t kAnyInteger = std::numeric_limits<std::uint64_t>::max();

std::string variant_help(VariantSet variants) {
  std::vector<std::string> lines;
  for (const Variant variant : variants.list())
    lines.push_back(fmt::format("{} ({})", name(variant), meaning(variant)));
  return fmt::format("Variants of the Silo paper, comma-separated: {}.", fmt::join(lines, "; "));
}

/// The options of a database that every benchmark has flags for. Calls `visit` with flag, row, and what its help says
/// besides.
template <typename Visitor>
void for_each_option_flag(Visitor&& visit) {
  using option::row;
  visit("huge_pages", row<&Options::huge_pages>(), "");
  visit("memory_limit", row<&Options::memory_limit_bytes>(), "");
  visit("prefault", row<&Options::prefault_bytes>(), "");
  visit("epoch_ms", row<&Options::epoch_ms>(), "");
  visit("snapshot_epochs", row<&Options::snapshot_epochs>(), "");
  visit("htm", row<&Options::htm>(), "");
  visit("loggers", row<&Options::loggers>(), "");
  visit("ring_bytes", row<&Options::ring_bytes>(), "");
  visit("log_reserve", row<&Options::log_reserve_bytes>(), "");
  visit("release", row<&Options::release>(), "");
  visit("compress", row<&Options::log_compression>(), "");
  visit("checkpoint_interval", row<&Options::checkpoint_interval_s>(),
        "Tells what they cost: throughput while one is in progress against the rest.");
}

/// Returns the options that hold where no flag sets them. They differ from the library's, as workers besides the
/// measured ones load the data, and a checkpoint would disturb what is measured.
Options initial_options() { return {.checkpoint_interval_s = 0, .max_workers = kMaxWorkers}; }

/// A scratch directory below `parent`, which lives as long as the settings do.
Result<std::string> scratch_below(const std::string& parent, Settings& settings) {
  auto made = ScratchDirectory::make(parent);
  if (!made.ok()) return made.status();
  settings.scratch.push_back(std::move(*made));
  return settings.scratch.back()->path();
}

/// Where this process has its logs. A cluster's node has them where its file says.
Status set_durability(const FlagValues& flags, Settings& settings) {
  Options& options = settings.options;
  const std::string& mode = flags.text("durability");
  if (mode == "none" || on_cluster(flags)) return {};
  auto directory = scratch_below(mode == "tmpfs" ? "/dev/shm" : flags.text("directory"), settings);
  if (!directory.ok()) return directory.status();
  options.directory = *directory + "/data";
  options.reliable_directory = *directory + "/rings";
  if (mode == "tmpfs") return {};
  auto rings = scratch_below("/dev/shm", settings);
  if (!rings.ok()) return rings.status();
  options.reliable_directory = *rings + "/rings";
  const auto log_parents = comma_list("log_dirs", flags.text("log_dirs"));
  if (!log_parents.ok()) return log_parents.status();
  for (const std::string& parent : *log_parents) {
    if (std::error_code ignored; !std::filesystem::is_directory(parent, ignored))
      return {StatusCode::kInvalidArgument, fmt::format("--log_dirs: '{}' is no directory", parent)};
    auto logs = scratch_below(parent, settings);
    if (!logs.ok()) return logs.status();
    options.log_directories.push_back(*logs + "/log");
  }
  return {};
}

/// The time line that a driven node shares with the others. Nobody can check the data of a node that does not come
/// back.
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

/// The time line of a node that is started by hand, for the case that it is killed and started again.
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

/// Flags of the nodes of a cluster mean nothing without one.
Status check_alone(const FlagValues& flags) {
  const auto refusal = [](const char* why) { return Status(StatusCode::kInvalidArgument, why); };
  if (kills(flags)) return refusal("--kill is for 'granary cluster run'");
  if (flags.declared("restart_after") && flags.given("restart_after"))
    return refusal("--restart_after: nothing is killed; see --kill");
  if (flags.given("start_timeout"))
    return refusal("--start_timeout: there are no other nodes to wait for; see 'granary cluster'");
  return {};
}

/// Which node of which cluster this process is.
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
  settings.cluster = {
      .file = file, .node = node->id, .database = settings.options, .start_timeout_ms = start_timeout_ms(flags)};
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

/// Of a benchmark that runs on the nodes of a cluster, too.
void add_cluster_flags(const BenchCommand& command, std::vector<Flag>& flags) {
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

/// The default's name says what runs on one node; across nodes the same is called occ.
Flag protocol_flag(const BenchCommand& command) {
  std::vector<std::string> names = db::protocol_names();
  std::string help =
      "How transactions are kept apart: silo; tictoc, which computes their order from what they have read; drtm, each "
      "in one HTM region (--htm is auto then, unless it is given); no_wait and dl_detect lock what they read.";
  if (command.on_nodes) {
    names.insert(names.end(), kProtocolNames.begin(), kProtocolNames.end());
    help +=
        " Across nodes: silo, also called occ; tictoc; drtm; lease_2pl, what a transaction reads in one go is locked "
        "or leased first; two_pc_tcp, a baseline by two-phase commit over TCP.";
  }
  return choice_flag("protocol", names.front(), names, help);
}

}  // namespace

std::vector<Flag> common_flags(const BenchCommand& command) {
  std::vector<Flag> flags;
  flags.push_back(
      integer_flag("workers", 2, 1, kMaxWorkers, "threads", "Worker threads, each running one request after another."));
  flags.push_back(
      real_flag("seconds", command.seconds, 0.01, 1e6, "seconds", "Measured time of each repeat, by the wall clock."));
  flags.push_back(
      real_flag("warmup", 2, 0, 1e5, "seconds",
                "Time before the measurement. It is in no figure but those that --protocol=two_pc_tcp and partitions "
                "add of themselves (distributed_share and what follows it), and in the JSON's samples and counters at "
                "the end."));
  flags.push_back(integer_flag("repeat", command.repeat, 1, 1000, "runs",
                               "Measurements; the median by throughput is reported, with minimum and maximum."));
  flags.push_back(text_flag("json", "", "FILE",
                            command.has_summary
                                ? "Writes everything to FILE as JSON with BenchBase's top-level keys."
                                : "Writes everything to FILE as JSON, with few of BenchBase's top-level keys."));
  flags.push_back(integer_flag("seed", 1, 0, kAnyInteger, "", "Seed of all random choices."));
  flags.push_back(switch_flag("verify", command.verify,
                              command.on_nodes && !command.verify
                                  ? "Checks the data after the run; a failed check ends in exit code 1. On a cluster, "
                                    "the default is true."
                                  : "Checks the data after the run; a failed check ends in exit code 1."));
  if (command.on_nodes || command.breakdown || command.variants.has(Variant::kNoSnapshots))
    flags.push_back(protocol_flag(command));
  if (!command.variants.empty()) flags.push_back(text_flag("variant", "", "a,b", variant_help(command.variants)));
  flags.push_back(choice_flag("durability", command.durability.empty() ? "none" : command.durability,
                              {"none", "tmpfs", "disk"},
                              "Logs: none; tmpfs: to files in memory, which survive the process; disk: to --directory, "
                              "synced, which survives power loss."));
  flags.push_back(
      text_flag("directory", ".", "DIR",
                "With --durability=disk: a directory of the run's own is made below it, and removed. If the log of the "
                "rest of the run, at the warm-up's rate, would not fit, the run is refused after the warm-up"));
  flags.push_back(
      text_flag("log_dirs", "", "a,b", "With --durability=disk: the loggers write below these in turn instead."));
  for_each_option_flag([&](const char* name, const auto& row, const char* more) {
    flags.push_back(flag_of(name, row, initial_options(), more));
  });
  if (command.on_nodes) add_cluster_flags(command, flags);
  flags.push_back(
      choice_flag("pin", "auto", {"auto", "on", "off"}, "Pins workers to cores; auto does if there are enough cores."));
  flags.push_back(integer_flag(
      "latency_sample", command.latency_sample, 1, 1000000, "requests",
      "Times one request in so many, also those that were rolled back or given up. Each client waits for its answer "
      "before it sends the next request, so a stall is in one latency of each client, and not in those of "
      "the requests that would have come meanwhile (coordinated omission)."));
  add_engine_flags(command, flags);
  flags.push_back(
      switch_flag("progress", true, "Prints a line a second while loading and running, on standard error."));
  return flags;
}

namespace {

/// Returns whether databases of a cluster's nodes can have the protocol with this name.
bool is_shared_protocol(const std::string& name) {
  const std::vector<std::string> names = db::shared_protocol_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

/// On one node --protocol is Options::protocol. Across nodes it is that of the nodes' databases, or says how they use
/// each other's records.
Result<Protocol> protocol_from(const BenchCommand& command, const FlagValues& flags) {
  if (!flags.declared("protocol") || !flags.given("protocol")) return Protocol::kOcc;
  const std::string& text = flags.text("protocol");
  const std::vector<std::string> own = db::protocol_names();
  if (!on_cluster(flags)) {
    if (std::find(own.begin(), own.end(), text) != own.end()) return Protocol::kOcc;
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--protocol={}: there are no other nodes; expected {}; see 'granary cluster'", text,
                              fmt::join(own, " or ")));
  }
  if (is_shared_protocol(text)) return Protocol::kOcc;
  for (const Protocol protocol : command.protocols) {
    if (name(protocol) == text) return protocol;
  }
  std::vector<std::string> names = db::shared_protocol_names();
  for (const Protocol protocol : command.protocols) names.emplace_back(name(protocol));
  return Status(StatusCode::kInvalidArgument, fmt::format("--protocol={}: {} cannot run it; expected one of {}", text,
                                                          command.name, fmt::join(names, ", ")));
}

Result<Settings> settings_from(const BenchCommand& command, const FlagValues& flags) {
  if (const Status followed = check_cluster_flags(flags); !followed.ok()) return followed;
  Settings settings;
  settings.workers = static_cast<std::uint32_t>(flags.integer("workers"));
  settings.seed = flags.integer("seed");
  settings.verify = flags.enabled("verify");
  const Result<VariantSet> variants = variants_from(command, flags);
  if (!variants.ok()) return variants.status();
  settings.variants = *variants;
  if (Status effective = check_flag_effects(command, flags, *variants); !effective.ok()) return effective;
  const std::size_t cpus = allowed_cpus().size();
  if (flags.text("pin") == "on" && settings.workers > cpus) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--pin=on: {} workers do not fit {} cores; use --pin=off or fewer workers",
                              settings.workers, cpus));
  }
  Options& options = settings.options = initial_options();
  for_each_option_flag([&](const char* name, const auto& row, const char*) { set_option(flags, name, row, options); });
  if (options.prefault_bytes > available_memory()) {
    return Status(StatusCode::kInvalidArgument, fmt::format("--prefault={}: only {:.1f} GiB of memory are available",
                                                            flags.all().find("prefault")->second.text,
                                                            static_cast<double>(available_memory()) / (1 << 30)));
  }
  if (const Status durable = set_durability(flags, settings); !durable.ok()) return durable;
  apply(settings.variants, options);
  const Result<Protocol> protocol = protocol_from(command, flags);
  if (!protocol.ok()) return protocol.status();
  settings.protocol = *protocol;
  // Unless given, it may be the name of another engine than Granary's (set_implied_values()).
  if (flags.declared("protocol") && flags.given("protocol") &&
      (!on_cluster(flags) || is_shared_protocol(flags.text("protocol"))))
    options.protocol = flags.text("protocol");
  if (db::runs_in_regions(options) && !flags.given("htm")) options.htm = Htm::kAuto;
  if (const Status node = set_node(command, flags, settings); !node.ok())
    return node;  // its database has all of the options
  if (const Status locks = set_read_lock(flags, settings); !locks.ok()) return locks;
  if (const Status taken = set_engine_flags(flags, settings); !taken.ok()) return taken;
  return settings;
}

}  // namespace granary::bench
