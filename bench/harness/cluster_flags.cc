#include "bench/harness/cluster_flags.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/option_flags.h"
#include "cluster_config/load.h"
#include "src/base/options_table.h"
#include "src/node/cluster_options.h"

namespace granary::bench {

namespace {

struct KeyOfFile {
  const char* flag;
  const char* key;
  const char* section;
};

/// Flags whose place on a node is taken by its cluster file (src/node/cluster_node.cc), so that they are refused there.
constexpr KeyOfFile kKeysOfFile[] = {{"durability", "data_directory", "[defaults] or [[node]]"},
                                     {"directory", "data_directory", "[defaults] or [[node]]"},
                                     {"log_dirs", "log_directories", "[defaults] or [[node]]"},
                                     {"memory_limit", "memory", "[defaults] or [[node]]"},
                                     {"pin", "cpus", "[defaults] or [[node]]"},
                                     {"epoch_ms", "epoch_ms", "[cluster]"},
                                     {"snapshot_epochs", "snapshot_epochs", "[cluster]"},
                                     {"release", "release", "[cluster]"}};

constexpr std::uint32_t kMsOfSecond = 1000;

/// Lowers --workers to the number that every node of the cluster file has.
void fit_workers(const cluster_config::ClusterConfig& config, FlagValues& flags) {
  if (!flags.declared("workers")) return;
  std::uint64_t workers = flags.integer("workers");
  for (const cluster_config::NodeConfig& node : config.nodes) workers = std::min<std::uint64_t>(workers, node.workers);
  flags.set_unless_given("workers", workers);
}

/// Sets flags to the cluster file's values for all nodes, so that reports tell the nodes' settings.
void follow_file(const cluster_config::ClusterConfig& config, FlagValues& flags) {
  flags.set_unless_given("epoch_ms", config.epoch_ms);
  flags.set_unless_given("snapshot_epochs", config.snapshot_epochs);
  flags.set_unless_given("release", {.kind = FlagKind::kChoice,
                                     .text = option::text_of(option::row<&Options::release>(), config.release)});
  flags.set_unless_given("durability",
                         {.kind = FlagKind::kChoice, .text = cluster_config::has_logs(config) ? "disk" : "none"});
}

}  // namespace

bool on_cluster(const FlagValues& flags) { return flags.declared("cluster") && !flags.text("cluster").empty(); }
bool kills(const FlagValues& flags) { return flags.declared("kill") && !flags.text("kill").empty(); }

std::uint32_t nodes_of_cluster(const FlagValues& flags) {
  if (!on_cluster(flags)) return 1;
  const auto config = cluster_config::load(flags.text("cluster"));
  return config.ok() ? static_cast<std::uint32_t>(config->nodes.size()) : 1;
}

Status check_cluster_flags(const FlagValues& flags) {
  if (!on_cluster(flags)) return {};
  for (const KeyOfFile& each : kKeysOfFile) {
    if (!flags.given(each.flag)) continue;
    return {StatusCode::kInvalidArgument,
            fmt::format("--{}: on a cluster its file says so; leave it out, and set '{}' in {} of '{}'", each.flag,
                        each.key, each.section, flags.text("cluster"))};
  }
  return {};
}

void set_cluster_defaults(const BenchCommand& command, FlagValues& flags) {
  if (!on_cluster(flags)) return;
  flags.set_unless_given("verify", {.kind = FlagKind::kSwitch, .on = true, .text = "true"});
  if (!command.index_on_nodes.empty())
    flags.set_unless_given("index", {.kind = FlagKind::kChoice, .text = command.index_on_nodes});
  const auto config = cluster_config::load(flags.text("cluster"));
  if (!config.ok()) return;  // its reader reports what is wrong with it
  fit_workers(*config, flags);
  follow_file(*config, flags);
}

Flag start_timeout_flag() {
  constexpr auto& kRow = option::row<&ClusterOptions::start_timeout_ms>();
  constexpr std::uint64_t kLow = std::max(kRow.low / kMsOfSecond, 1u);
  return integer_flag("start_timeout", kRow.initial() / kMsOfSecond, kLow, kRow.high / kMsOfSecond, "seconds",
                      flag_help(kRow, ""));
}

std::uint32_t start_timeout_ms(const FlagValues& flags) {
  return static_cast<std::uint32_t>(flags.integer("start_timeout") * kMsOfSecond);
}

}  // namespace granary::bench
