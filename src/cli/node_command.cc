// `granary node`: runs one node of a cluster, without tables of a program of its own.

#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bench/harness/cluster_flags.h"
#include "bench/harness/option_flags.h"
#include "bench/harness/stop_signals.h"
#include "bench/harness/trial.h"
#include "cluster_config/load.h"
#include "cluster_config/membership/life.h"
#include "recovery/settle.h"
#include "src/base/directory.h"
#include "src/cli/node_log.h"
#include "src/cli/tool.h"
#include "src/node/cluster_options.h"

namespace granary::cli {
namespace {

constexpr std::uint64_t kLook_ns = 50'000'000;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

bench::ExitCode refuse(const Status& status) { return bench::refuse(bench::exit_code_of(status), status.message()); }

/// Whether the log has failed for good. A device that does not answer (kUnavailable) may do so later.
bool log_has_failed(Cluster& cluster) {
  const Status log = cluster.database().log_status();
  return !log.ok() && log.code() != StatusCode::kUnavailable;
}

/// Serves until the node is told to stop, is no member any more, or has a log that has failed.
Status serve(Cluster& cluster, const bench::StopSignals& signals, const NodeLog& log) {
  log.say(fmt::format("node {} of {} serves", cluster.node(), cluster.nodes().size()), &cluster);
  while (cluster.status().ok() && !log_has_failed(cluster) && !signals.wait_until(now_ns() + kLook_ns)) {
  }
  return cluster.status().ok() ? cluster.leave() : cluster.status();
}

/// Runs one life of the node: it joins, starts, serves and leaves. Its directory is free when this returns. Sets
/// `served_ns` to how long it served.
Status live(const ClusterOptions& options, const bench::StopSignals& signals, const NodeLog& log,
            std::uint64_t& served_ns) {
  auto cluster = Cluster::join(options);
  if (!cluster.ok()) return cluster.status();
  if (Status status = (*cluster)->start(); !status.ok()) {
    const Status left = (*cluster)->leave();
    return signals.requested() && !left.ok() ? left : status;
  }
  const std::uint64_t from_ns = now_ns();
  Status status = serve(**cluster, signals, log);
  served_ns = now_ns() - from_ns;
  if (status.ok()) log.say(fmt::format("node {} has left", (*cluster)->node()), cluster->get());
  return status;
}

/// Whether the life has ended because the node was told to stop, in order. A life that had not served by then says so.
/// A life that had served, and could not leave in order, has not ended as told.
bool ended_as_told(const Status& ended, bool served, NodeNumber node, const bench::StopSignals& signals,
                   const NodeLog& log) {
  if (ended.ok()) return true;
  if (served || !signals.requested() || ended.code() != StatusCode::kUnavailable) return false;
  log.say(fmt::format("node {} has left before it served", node));
  return true;
}

/// Whether another try may succeed after a while: other nodes still have to end, or to start, or the membership cannot
/// be reached.
bool may_pass(const Status& status) {
  return status.code() == StatusCode::kMembershipLost || status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kAlreadyExists;
}

/// Starts a node again that has lost its membership. The waits double, so that the nodes of a cluster that have all
/// lost theirs find each other.
class Rejoining {
 public:
  Rejoining(std::uint64_t most, bool has_data, const NodeLog& log) : most_(most), has_data_(has_data), log_(log) {}

