#include "src/cli/cluster_here.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "bench/harness/trial.h"
#include "cluster_config/load.h"
#include "src/base/print.h"
#include "src/cli/cluster_check/directory_checks.h"
#include "src/cli/cluster_check/machine_checks.h"
#include "src/cli/cluster_check/member_checks.h"
#include "src/cli/cluster_check/service_checks.h"
#include "src/node/cluster_protocol.h"

namespace granary::cli {
using cluster_check::append;
using cluster_check::Findings;

bench::ExitCode read_cluster(const std::string& file, std::uint16_t id, ClusterHere& cluster) {
  cluster_config::Problems problems(file);
  auto config = cluster_config::examine(file, problems);
  if (!config.ok()) return bench::refuse(bench::exit_code_of(config.status()), config.status().message());
  if (!problems.empty()) {
    for (const std::string& line : problems.lines()) base::print(stderr, "granary: {}\n", line);
    return bench::ExitCode::kUsage;
  }
  cluster.config = std::move(config).value();
  cluster.machine = cluster_check::this_machine(traits(cluster.config.provider).devices);
  cluster.here = cluster_check::nodes_here(cluster.config, cluster.machine);
  if (id == 0) return bench::ExitCode::kOk;
  const cluster_config::NodeConfig* const node = cluster.config.find(id);
  if (node == nullptr)
    return bench::refuse(bench::ExitCode::kUsage, fmt::format("--id={}: '{}' has no such node", id, file));
  cluster.here = {*node};
  return bench::ExitCode::kOk;
}

Findings findings_of(const ClusterHere& cluster) {
  Findings findings = cluster_check::check_directories(cluster.config, cluster.here);
  if (cluster.here.empty()) {
    findings.push_back(
        {.subject = "nodes",
         .verdict = cluster_check::Verdict::kWarning,
         .found = "none of the file's runs on this host",
         .mend = fmt::format("'host = \"{}\"' makes a node one of it; or give --id", cluster.machine.host_name)});
  } else {
    append(findings, cluster_check::check_machine(cluster.config, cluster.here, cluster.machine));
  }
  Findings services = cluster_check::check_services(cluster.config);
  const std::string unseen = cluster_check::why_no_membership(services);
  append(findings, std::move(services));
  if (unseen.empty()) {
    append(findings, cluster_check::check_members(cluster.config, db::cluster_protocol()));
  } else {
    findings.push_back({.subject = "members",
                        .verdict = cluster_check::Verdict::kWarning,
                        .found = "not looked at: " + unseen,
                        .mend = "mend ZooKeeper, and check again"});
  }
  return findings;
}

}  // namespace granary::cli
