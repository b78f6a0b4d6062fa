// Defines the flags that every benchmark has, and takes their values.

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
#include "bench/harness/node_settings.h"
#include "bench/harness/option_flags.h"
#include "src/base/options_table.h"
#include "src/db/options_check.h"

namespace granary::bench {

namespace {

constexpr std::uint64_t kAnyInteger = std::numeric_limits<std::uint64_t>::max();

std::string variant_help(VariantSet variants) {
  std::vector<std::string> lines;
  for (const Variant variant : variants.list())
    lines.push_back(fmt::format("{} ({})", name(variant), meaning(variant)));
  return fmt::format("Variants of the Silo paper, comma-separated: {}.", fmt::join(lines, "; "));
}

/// Calls `visit` with flag, row and additional help for each option of a database that every benchmark has a flag for.
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

/// Makes a scratch directory below `parent`, which lives as long as the settings do, and returns its path.
Result<std::string> scratch_below(const std::string& parent, Settings& settings) {
  auto made = ScratchDirectory::make(parent);
  if (!made.ok()) return made.status();
  settings.scratch.push_back(std::move(*made));
  return settings.scratch.back()->path();
}

/// Sets where this process has its logs. A cluster's node has them where its file says.
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

/// Returns the flag --protocol. Its default has the name that it has on one node; across nodes the same protocol is
/// also called occ.
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
  if (command.on_nodes) add_node_flags(command, flags);
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

/// Takes --protocol. On one node it is Options::protocol. Across nodes it is the protocol of the nodes' databases, or
/// the way in which they use each other's records.
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
  // If it was not given, its value may be the name of another engine (set_implied_values()).
  if (flags.declared("protocol") && flags.given("protocol") &&
      (!on_cluster(flags) || is_shared_protocol(flags.text("protocol"))))
    options.protocol = flags.text("protocol");
  if (db::runs_in_regions(options) && !flags.given("htm")) options.htm = Htm::kAuto;
  if (const Status node = set_node(command, flags, settings); !node.ok())
    return node;  // set_node() comes when the options of its database are complete
  if (const Status locks = set_read_lock(flags, settings); !locks.ok()) return locks;
  if (const Status taken = set_engine_flags(flags, settings); !taken.ok()) return taken;
  return settings;
}

}  // namespace granary::bench
