// `granary node`: one node of a cluster, which has no tables of its own program.

#include <time.h>

#include <cstdio>

#include <fmt/format.h>
#include <granary/cluster.h>

#include "bench/harness/stop_signals.h"
#include "bench/harness/trial.h"
#include "cluster_config/config.h"
#include "src/base/print.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

constexpr std::uint64_t kLook_ns = 50'000'000;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

bench::ExitCode refuse(const Status& status) { return bench::refuse(bench::exit_code_of(status), status.message()); }

/// Serves until it is told to stop, or is no member any more.
Status serve(Cluster& cluster) {
  bench::StopSignals signals;
  signals.ask_first(true);
  base::print("node {} of {} serves\n", cluster.node(), cluster.nodes().size());
  std::fflush(stdout);
  while (cluster.status().ok() && !signals.wait_until(now_ns() + kLook_ns)) {
  }
  return cluster.status().ok() ? cluster.leave() : cluster.status();
}

bench::ExitCode run(const std::string&, const bench::FlagValues& flags) {
  if (!flags.given("cluster")) return bench::refuse(bench::ExitCode::kUsage, "node: --cluster is missing");
  if (flags.integer("id") == 0) return bench::refuse(bench::ExitCode::kUsage, "node: --id is missing");
  ClusterOptions options{.file = flags.text("cluster"),
                         .node = static_cast<NodeNumber>(flags.integer("id")),
                         .start_timeout_ms = static_cast<std::uint32_t>(flags.integer("start_timeout") * 1000)};
  options.database.salvage = flags.enabled("salvage");
  auto cluster = Cluster::join(options);
  if (!cluster.ok()) return refuse(cluster.status());
  if (const Status status = (*cluster)->start(); !status.ok()) return refuse(status);
  if (const Status status = serve(**cluster); !status.ok()) {
    // The cluster has said why it was lost.
    return status.code() == StatusCode::kMembershipLost ? bench::ExitCode::kMembershipLost : refuse(status);
  }
  base::print("node {} has left\n", (*cluster)->node());
  return bench::ExitCode::kOk;
}

}  // namespace

const Tool& node_tool() {
  static const Tool tool{
      .group = "node",
      .operand = "",
      .summary = "runs one node of a cluster until SIGTERM",
      .description =
          "Joins the cluster of a cluster file as one of its nodes, opens or recovers the node's database, waits for "
          "the "
          "other nodes, and says 'node N of M serves'. SIGTERM, SIGINT or SIGHUP makes it leave in order (exit code "
          "0). A "
          "node that loses its membership ends with exit code 6. An application with tables of its own is such a node "
          "by "
          "granary::Cluster (granary/cluster.h).",
      .examples = {"--cluster=cluster.toml --id=1"},
      .flags = {bench::text_flag("cluster", "", "FILE", "The cluster file; the same on all hosts."),
                bench::integer_flag("id", 0, 0, cluster_config::kGreatestNodeId, "",
                                    "Which of its nodes this one is; 0 is none."),
                bench::integer_flag("start_timeout", 60, 1, 3600, "seconds", "How long to wait for the other nodes."),
                bench::switch_flag(
                    "salvage", false,
                    "Open what is left of damaged or missing data, and say what is lost; on every node.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
