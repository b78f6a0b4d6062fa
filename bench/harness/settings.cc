// The flags that every benchmark has, and what they mean.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/cluster_flags.h"
#include "bench/harness/comma_list.h"
#include "bench/harness/command.h"
#include "bench/harness/machine.h"
#include "bench/harness/rendezvous.h"
#include "cluster_config/load.h"

namespace granary::bench {

namespace {

constexpr std::uint64_t kAnyInteger = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kPetabyte = std::uint64_t{1} << 50;

std::string variant_help(VariantSet variants) {
  std::vector<std::string> lines;
  for (const Variant variant : variants.list())
    lines.push_back(fmt::format("{} ({})", name(variant), meaning(variant)));
  return fmt::format("Variants of the Silo paper, comma-separated: {}.", fmt::join(lines, "; "));
}

HugePages huge_pages_from(const std::string& text) {
  if (text == "require") return HugePages::kRequire;
  if (text == "off") return HugePages::kOff;
  return HugePages::kTry;
}

Htm htm_from(const std::string& text) {
  if (text == "auto") return Htm::kAuto;
  if (text == "rtm") return Htm::kRtm;
  return text == "sim" ? Htm::kSim : Htm::kOff;
}

/// A scratch directory below `parent`, which lives as long as the settings do.
Result<std::string> scratch_below(const std::string& parent, Settings& settings) {
  auto made = ScratchDirectory::make(parent);
  if (!made.ok()) return made.status();
  settings.scratch.push_back(std::move(*made));
  return settings.scratch.back()->path();
}

Status set_durability(const FlagValues& flags, Settings& settings) {
  Options& options = settings.options;
  options.loggers = static_cast<std::uint32_t>(flags.integer("loggers"));
  options.ring_bytes = flags.bytes("ring_bytes");
  options.log_reserve_bytes = flags.bytes("log_reserve");
  options.release = flags.text("release") == "commit" ? Release::kCommit : Release::kDurable;
  if (flags.text("compress") == "lz4") options.log_compression = LogCompression::kLz4;
  if (flags.text("compress") == "zstd") options.log_compression = LogCompression::kZstd;
  options.checkpoint_interval_s = static_cast<std::uint32_t>(flags.integer("checkpoint_interval"));
  const std::string& mode = flags.text("durability");
  if (mode == "none") return {};
  if (settings.variants.has(Variant::kMemSilo)) {
    return {StatusCode::kInvalidArgument,
            fmt::format("--durability={}: --variant=memsilo has no log; leave one of them out", mode)};
  }
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
    auto logs = scratch_below(parent, settings);
    if (!logs.ok()) return logs.status();
    options.log_directories.push_back(*logs + "/log");
  }
  return {};
}

/// Which node of which cluster this process is.
Status set_node(const FlagValues& flags, Settings& settings) {
  if (!flags.declared("cluster")) return {};
  const std::string& file = flags.text("cluster");
  const std::uint64_t id = flags.integer("node");
  const auto refusal = [](const char* why) { return Status(StatusCode::kInvalidArgument, why); };
  if (file.empty() != (id == 0))
    return refusal("--cluster and --node go together, for one node; 'granary cluster run' starts all of a host");
  if (!flags.text("reports").empty()) return refusal("--reports is for 'granary cluster merge'");
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
  settings.cluster = {.file = file,
                      .node = node->id,
                      .database = settings.options,
                      .start_timeout_ms = static_cast<std::uint32_t>(flags.integer("start_timeout") * 1000)};
  if (flags.enabled("driven")) settings.rendezvous = rendezvous_over(kRendezvousDescriptor);
  return {};
}

Status set_read_lock(const FlagValues& flags, Settings& settings) {
  if (!flags.declared("read_lock") || !flags.given("read_lock")) return {};
  if (settings.protocol != Protocol::kLease2pl)
    return Status(StatusCode::kInvalidArgument, "--read_lock: only --protocol=lease_2pl locks what is read");
  settings.cluster.read_lock = flags.text("read_lock") == "lease" ? ReadLock::kLease : ReadLock::kExclusive;
  return {};
}

}  // namespace

