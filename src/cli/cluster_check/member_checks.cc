#include "src/cli/cluster_check/member_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/member_text.h"
#include "src/node/node_fabric.h"
#include "src/node/prepare_directories.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using membership::Configuration;
using membership::Member;

/// Returns the finding for a board that cannot be read. A board that does not answer may do so later; any other error
/// keeps a node from starting as well.
Finding unseen(const Status& why) {
  if (why.code() != StatusCode::kUnavailable)
    return {.subject = "members",
            .verdict = Verdict::kBad,
            .found = why.message(),
            .mend = "mend what is named; no node starts before"};
  return {.subject = "members",
          .verdict = Verdict::kWarning,
          .found = "not compared with nodes that run: " + why.message(),
          .mend = "nodes that start compare themselves"};
}

Finding compare(const Member& member, std::uint64_t protocol) {
  const std::string release = member.release.empty() ? "of an older release" : member.release;
  Finding finding{.subject = fmt::format("member {}", member.id), .found = fmt::format("runs granary {}", release)};
  if (member.protocol == protocol) return finding;
  finding.verdict = Verdict::kBad;
  finding.found += ", which cannot work together with this one";
  finding.mend = "run the same Granary on all nodes";
  return finding;
}

/// Returns what to do about a dead life that is yet to be recovered. Nothing needs to be done if a node that runs sees
/// its directory.
std::string way_out(const ClusterConfig& config, const Configuration& configuration, const membership::Owed& debt) {
  const cluster_config::NodeConfig* const dead = config.find(debt.node);
  if (dead == nullptr) return "the cluster file has no such node any more: put it back, and start it";
  if (dead->data_directory.empty()) return "it keeps no data: end all nodes, then start all of them";
  bool serves = false;
  const Member* seen_by = nullptr;
  for (const Member& member : configuration.members) {
    const cluster_config::NodeConfig* const node = config.find(member.id);
    if (node == nullptr || member.state != membership::MemberState::kServing) continue;
    serves = true;
    if (!db::sees(config, *node, *dead)) continue;
    seen_by = &member;
    if (!membership::recovers(member, debt)) continue;
    return fmt::format(
        "node {} sees its directory, and recovers it or says in its notices why it cannot; if log rings "
        "are lost, end all nodes, then start all of them",
        member.id);
  }
  if (!serves) return "start all nodes: they recover the whole cluster";
  if (seen_by != nullptr)
    return fmt::format(
        "node {} sees its directory and does not recover it, as its notices say: start node {}, which tries it itself; "
        "if log rings are lost, end all nodes, then start all of them",
        seen_by->id, debt.node);
  return fmt::format("no node that serves sees its directory: start node {}, which recovers it itself", debt.node);
}

Finding debt_of(const ClusterConfig& config, const Configuration& configuration, const membership::Owed& debt) {
  // Results wait for logs only where they are released as durable ones.
  const bool waits = cluster_config::has_logs(config) && config.release == Release::kDurable;
  const bool claimed = debt.claimed_generation != 0 && configuration.lives(debt.claimed_by);
  return {.subject = fmt::format("dead node {}", debt.node),
          .verdict = Verdict::kWarning,
          .found = membership::debt_text(debt) + (waits ? ": no results are released" : ""),
          .mend = claimed ? fmt::format("node {} is at it, and says how it goes in its notices", debt.claimed_by)
                          : way_out(config, configuration, debt)};
}

/// Returns the finding for a dead node whose life was recovered. Such a node owes nothing, so that only its member
/// tells of it.
Finding not_back(const Member& member) {
  return {.subject = fmt::format("dead node {}", member.id),
          .verdict = Verdict::kWarning,
          .found = "it has been recovered; its records cannot be reached until it is started again",
          .mend = fmt::format("start node {}", member.id)};
}

Finding of_another_cluster(const ClusterConfig& config, const std::string& board, const Configuration& configuration) {
  return {.subject = "members",
          .verdict = Verdict::kBad,
          .found = fmt::format("{} is used by cluster '{}', not '{}'", board, configuration.cluster, config.name),
          .mend = "give each cluster its own: 'chroot' at ZooKeeper, else 'run_directory'"};
}

}  // namespace

Findings check_members(const ClusterConfig& config, std::uint64_t protocol) {
  const bool local = config.membership.kind == cluster_config::MembershipKind::kLocal;
  std::error_code none;
  if (local && !std::filesystem::exists(config.run_directory + "/membership", none))
    return {};  // opening the board would make it
  const auto board = db::open_board(config);
  if (!board.ok()) return {unseen(board.status())};
  const auto document = (*board)->read();
  if (document.status().code() == StatusCode::kNotFound) return {};
  if (!document.ok()) return {unseen(document.status())};
  const Result<Configuration> configuration = membership::configuration_of(document->text);
  if (!configuration.ok()) return {unseen(configuration.status())};
  if (configuration->cluster != config.name) return {of_another_cluster(config, (*board)->name(), *configuration)};
  const auto marks = (*board)->marks();
  if (!marks.ok()) return {unseen(marks.status())};
  Findings findings;
  for (const Member& member : configuration->members) {
    const bool runs = member.live() && std::ranges::find(marks->nodes, member.id) != marks->nodes.end();
    if (runs) findings.push_back(compare(member, protocol));
    const bool owes =
        std::ranges::find(configuration->owed, member.id, &membership::Owed::node) != configuration->owed.end();
    if (member.state == membership::MemberState::kDead && !owes) findings.push_back(not_back(member));
  }
  for (const membership::Owed& debt : configuration->owed) findings.push_back(debt_of(config, *configuration, debt));
  return findings;
}

}  // namespace granary::cluster_check
