// A node of which nobody else sees the directories. What its former life owes can only be settled when the node is
// there again, and before that it cannot come back. So it joins for a short life first, a visit: it recovers its former
// one as any other node would have, and leaves. Meanwhile it has no data, nobody asks it for any, and it takes part in
// no epoch.

#include <fmt/format.h>

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/node/cluster_node.h"
#include "src/node/prepare_directories.h"

namespace granary::db {

using membership::Configuration;
using membership::Member;
using membership::MemberState;
using membership::Owed;

bool ClusterNode::sees_directory(const cluster_config::NodeConfig& node, const Owed& debt) const {
  const cluster_config::NodeConfig* const dead = config_.find(debt.node);
  return dead != nullptr && !dead->data_directory.empty() && sees(config_, node, *dead);
}

/// Whether another node serves that can recover the life.
bool ClusterNode::recovers_by_itself(const Configuration& configuration, const Owed& debt) const {
  return std::ranges::any_of(configuration.members, [&](const Member& member) {
    const cluster_config::NodeConfig* const node = config_.find(member.id);
    return member.state == MemberState::kServing && member.id != debt.node && node != nullptr &&
           sees_directory(*node, debt);
  });
}

/// Whether a life owes something that this node can recover, and no node that serves can.
bool ClusterNode::has_to_visit(const Configuration& configuration) const {
  return options_.recovers_others && std::ranges::any_of(configuration.owed, [&](const Owed& debt) {
           return sees_directory(own_, debt) && !recovers_by_itself(configuration, debt);
         });
}

/// Ends as soon as there is nothing more to recover for it, also because nobody serves any more: then all nodes start
/// together. A cause that may pass by itself is waited for, however long it takes within the start: a former process
/// that needs many seconds to end, for one.
Status ClusterNode::visit() {
  tell(NoticeSeverity::kInfo, NoticeTopic::kRecovery,
       "no other node sees what the former life of this one has left, so it recovers that before it comes back");
  if (Status told = peers_->announce_visit(); !told.ok()) return told;
  if (Status begun = begin_threads(); !begun.ok()) return begun;
  base::sync_point("visit.began");
  const auto over = [this](const Configuration& found) { return !has_to_visit(found) || !others_serve(found); };
  constexpr std::uint64_t kLook_us = 20'000;
  for (std::uint64_t waited_us = 0; waited_us < std::uint64_t{options_.start_timeout_ms} * 1000;
       waited_us += kLook_us) {
    if (membership_->wait_until(over, kLook_us)) return leave();
    if (Status member = membership_->status(); !member.ok()) return member;
    if (Status failed = recoverer_->failure(); !failed.ok() && failed.code() != StatusCode::kUnavailable) return failed;
  }
  if (Status failed = recoverer_->failure(); !failed.ok()) return failed;
  return Status(StatusCode::kUnavailable,
                fmt::format("node {} has not recovered its former life after {} ms, so it cannot come back", own_.id,
                            options_.start_timeout_ms));
}

bool ClusterNode::others_serve(const Configuration& configuration) const {
  return std::ranges::any_of(configuration.members, [this](const Member& member) {
    return member.state == MemberState::kServing && member.id != own_.id;
  });
}

}  // namespace granary::db
