// Looks after the other nodes when lives have ended or begun: acts in the new membership, recovers dead nodes, and
// learns where those that came back have their tables. The survivor's thread calls all of it.

#include <fmt/format.h>

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cluster/cluster_epoch/member.h"
#include "src/db/engine.h"
#include "src/node/cluster_node.h"
#include "src/node/node_life.h"
#include "src/node/prepare_directories.h"

namespace granary::db {

using membership::Configuration;
using membership::Member;
using membership::MemberState;

SurvivorDuties ClusterNode::survivor_duties() {
  return {
      .cut_off = [this](membership::NodeId node, membership::Generation last) { return fabric_->cut_off(node, last); },
      .act = [this](const Configuration& configuration) { act_in(configuration); },
      .follow = [this](const Configuration& configuration) { return look_after_others(configuration); },
      .durable = [this] { return control_block().by_node.durable.load(std::memory_order_acquire); },
      .warn = [this](const std::string& text) { tell(NoticeSeverity::kWarning, NoticeTopic::kRecovery, text); }};
}

/// Acts in the new membership. It limits snapshots first, since E goes on from then.
void ClusterNode::act_in(const Configuration& configuration) {
  forget_ended(configuration);
  take_back_lent(configuration);
  epoch::EpochManager& epochs = database_->engine().epochs();
  if (!configuration.owed.empty() && cluster_config::has_logs(config_))
    epochs.limit_snapshots(epochs.snapshot_of(epochs.current()));
  cluster::act_in(configuration.number, control_block());
}

/// Takes back memory that was lent to lives which have ended; they are cut off by now. A later life of the same node is
/// served only when this node is quiet about their end, which it is not before it acts. A life that this thread meets
/// for the first time keeps what it has borrowed: it may have asked before this thread was told of it.
void ClusterNode::take_back_lent(const Configuration& configuration) {
  for (const Member& member : configuration.members) {
    const membership::Generation lives = member.live() ? member.generation : 0;
    const membership::Generation before = std::exchange(lends_to_[member.id], lives);
    if (before != 0 && before != lives) service_.forget(member.id);
  }
}

bool ClusterNode::look_after_others(const Configuration& configuration) {
  leader_->follow(configuration);
  if (configuration.owed.empty()) database_->engine().epochs().unlimit_snapshots();
  forget_ended(configuration);  // lives that ended while this node was starting
  learn_returned(configuration);
  drop_former_tables();
  const bool more_to_recover = options_.recovers_others && recoverer_->step(configuration);
  return more_to_recover || !former_tables_.empty();
}

void ClusterNode::forget_ended(const Configuration& configuration) {
  if (!may_learn_.load(std::memory_order_acquire)) return;
  for (const Member& member : configuration.members) {
    cluster::FormerLife former = directory_.forget_former(member.id, member.live() ? member.generation : 0);
    if (former != nullptr) former_tables_.emplace_back(database_->engine().epochs().current(), std::move(former));
  }
}

void ClusterNode::learn_returned(const Configuration& configuration) {
  if (!may_learn_.load(std::memory_order_acquire)) return;
  for (const Member& member : configuration.members) {
    const bool back = member.state == MemberState::kServing && member.id != own_.id &&
                      config_.find(member.id) != nullptr && learned_[member.id] != member.generation;
    if (!back) continue;
    if (membership_->configuration()->number != configuration.number) return;  // the node may be gone
    base::sync_point("survivor.learns");
    const auto theirs = ask_for_tables(member.id, [this](cluster::messages::Question& question) -> Result<bool> {
      survivor_worker_->messenger().ask(question);
      return question.outcome() == cluster::messages::AskOutcome::kAnswered;
    });
    if (!*theirs) continue;  // it is asked again
    learned_[member.id] = member.generation;
    if (const Status same = compare_tables(service_.description(), member.id, **theirs); !same.ok()) {
      tell(NoticeSeverity::kError, NoticeTopic::kPeers, same.message() + ", so this node uses none of its tables");
      continue;
    }
    cluster::FormerLife former = directory_.learn(member.id, member.generation, **theirs);
    if (former != nullptr) former_tables_.emplace_back(database_->engine().epochs().current(), std::move(former));
  }
}

void ClusterNode::drop_former_tables() {
  if (former_tables_.empty()) return;
  const epoch::Epoch complete = database_->engine().epochs().complete();
  std::erase_if(former_tables_, [complete](const auto& former) { return former.first <= complete; });
}

/// Returns the options of a node's database, if this node sees its directories.
std::optional<Options> ClusterNode::seen_directory(NodeNumber id) const {
  const cluster_config::NodeConfig* const node = config_.find(id);
  if (node == nullptr || node->data_directory.empty() || !sees(config_, own_, *node)) return std::nullopt;
  return database_options(options_, config_, *node);
}

Result<membership::Generation> ClusterNode::remembered_life(NodeNumber id) const {
  const auto life = read_life(config_, *config_.find(id), /*salvage=*/false);
  if (!life.ok()) return life.status();
  return life->generation;
}

RecovererParts ClusterNode::recoverer_parts() {
  return {.membership = *membership_,
          .files = files_,
          .directory_of = [this](membership::NodeId id) { return seen_directory(id); },
          .remembered = [this](membership::NodeId id) { return remembered_life(id); },
          .settle =
              [this](std::span<const log::Debt> debts, const std::function<bool()>& may_act) {
                return survivor_worker_->settle(debts, settle_room_, may_act);
              },
          .epoch = [this] { return database_->engine().epochs().current(); },
          .tell = [this](NoticeSeverity severity,
                         std::string text) { tell(severity, NoticeTopic::kRecovery, std::move(text)); },
          .recoveries = recoveries_};
}

/// Whether a node that cannot be used now is being recovered, or is on its way back. It is not if no node can recover
/// it, or if somebody has to start it first.
bool ClusterNode::comes_back(NodeNumber node) const {
  const auto configuration = membership_->configuration();
  const Member* const member = configuration->find(node);
  if (member != nullptr && member->live()) return member->state != MemberState::kServing;
  return std::ranges::any_of(configuration->owed, [&](const membership::Owed& debt) {
    if (debt.node != node) return false;
    const bool claimed = configuration->is_claimed(debt) && debt.phase != membership::RecoveryPhase::kGivenUp;
    return claimed || recovers_by_itself(*configuration, debt);
  });
}

}  // namespace granary::db
