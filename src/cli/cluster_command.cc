// `granary cluster check FILE` and `granary cluster key FILE`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/trial.h"
#include "cluster_config/key_file.h"
#include "cluster_config/load.h"
#include "src/base/build_info.h"
#include "src/base/print.h"
#include "src/cli/cluster_here.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using cluster_check::Findings;
using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

bench::ExitCode show(const ClusterConfig& config, const std::vector<NodeConfig>& here, const Findings& findings,
                     bool as_json) {
  std::vector<std::uint16_t> ids;
  for (const NodeConfig& node : here) ids.push_back(node.id);
  const bool bad = cluster_check::any_bad(findings);
  const std::string fingerprint = fmt::format("{:016x}", cluster_config::fingerprint(config));
  if (as_json) {
    nlohmann::ordered_json json{{"file", config.file},
                                {"cluster", config.name},
                                {"fingerprint", fingerprint},
                                {"version", base::version_text()},
                                {"nodes", config.nodes.size()},
                                {"here", ids},
                                {"ok", !bad},
                                {"findings", json_of(findings)}};
    base::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    base::print("cluster '{}', {} node{} over {}, fingerprint {} (must be alike on all hosts)\n", config.name,
                config.nodes.size(), config.nodes.size() == 1 ? "" : "s", name(config.provider), fingerprint);
    base::print("on this host: {}; granary {}\n\n{}", ids.empty() ? "no node" : fmt::format("{}", fmt::join(ids, ", ")),
                base::version_text(), cluster_check::text_of(findings));
    base::print("\n{}\n", bad ? "not ok: nodes would not start here, or would not work" : "ok");
  }
  return bad ? bench::ExitCode::kCheckFailed : bench::ExitCode::kOk;
}

bench::ExitCode check(const std::string& file, const bench::FlagValues& flags) {
  ClusterHere cluster;
  const auto code = read_cluster(file, static_cast<std::uint16_t>(flags.integer("id")), cluster);
  if (code != bench::ExitCode::kOk) return code;
  return show(cluster.config, cluster.here, findings_of(cluster), flags.enabled("json"));
}

bench::ExitCode make_key(const std::string& file, const bench::FlagValues&) {
  const Status status = cluster_config::make_key(file);
  if (!status.ok()) return bench::refuse(bench::exit_code_of(status), status.message());
  base::print("'{}' holds a new cluster key; copy it to each host of the cluster, readable by the nodes' user only\n",
              file);
  return bench::ExitCode::kOk;
}

}  // namespace

const Tool& cluster_check_tool() {
  static const Tool tool{
      .group = "cluster",
      .name = "check",
      .operand = "FILE",
      .summary = "is a cluster file right, and can this host run its nodes?",
      .description =
          "Lists all mistakes of a cluster file, each with its line ('granary help options' tells its keys). If there "
          "is none, looks whether this machine has what its nodes need: key, directories, memory, huge pages, locked "
          "memory, CPUs, devices, addresses, and whether other hosts, the clock and ZooKeeper answer. Says for each "
          "what to do. Exit code 1 if a node would not start or not work.",
      .examples = {"cluster.toml", "cluster.toml --id=2 --json"},
      .flags = {bench::integer_flag("id", 0, 0, cluster_config::kGreatestNodeId, "",
                                    "Looks at the machine as that of this node; 0: of all nodes with its name."),
                bench::switch_flag("json", false, "Prints JSON instead of a table.")},
      .run = check,
  };
  return tool;
}

const Tool& cluster_key_tool() {
  static const Tool tool{
      .group = "cluster",
      .name = "key",
      .operand = "FILE",
      .summary = "makes a file with a new cluster key",
      .description =
          "The key is random; nodes prove to each other that they have the same. An existing file is left alone.",
      .examples = {"/etc/granary/bank.key"},
      .run = make_key,
  };
  return tool;
}

}  // namespace granary::cli
