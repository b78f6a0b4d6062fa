#include "src/cli/cluster_check/member_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cluster_config/membership/board.h"
#include "src/node/node_fabric.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using membership::Configuration;
using membership::Member;

Finding unseen(const Status& why) {
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

}  // namespace

Findings check_members(const ClusterConfig& config, std::uint64_t protocol) {
  const bool local = config.membership.kind == cluster_config::MembershipKind::kLocal;
  std::error_code none;
  if (local && !std::filesystem::exists(config.run_directory + "/membership", none))
    return {};  // opening would make it
  const auto board = db::open_board(config);
  if (!board.ok()) return {unseen(board.status())};
  const auto document = (*board)->read();
  if (document.status().code() == StatusCode::kNotFound) return {};
  if (!document.ok()) return {unseen(document.status())};
  const Result<Configuration> configuration = membership::configuration_of(document->text);
  if (!configuration.ok()) return {unseen(configuration.status())};
  const auto marks = (*board)->marks();
  if (!marks.ok()) return {unseen(marks.status())};
  Findings findings;
  for (const Member& member : configuration->members) {
    const bool runs = member.live() && std::ranges::find(marks->nodes, member.id) != marks->nodes.end();
    if (runs) findings.push_back(compare(member, protocol));
  }
  return findings;
}

}  // namespace granary::cluster_check