std::vector<Flag> common_flags(const BenchCommand& command) {
  std::vector<Flag> flags;
  flags.push_back(
      integer_flag("workers", 2, 1, kMaxWorkers, "threads", "Worker threads, each running one request after another."));
  flags.push_back(
      real_flag("seconds", command.seconds, 0.01, 1e6, "seconds", "Measured time of each repeat, by the wall clock."));
  flags.push_back(real_flag("warmup", 2, 0, 1e5, "seconds", "Time before the measurement that counts nowhere."));
  flags.push_back(integer_flag("repeat", command.repeat, 1, 1000, "runs",
                               "Measurements; the median by throughput is reported, with minimum and maximum."));
  flags.push_back(text_flag("json", "", "FILE", "Writes everything to FILE as JSON with BenchBase's top-level keys."));
  flags.push_back(integer_flag("seed", 1, 0, kAnyInteger, "", "Seed of all random choices."));
  flags.push_back(switch_flag("verify", command.verify,
                              command.on_nodes && !command.verify
                                  ? "Checks the data after the run; a failed check ends in exit code 1. On a cluster, "
                                    "the default is true."
                                  : "Checks the data after the run; a failed check ends in exit code 1."));
  if (!command.variants.empty()) flags.push_back(text_flag("variant", "", "a,b", variant_help(command.variants)));
  flags.push_back(choice_flag("huge_pages", "try", {"try", "require", "off"}, "2 MiB pages for records and index."));
  flags.push_back(
      bytes_flag("memory_limit", "0", 0, kPetabyte,
                 "Most that records, versions and index may take; 0 = three quarters of the machine's memory."));
  flags.push_back(bytes_flag("prefault", "0", 0, kPetabyte,
                             "Memory touched before loading, so that no page fault meets a request."));
  flags.push_back(integer_flag("epoch_ms", 40, 1, 10000, "milliseconds", "Time between epochs."));
  flags.push_back(integer_flag("snapshot_epochs", 25, 1, 10000, "epochs", "A snapshot is taken every so many epochs."));
  flags.push_back(choice_flag("htm", "off", {"off", "auto", "rtm", "sim"},
                              "Commits in hardware transactions before locks: auto, if Intel TSX works here; sim, "
                              "simulated, in builds for tests only."));
  flags.push_back(choice_flag("durability", "none", {"none", "tmpfs", "disk"},
                              "Logs: none; tmpfs: to files in memory, which survive the process; disk: to --directory, "
                              "synced, which survives power loss."));
  flags.push_back(
      text_flag("directory", ".", "DIR",
                "With --durability=disk: a directory of the run's own is made below it, and removed. If the log of the "
                "rest of the run, at the warm-up's rate, would not fit, the run is refused after the warm-up"));
  flags.push_back(
      text_flag("log_dirs", "", "a,b", "With --durability=disk: the loggers write below these in turn instead."));
  flags.push_back(integer_flag("loggers", 1, 1, kMaxLoggers, "threads", "Loggers; each serves some of the workers."));
  flags.push_back(bytes_flag("ring_bytes", "8MiB", 64 << 10, 1 << 30, "Of each worker's log ring."));
  flags.push_back(bytes_flag("log_reserve", "0", 0, std::uint64_t{1} << 44,
                             "Set aside for the log before the run, so that none of it waits for an allocation."));
  flags.push_back(choice_flag("release", "durable", {"durable", "commit"},
                              "When a result may be shown: once it survives power loss, or at commit."));
  flags.push_back(choice_flag("compress", "none", {"none", "lz4", "zstd"}, "Compression of log files."));
  flags.push_back(integer_flag(
      "checkpoint_interval", 0, 0, 1'000'000, "seconds",
      "Time between checkpoints while logging; 0 = none. Tells what they cost: throughput while one is in progress "
      "against the rest."));
  if (command.on_nodes) {
    flags.push_back(text_flag("cluster", "", "FILE",
                              "The cluster file, on whose nodes it runs: see 'granary cluster run --help'."));
    flags.push_back(integer_flag("node", 0, 0, cluster_config::kGreatestNodeId, "",
                                 "Which of its nodes this process is: to start each by hand, on a host of its own."));
    flags.push_back(
        integer_flag("start_timeout", 60, 1, 3600, "seconds", "In a cluster: how long to wait for the other nodes."));
    flags.push_back(
        switch_flag("driven", false,
                    "Set by 'granary cluster run' for the processes it starts: they wait for each other through it."));
    flags.push_back(
        text_flag("reports", "", "a,b",
                  "For 'granary cluster merge': what the nodes have left (--json), in the order of their ids."));
    flags.push_back(
        choice_flag("protocol", "occ", {kProtocolNames.begin(), kProtocolNames.end()},
                    "In a cluster: occ, optimistic; lease_2pl, what a transaction reads in one go is locked "
                    "or leased first; two_pc_tcp, a baseline by two-phase commit over TCP."));
    flags.push_back(choice_flag("read_lock", "lease", {"lease", "exclusive"},
                                "With --protocol=lease_2pl: how records of other nodes that are only read are held: "
                                "leased, which readers share; or locked like those that are written, for comparison."));
  }
  flags.push_back(
      choice_flag("pin", "auto", {"auto", "on", "off"}, "Pins workers to cores; auto does if there are enough cores."));
  flags.push_back(
      integer_flag("latency_sample", command.latency_sample, 1, 1000000, "requests", "Times one request in so many."));
  flags.push_back(
      switch_flag("progress", true, "Prints a line a second while loading and running, on standard error."));
  return flags;
}

