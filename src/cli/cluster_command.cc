// `granary cluster check FILE` and `granary cluster key FILE`.

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/harness/trial.h"
#include "cluster_config/key_file.h"
#include "cluster_config/load.h"
#include "src/base/build_info.h"
#include "src/base/print.h"
#include "src/cli/cluster_check/directory_checks.h"
#include "src/cli/cluster_check/machine_checks.h"
#include "src/cli/cluster_check/member_checks.h"
#include "src/cli/cluster_check/service_checks.h"
#include "src/cli/tool.h"
#include "src/node/cluster_protocol.h"

namespace granary::cli {
namespace {

using cluster_check::Findings;
using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

void append(Findings& findings, Findings more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Findings findings_of(const ClusterConfig& config, const std::vector<NodeConfig>& here,
                     const cluster_check::Machine& machine) {
  Findings findings = cluster_check::check_directories(config, here);
  if (here.empty()) {
    findings.push_back(
        {.subject = "nodes",
         .verdict = cluster_check::Verdict::kWarning,
         .found = "none of the file's runs on this host",
         .mend = fmt::format("'host = \"{}\"' makes a node one of it; or give --id", machine.host_name)});
  } else {
    append(findings, cluster_check::check_machine(config, here, machine));
  }
  Findings services = cluster_check::check_services(config);
  const bool board_answers = !cluster_check::any_bad(services);
  append(findings, std::move(services));
  if (board_answers) append(findings, cluster_check::check_members(config, db::cluster_protocol()));
  return findings;
}

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
    base::print("cluster '{}', {} nodes over {}, fingerprint {} (must be alike on all hosts)\n", config.name,
                config.nodes.size(), name(config.provider), fingerprint);
    base::print("on this host: {}; granary {}\n\n{}", ids.empty() ? "no node" : fmt::format("{}", fmt::join(ids, ", ")),
                base::version_text(), cluster_check::text_of(findings));
    base::print("\n{}\n", bad ? "not ok: nodes would not start here, or would not work" : "ok");
  }
  return bad ? bench::ExitCode::kCheckFailed : bench::ExitCode::kOk;
}

bench::ExitCode check(const std::string& file, const bench::FlagValues& flags) {
  cluster_config::Problems problems(file);
  const auto config = cluster_config::examine(file, problems);
  if (!config.ok()) return bench::refuse(bench::exit_code_of(config.status()), config.status().message());
  if (!problems.empty()) {
    for (const std::string& line : problems.lines()) base::print(stderr, "granary: {}\n", line);
    return bench::ExitCode::kUsage;
  }
  const cluster_check::Machine machine = cluster_check::this_machine(traits(config->provider).devices);
  std::vector<NodeConfig> here = cluster_check::nodes_here(*config, machine);
  if (const std::uint64_t id = flags.integer("id"); id != 0) {
    const NodeConfig* const node = config->find(static_cast<std::uint16_t>(id));
    if (node == nullptr)
      return bench::refuse(bench::ExitCode::kUsage, fmt::format("--id={}: '{}' has no such node", id, file));
    here = {*node};
  }
  return show(*config, here, findings_of(*config, here, machine), flags.enabled("json"));
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
          "is none, looks "
          "whether "
          "this machine has what its nodes need: key, directories, memory, huge pages, locked memory, CPUs, devices, "
          "addresses, and whether other hosts, the clock and ZooKeeper answer. Says for each what to do. Exit code 1 "
          "if a "
          "node would not start or not work.",
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