  /// Waits before the next life and returns true; or says why there is none, and returns false.
  bool go_on(NodeNumber node, const Status& ended, std::uint64_t served_ns, const bench::StopSignals& signals) {
    if (served_ns >= kServedLong_ns) tries_ = 0;
    const std::string why = refusal(ended);
    if (!why.empty()) {
      log_.warn(fmt::format("node {} does not start again by itself: {}", node, why));
      return false;
    }
    const std::uint64_t pause_s = std::min(std::uint64_t{1} << tries_, kLongestPause_s);
    ++tries_;
    log_.warn(fmt::format("node {} starts again with its data in {} s (try {} of {}), after: {}", node, pause_s, tries_,
                          most_, ended.message()));
    if (!signals.wait_until(now_ns() + pause_s * 1'000'000'000)) return true;
    log_.warn(
        fmt::format("node {} was told to end before it started again; it had ended by itself before, so this is no "
                    "leave in order",
                    node));
    return false;
  }

 private:
  std::string refusal(const Status& ended) const {
    if (most_ == 0) return "--rejoin=0";
    if (!has_data_) return "it has no data_directory, and what it had in memory is lost with its membership";
    if (!may_pass(ended)) return ended.message();
    if (tries_ == most_) return fmt::format("{} tries were in vain, the last one: {}", tries_, ended.message());
    return "";
  }

  static constexpr std::uint64_t kServedLong_ns =
      60'000'000'000;  ///< a life that served for so long has the tries counted anew
  static constexpr std::uint64_t kLongestPause_s = 16;

  const std::uint64_t most_;
  const bool has_data_;
  const NodeLog& log_;
  std::uint64_t tries_ = 0;
};

/// Whether the node has a data directory. Returns false if the file cannot be read or lacks the node, which joining
/// reports.
bool has_data_directory(const ClusterOptions& options) {
  const auto config = cluster_config::load(options.file);
  const cluster_config::NodeConfig* const node = config.ok() ? config->find(options.node) : nullptr;
  return node != nullptr && !node->data_directory.empty();
}

/// Implements --moved: the rings, and log directories that stayed where they were, become the node's own again.
Status take_over(const ClusterOptions& options) {
  const auto config = cluster_config::load(options.file);
  if (!config.ok()) return config.status();
  const cluster_config::NodeConfig* const node = config->find(options.node);
  if (node == nullptr) return {};  // joining reports that
  if (node->data_directory.empty())
    return {StatusCode::kInvalidArgument, fmt::format("--moved: node {} has no data_directory", options.node)};
  const auto canonical = base::canonical(node->data_directory);
  if (!canonical.ok()) return canonical.status();
  const std::string& directory = *canonical;
  const auto life = membership::read_life(base::system_files(), directory, config->name, options.node);
  if (!life.ok()) return life.status();
  const auto lock = base::system_files().lock(fmt::format("{}/{}", directory, recovery::kLockName));
  if (!lock.ok()) return lock.status();
  recovery::Wishes wishes{.log_directories = node->log_directories, .moved = true};
  for (std::string& path : wishes.log_directories) {
    auto absolute = base::canonical(path);
    if (!absolute.ok()) return absolute.status();
    path = std::move(*absolute);
  }
  return recovery::take_residence(base::system_files(), directory, std::move(wishes));
}

constexpr auto& kFile = option::row<&ClusterOptions::file>();
constexpr auto& kNode = option::row<&ClusterOptions::node>();

bench::ExitCode run(const std::string&, const bench::FlagValues& flags) {
  if (!flags.given("cluster")) return bench::refuse(bench::ExitCode::kUsage, "node: --cluster is missing");
  if (!flags.given("id")) return bench::refuse(bench::ExitCode::kUsage, "node: --id is missing");
  if (flags.integer("id") == 0) {
    const std::string expected = fmt::format("--id=0: expected 1 to {}", cluster_config::kGreatestNodeId);
    return bench::refuse(bench::ExitCode::kUsage, expected);
  }
  ClusterOptions options{.start_timeout_ms = bench::start_timeout_ms(flags)};
  bench::set_option(flags, "cluster", kFile, options);
  bench::set_option(flags, "id", kNode, options);
  options.database.salvage = flags.enabled("salvage");
  options.new_board = flags.enabled("new_board");
  options.leaves_when_log_fails = false;  // serve() leaves, with the cause as its exit code
  if (flags.enabled("moved")) {
    if (const Status taken = take_over(options); !taken.ok()) return refuse(taken);
  }
  bench::StopSignals signals;
  signals.ask_first(true);
  options.give_up = [&signals] { return signals.requested(); };
  const NodeLog log(flags.text("log_format") == "json" ? LogFormat::kJson : LogFormat::kText, options.node);
  options.database.notices = [&log](const Notice& notice) { log.tell(notice); };
  const auto end_with = [&log](const Status& why) {
    log.flush();
    return refuse(why);
  };
  const bool has_data =
      has_data_directory(options);  // asked now, because the file may lose the node while the node serves
  std::uint64_t served_ns = 0;
  Status ended = live(options, signals, log, served_ns);
  if (ended_as_told(ended, served_ns != 0, options.node, signals, log)) return bench::ExitCode::kOk;
  if (ended.code() != StatusCode::kMembershipLost) return end_with(ended);
  options.database.salvage = false;  // that was for what had been there before
  if (served_ns != 0) options.new_board = false;
  Rejoining rejoining(static_cast<std::uint64_t>(flags.integer("rejoin")), has_data, log);
  while (rejoining.go_on(options.node, ended, std::exchange(served_ns, 0), signals)) {
    ended = live(options, signals, log, served_ns);
    const bool served = served_ns != 0;
    if (served) options.new_board = false;
    if (ended_as_told(ended, served, options.node, signals, log)) return bench::ExitCode::kOk;
    // The node was told to leave, and could not leave in order. This has nothing to do with the membership that an
    // earlier life has lost.
    if (served && signals.requested() && ended.code() != StatusCode::kMembershipLost) return end_with(ended);
  }
  // Damaged data and disk faults need somebody to look at them. After any other error the cause is that the node has
  // lost its membership.
  const bench::ExitCode code = bench::exit_code_of(ended);
  return code == bench::ExitCode::kDamagedData || code == bench::ExitCode::kDiskFault
             ? code
             : bench::ExitCode::kMembershipLost;
}

}  // namespace

const Tool& node_tool() {
  static const Tool tool{
      .group = "node",
      .operand = "",
      .summary = "runs one node of a cluster until SIGTERM",
      .description =
          "Joins the cluster of a cluster file as one of its nodes, opens or recovers the node's database, waits for "
          "the other nodes, and says 'node N of M serves'. SIGTERM, SIGINT or SIGHUP makes it leave in order (exit "
          "code 0). A node that loses its membership starts again with its data, a few times (--rejoin), or ends with "
          "exit code 6. An application with tables of its own is such a node by granary::Cluster (granary/cluster.h).",
      .examples = {"--cluster=cluster.toml --id=1"},
      .flags =
          {bench::flag_of("cluster", kFile, {}, ""), bench::flag_of("id", kNode, {}, ""), bench::start_timeout_flag(),
           bench::integer_flag("rejoin", 8, 0, 1000, "",
                               "How often in a row a node with a data_directory starts again by itself when it has "
                               "lost its membership; 0: it ends with exit code 6 at once."),
           bench::choice_flag(
               "log_format", "text", {"text", "json"},
               "What the node tells, one line each: as text, or as JSON objects with time, severity, topic, "
               "node, generation, configuration and text."),
           bench::switch_flag("moved", false,
                              "The node's data_directory was moved to another file system and is not where it "
                              "was: its log rings, and log directories that stayed, are still its own."),
           bench::switch_flag("new_board", false,
                              "ZooKeeper has lost for good what it knew of the cluster: go on with the node's data at "
                              "what is there now; on every node, which start together."),
           bench::switch_flag("salvage", false,
                              "Open what is left of damaged or missing data, and say what is lost; on every node.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