Result<Protocol> protocol_from(const BenchCommand& command, const FlagValues& flags) {
  if (!flags.declared("protocol")) return Protocol::kOcc;
  const std::string& text = flags.text("protocol");
  if (flags.given("protocol") && flags.text("cluster").empty())
    return Status(StatusCode::kInvalidArgument, "--protocol: there are no other nodes; see 'granary cluster'");
  for (const Protocol protocol : command.protocols) {
    if (name(protocol) == text) return protocol;
  }
  std::vector<std::string_view> names;
  for (const Protocol protocol : command.protocols) names.push_back(name(protocol));
  return Status(StatusCode::kInvalidArgument, fmt::format("--protocol={}: {} cannot run it; expected one of {}", text,
                                                          command.name, fmt::join(names, ", ")));
}

Result<Settings> settings_from(const BenchCommand& command, const FlagValues& flags) {
  if (const Status followed = check_cluster_flags(flags); !followed.ok()) return followed;
  Settings settings;
  settings.workers = static_cast<std::uint32_t>(flags.integer("workers"));
  settings.seed = flags.integer("seed");
  settings.verify = flags.enabled("verify");
  if (flags.declared("variant")) {
    Result<VariantSet> variants = parse_variants(flags.text("variant"), command.variants);
    if (!variants.ok()) return variants.status();
    settings.variants = *variants;
  }
  const std::size_t cpus = allowed_cpus().size();
  if (flags.text("pin") == "on" && settings.workers > cpus) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--pin=on: {} workers do not fit {} cores; use --pin=off or fewer workers",
                              settings.workers, cpus));
  }
  Options& options = settings.options;
  options.epoch_ms = static_cast<std::uint32_t>(flags.integer("epoch_ms"));
  options.snapshot_epochs = static_cast<std::uint32_t>(flags.integer("snapshot_epochs"));
  options.memory_limit_bytes = flags.bytes("memory_limit");
  options.prefault_bytes = flags.bytes("prefault");
  options.huge_pages = huge_pages_from(flags.text("huge_pages"));
  options.max_workers = kMaxWorkers;
  options.htm = htm_from(flags.text("htm"));
  if (options.prefault_bytes > available_memory()) {
    return Status(StatusCode::kInvalidArgument, fmt::format("--prefault={}: only {:.1f} GiB of memory are available",
                                                            flags.all().find("prefault")->second.text,
                                                            static_cast<double>(available_memory()) / (1 << 30)));
  }
  if (const Status durable = set_durability(flags, settings); !durable.ok()) return durable;
  apply(settings.variants, options);
  if (const Status node = set_node(flags, settings); !node.ok()) return node;
  const Result<Protocol> protocol = protocol_from(command, flags);
  if (!protocol.ok()) return protocol.status();
  settings.protocol = *protocol;
  if (const Status locks = set_read_lock(flags, settings); !locks.ok()) return locks;
  return settings;
}

}  // namespace granary::bench
