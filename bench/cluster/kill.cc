#include "bench/cluster/kill.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

namespace granary::bench::cluster {

namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

constexpr double kMostSeconds = 600;  // the time line is kept in memory

Status wrong(const std::string& why) { return {StatusCode::kInvalidArgument, why}; }

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Parses "2@3.5".
Result<Kill> parse_kill(const std::string& text, const ClusterConfig& config) {
  Kill kill;
  const std::size_t at = text.find('@');
  const auto digits = [](std::string_view part, const char* allowed) {
    return !part.empty() && part.find_first_not_of(allowed) == std::string_view::npos;
  };
  const std::string_view node = std::string_view(text).substr(0, at);
  const std::string_view seconds = at == std::string::npos ? std::string_view() : std::string_view(text).substr(at + 1);
  if (!digits(node, "0123456789") || !digits(seconds, "0123456789.") || !parse(node, kill.id) ||
      !parse(seconds, kill.at_seconds)) {
    return wrong(fmt::format("--kill={}: expected NODE@SECONDS, for one node, such as --kill={}@5", text,
                             config.nodes.front().id));
  }
  const auto found = std::ranges::find(config.nodes, kill.id, &NodeConfig::id);
  if (found == config.nodes.end())
    return wrong(fmt::format("--kill={}: '{}' has no node {}", text, config.file, kill.id));
  kill.node = static_cast<std::size_t>(found - config.nodes.begin());
  return kill;
}

/// Checks that the nodes' data outlive their processes, and that other nodes are there to go on.
Status check_nodes(const std::string& flag, const ClusterConfig& config) {
  if (config.nodes.size() < 2)
    return wrong(fmt::format("{}: '{}' has no other node that would go on", flag, config.file));
  for (const NodeConfig& node : config.nodes) {
    if (!node.data_directory.empty()) continue;
    return wrong(
        fmt::format("{}: node {} keeps nothing that could be recovered; set 'data_directory' in [defaults] or "
                    "[[node]] of '{}'",
                    flag, node.id, config.file));
  }
  return {};
}

Status check_times(const std::string& text, const Kill& kill, double seconds) {
  if (seconds > kMostSeconds)
    return wrong(
        fmt::format("--kill={}: --seconds={:g} is too long; {:g} s are the most with it", text, seconds, kMostSeconds));
  if (kill.at_seconds >= seconds)
    return wrong(fmt::format("--kill={}: the measured window is over after {:g} s (--seconds)", text, seconds));
  if (kill.restart_after_seconds && kill.at_seconds + *kill.restart_after_seconds >= seconds) {
    return wrong(
        fmt::format("--restart_after={:g}: {:g} s after the measurement began, its window of {:g} s (--seconds) "
                    "is over",
                    *kill.restart_after_seconds, kill.at_seconds + *kill.restart_after_seconds, seconds));
  }
  return {};
}

}  // namespace

Result<std::optional<Kill>> kill_from(const BenchCommand& command, const FlagValues& flags,
                                      const ClusterConfig& config) {
  if (!command.survives_kill) return std::optional<Kill>();
  const std::string& text = flags.text("kill");
  if (text.empty()) {
    if (flags.given("restart_after")) return wrong("--restart_after: nothing is killed; see --kill");
    return std::optional<Kill>();
  }
  Result<Kill> kill = parse_kill(text, config);
  if (!kill.ok()) return kill.status();
  if (const double after = flags.real("restart_after"); after > 0) kill->restart_after_seconds = after;
  if (const Status times = check_times(text, *kill, flags.real("seconds")); !times.ok()) return times;
  if (const Status nodes = check_nodes("--kill=" + text, config); !nodes.ok()) return nodes;
  if (flags.text("protocol") == name(Protocol::kTwoPcTcp))
    return wrong(
        fmt::format("--kill={}: the baseline two_pc_tcp does not recover; use occ, tictoc or lease_2pl", text));
  if (const std::uint64_t workers = flags.integer("workers"); workers > kMostTrackedWorkers)
    return wrong(fmt::format("--kill={}: --workers={} are too many; {} are the most with it", text, workers,
                             kMostTrackedWorkers));
  if (const Status survives = command.survives_kill(flags); !survives.ok()) return survives;
  return std::optional<Kill>(*kill);
}

Result<std::uint64_t> kills_from(const BenchCommand& command, const FlagValues& flags, const ClusterConfig& config) {
  if (!command.survives_kills || flags.integer("kills") == 0) return std::uint64_t{0};
  const std::string flag = fmt::format("--kills={}", flags.integer("kills"));
  for (const char* ends : {"transactions", "seconds"}) {
    if (flags.declared(ends) && flags.given(ends))
      return wrong(fmt::format("{}: the run ends when the last killed node is back; leave --{} out", flag, ends));
  }
  if (const Status nodes = check_nodes(flag, config); !nodes.ok()) return nodes;
  return flags.integer("kills");
}

}  // namespace granary::bench::cluster
