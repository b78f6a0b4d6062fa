#include "src/cluster/cluster_epoch/plan.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {
namespace {

using base::injected;
using epoch::Configuration;
using epoch::Epoch;

/// A member that may have transactions open.
bool serves(const MemberView& member, Configuration configuration) {
  return member.own.serving || member.admitted == configuration;
}

/// The words that all members share.
struct Goal {
  Epoch epoch = 0;
  Epoch durable = 0;
  Epoch snapshot_reclamation = 0;
  Epoch checkpoint = 0;
};

Raise raise_to(const Goal& goal, const MemberView& member) {
  return {
      .epoch = member.epoch < goal.epoch ? goal.epoch : 0,
      .durable = member.durable < goal.durable ? goal.durable : 0,
      .snapshot_reclamation = member.snapshot_reclamation < goal.snapshot_reclamation ? goal.snapshot_reclamation : 0,
      .checkpoint = member.checkpoint < goal.checkpoint ? goal.checkpoint : 0};
}

/// Where the members are: the greatest E of those that serve, or of all if none does yet.
Goal common(Configuration configuration, std::span<const MemberView> members) {
  const bool some_serve =
      std::any_of(members.begin(), members.end(), [&](const MemberView& one) { return serves(one, configuration); });
  Goal goal;
  for (const MemberView& member : members) {
    if (!some_serve || serves(member, configuration)) goal.epoch = std::max(goal.epoch, member.epoch);
    goal.durable = std::max(goal.durable, member.durable);
    goal.snapshot_reclamation = std::max(goal.snapshot_reclamation, member.snapshot_reclamation);
    goal.checkpoint = std::max(goal.checkpoint, member.checkpoint);
  }
  return goal;
}

/// Brings the members to the common words, and admits those that have them: one thing at a time, as the words must be
/// there when the node sees that it is admitted. False if there is nothing to do.
bool settle(const Goal& goal, Configuration configuration, std::span<const MemberView> members, Plan& plan) {
  bool open = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const MemberView& member = members[i];
    Raise& raise = plan.raises[i];
    if (serves(member, configuration)) {
      if (member.epoch == goal.epoch || injected("advance-unfinished")) continue;
      // At most 1 behind. If it seems further, it has moved on since it was READ: look again.
      if (member.epoch + 1 == goal.epoch) raise = raise_to(goal, member);
      open = true;
      continue;
    }
    if (!injected("join-from-own-epoch")) raise = raise_to(goal, member);
    if (raise.nothing() && member.epoch <= goal.epoch) raise.admitted = configuration;
    open |= !raise.nothing();
  }
  return open;
}

/// A member that holds E back, or members.size().
std::size_t held_by(const Goal& goal, std::span<const MemberView> members) {
  const auto holds = [&](const MemberView& member) {
    if (injected("advance-unseen")) return false;
    if (injected("advance-unfinished") && member.epoch < goal.epoch) return false;
    return member.own.oldest < goal.epoch;
  };
  return static_cast<std::size_t>(std::find_if(members.begin(), members.end(), holds) - members.begin());
}

Goal next(const Goal& goal, Configuration configuration, std::span<const MemberView> members, const Going& going) {
  constexpr Epoch kAll = ~Epoch{0};
  Goal to{.epoch = goal.epoch + 1, .durable = kAll, .snapshot_reclamation = kAll, .checkpoint = kAll};
  for (const MemberView& member : members) {
    if (!serves(member, configuration)) continue;
    if (to.durable == kAll || !injected("durable-of-one-node")) to.durable = std::min(to.durable, member.own.durable);
    to.snapshot_reclamation = std::min(to.snapshot_reclamation, member.own.oldest_snapshot);
    to.checkpoint = std::min(to.checkpoint, member.own.checkpoint);
  }
  to.durable = going.durable ? std::max(to.durable, goal.durable) : goal.durable;
  to.checkpoint = going.checkpoints ? std::max(to.checkpoint, goal.checkpoint) : goal.checkpoint;
  to.snapshot_reclamation = std::max(to.snapshot_reclamation, Epoch{1}) - 1;
  return to;
}

/// Returns the serving member whose log has the least.
std::size_t least_durable(Configuration configuration, std::span<const MemberView> members) {
  std::size_t least = 0;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const bool less = members[i].own.durable < members[least].own.durable || !serves(members[least], configuration);
    if (serves(members[i], configuration) && less) least = i;
  }
  return least;
}

}  // namespace

MemberView view(const epoch::ControlBlock& block) {
  const auto read = [](const auto& word) { return word.load(std::memory_order_relaxed); };  // a copy, nobody's but ours
  return {.epoch = read(block.by_leader.epoch),
          .durable = read(block.by_leader.durable),
          .snapshot_reclamation = read(block.by_leader.snapshot_reclamation),
          .admitted = read(block.by_leader.admitted),
          .checkpoint = read(block.by_leader.checkpoint),
          .own = {.oldest = read(block.by_node.oldest),
                  .durable = read(block.by_node.durable),
                  .oldest_snapshot = read(block.by_node.oldest_snapshot),
                  .configuration = read(block.by_node.configuration),
                  .serving = read(block.by_node.serving) != 0,
                  .checkpoint = read(block.by_node.checkpoint)}};
}

Plan plan_turn(Configuration configuration, std::span<const MemberView> members, const Going& going) {
  Plan plan{.raises = std::vector<Raise>(members.size())};
  const auto stop = [&](Turn turn, std::size_t member) {
    plan.turn = turn;
    plan.member = member;
    plan.raises.clear();
    return plan;
  };
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].own.configuration > configuration) return stop(Turn::kSuperseded, i);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].own.configuration < configuration) return stop(Turn::kWaiting, i);
  }
  const Goal goal = common(configuration, members);
  plan.epoch = goal.epoch;
  if (settle(goal, configuration, members, plan)) {
    plan.turn = Turn::kSettling;
    return plan;
  }
  plan.hurry = std::any_of(members.begin(), members.end(),
                           [&](const MemberView& member) { return !serves(member, configuration); });
  const std::size_t holder = held_by(goal, members);
  if (holder != members.size()) return stop(Turn::kWaiting, holder);
  if (goal.epoch >= epoch::kLastEpoch) return stop(Turn::kWaiting, 0);
  const Goal to = next(goal, configuration, members, going);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (serves(members[i], configuration)) plan.raises[i] = raise_to(to, members[i]);
  }
  base::debug_invariant("I7", [&] {
    return std::all_of(members.begin(), members.end(),
                       [&](const MemberView& member) { return member.own.oldest >= goal.epoch; });
  });
  plan.turn = Turn::kAdvanced;
  plan.member = least_durable(configuration, members);
  return plan;
}

}  // namespace granary::cluster
