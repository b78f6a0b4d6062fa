// Lets a node recover its own former life if no other node does that: no node that serves sees its directories, or
// those that do have given up, or are told to recover no others. Only this node can settle what its former life owes,
// and before that is settled it cannot come back. So it joins for a short life first, a visit: it recovers its former
// life as any other node would have, and leaves. Meanwhile it has no data, nobody asks it for any, and it takes part in
// no epoch.

#include <fmt/format.h>

#include <algorithm>

#include "cluster_config/membership/member_text.h"
#include "src/base/test_hooks.h"
#include "src/node/cluster_node.h"
#include "src/node/dead_directory.h"
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

/// Whether another node serves that recovers the life. A node that has given up does not count: it may try again, but
/// the dead node would wait for that without end.
bool ClusterNode::recovers_by_itself(const Configuration& configuration, const Owed& debt) const {
  return std::ranges::any_of(configuration.members, [&](const Member& member) {
    const cluster_config::NodeConfig* const node = config_.find(member.id);
    return membership::recovers(member, debt) && node != nullptr && sees_directory(*node, debt);
  });
}

bool ClusterNode::can_be_recovered(const Configuration& configuration, NodeNumber dead) const {
  const auto debt = std::ranges::find(configuration.owed, dead, &Owed::node);
  return recovers_by_itself(configuration, debt != configuration.owed.end() ? *debt : Owed{.node = dead});
}

/// Whether this node, which has yet to join, has to recover the life. It waits instead for another node's try that is
/// under way, and for the visit of the node that lived the life.
bool ClusterNode::has_to_recover(const Configuration& configuration, const Owed& debt) const {
  const bool visited = debt.node != own_.id && configuration.lives(debt.node);
  return options_.recovers_others && sees_directory(own_, debt) && !visited && !configuration.is_claimed(debt) &&
         !recovers_by_itself(configuration, debt);
}

bool ClusterNode::has_to_visit(const Configuration& configuration) const {
  return std::ranges::any_of(configuration.owed, [&](const Owed& debt) { return has_to_recover(configuration, debt); });
}

/// Returns an error if a visit cannot recover anything. A life that begins and ends makes the open transactions of all
/// nodes abort, and a supervisor starts a node again and again. So a node that cannot recover its former life, for
/// example because its log rings are gone, does not join at all.
Status ClusterNode::check_visit(const Configuration& configuration) {
  const auto remembered = [this](NodeNumber id) { return remembered_life(id); };
  Status why;
  for (const Owed& debt : configuration.owed) {
    if (!has_to_recover(configuration, debt)) continue;
    const Status opened = open_dead(configuration, debt, *seen_directory(debt.node), remembered, files_).status();
    if (opened.ok() || opened.code() == StatusCode::kUnavailable) return {};
    if (why.ok())
      why = Status(opened.code(), fmt::format("node {} cannot come back, as {} cannot be recovered: {}", own_.id,
                                              membership::life_text(debt.node, debt.generation), opened.message()));
  }
  return why;
}

/// Visits the cluster until all lives are recovered whose directories this node sees, or until nobody serves any more:
/// then all nodes start together. It does not ask whether another node could recover them by now: if that failed, a
/// next visit would follow. If the cause of a failure may pass by itself, such as a former process that needs many
/// seconds to end, it waits for that until the start's timeout.
Status ClusterNode::visit() {
  tell(NoticeSeverity::kInfo, NoticeTopic::kRecovery,
       "no other node recovers what the former life of this one has left, so it does that before it comes back");
  if (Status told = peers_->announce_visit(); !told.ok()) return told;
  if (Status begun = begin_threads(); !begun.ok()) return begun;
  base::sync_point("visit.began");
  const auto is_seen = [this](const Owed& debt) { return sees_directory(own_, debt); };
  const auto over = [&](const Configuration& found) {
    return std::ranges::none_of(found.owed, is_seen) || !others_serve(found);
  };
  constexpr std::uint64_t kLook_us = 20'000;
  for (std::uint64_t waited_us = 0; waited_us < std::uint64_t{options_.start_timeout_ms} * 1000;
       waited_us += kLook_us) {
    if (membership_->wait_until(over, kLook_us)) return leave();
    if (Status member = membership_->status(); !member.ok()) return member;
    if (Status failed = failure_of_visit(); !failed.ok()) return failed;
  }
  if (Status failed = recoverer_->failure(); !failed.ok()) return failed;
  const auto found = membership_->configuration();
  const auto left = std::ranges::find_if(found->owed, is_seen);
  return Status(StatusCode::kUnavailable,
                fmt::format("node {} cannot come back after {} ms{}", own_.id, options_.start_timeout_ms,
                            left == found->owed.end() ? "" : ", since " + membership::debt_text(*left)));
}

/// Returns why the visit recovers nothing more; OK while one of the lives that it sees may still be recovered.
Status ClusterNode::failure_of_visit() const {
  const auto found = membership_->configuration();
  Status why;
  for (const Owed& debt : found->owed) {
    if (!sees_directory(own_, debt)) continue;
    const Status failed = recoverer_->failure_of(debt);
    if (failed.ok() || failed.code() == StatusCode::kUnavailable) return {};
    if (why.ok()) why = failed;
  }
  return why;
}

bool ClusterNode::others_serve(const Configuration& configuration) const {
  return std::ranges::any_of(configuration.members, [this](const Member& member) {
    return member.state == MemberState::kServing && member.id != own_.id;
  });
}

}  // namespace granary::db
