#include "bench/harness/cluster_flags.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/option_flags.h"
#include "cluster_config/load.h"
#include "src/node/cluster_options.h"

namespace granary::bench {

namespace {

struct KeyOfFile {
  const char* flag;
  const char* key;
  const char* section;
};

/// Flags of a benchmark that a node takes from its cluster file instead (src/node/cluster_node.cc), so they are refused there.
constexpr KeyOfFile kKeysOfFile[] = {{"durability", "data_directory", "[defaults] or [[node]]"},
                                     {"directory", "data_directory", "[defaults] or [[node]]"},
                                     {"log_dirs", "log_directories", "[defaults] or [[node]]"},
                                     {"memory_limit", "memory", "[defaults] or [[node]]"},
                                     {"pin", "cpus", "[defaults] or [[node]]"},
                                     {"epoch_ms", "epoch_ms", "[cluster]"},
                                     {"snapshot_epochs", "snapshot_epochs", "[cluster]"},
                                     {"release", "release", "[cluster]"}};

constexpr std::uint32_t kMsOfSecond = 1000;

/// Lowers --workers to what every node of the cluster file has. A file that cannot be read changes nothing here: whoever needs it
/// tells what is wrong with it.
void fit_workers(FlagValues& flags) {
  const auto config = cluster_config::load(flags.text("cluster"));
  if (!config.ok() || !flags.declared("workers")) return;
  std::uint64_t workers = flags.integer("workers");
  for (const cluster_config::NodeConfig& node : config->nodes) workers = std::min<std::uint64_t>(workers, node.workers);
  flags.set("workers", {.kind = FlagKind::kInteger, .whole = workers, .text = fmt::format("{}", workers)});
}

}  // namespace

bool on_cluster(const FlagValues& flags) { return flags.declared("cluster") && !flags.text("cluster").empty(); }
bool kills(const FlagValues& flags) { return flags.declared("kill") && !flags.text("kill").empty(); }

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

void set_cluster_defaults(FlagValues& flags) {
  if (!on_cluster(flags)) return;
  if (!flags.given("verify")) flags.set("verify", {.kind = FlagKind::kSwitch, .on = true, .text = "true"});
  if (!flags.given("workers")) fit_workers(flags);
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
