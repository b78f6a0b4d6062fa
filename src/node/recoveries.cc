#include "src/node/recoveries.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "src/base/tsc_clock.h"

namespace granary {

std::string_view name(NodeRecovery::Phase phase) {
  constexpr std::array<std::string_view, 5> kNames{"waiting", "settling", "adopting", "given_up", "recovered"};
  return kNames[static_cast<std::size_t>(phase)];
}

}  // namespace granary

namespace granary::db {

using membership::Configuration;
using membership::Owed;

namespace {

NodeRecovery::Phase phase_of(const Owed& debt) {
  switch (debt.phase) {
    case membership::RecoveryPhase::kWaiting: break;
    case membership::RecoveryPhase::kSettling: return NodeRecovery::Phase::kSettling;
    case membership::RecoveryPhase::kAdopting: return NodeRecovery::Phase::kAdopting;
    case membership::RecoveryPhase::kGivenUp: return NodeRecovery::Phase::kGivenUp;
  }
  return NodeRecovery::Phase::kWaiting;
}

}  // namespace

/// A transaction that was decided has written something, so at least one of its debts has a version.
void count_settled(std::span<const log::Debt> debts, const cluster::SettleCounts& settled, RecoveryWork& work) {
  std::set<std::uint64_t> all, decided;
  for (const log::Debt& debt : debts) {
    all.insert(debt.transaction);
    if (debt.version) decided.insert(debt.transaction);
  }
  work.redone_transactions = decided.size();
  work.undone_transactions = all.size() - decided.size();
  work.redone_records = settled.redone;
  work.freed_records = settled.freed;
  work.settled_before = settled.settled_before;
  work.gone_records = settled.gone;
  work.removals = settled.removals;
}

void Recoveries::inherit(const Recoveries& former) {
  const std::scoped_lock lock(mutex_, former.mutex_);
  ended_ = former.ended_;
}

void Recoveries::follow(const Configuration& configuration) {
  const std::lock_guard lock(mutex_);
  for (const Owed& debt : configuration.owed) (void)known(debt);
  std::erase_if(open_, [&](const auto& one) {
    const auto [node, generation] = one.first;
    return one.first != under_way_ && configuration.debt(node, generation) == nullptr;
  });
}

Recoveries::Known& Recoveries::known(const Owed& debt) {
  return open_.try_emplace(life_of(debt), Known{.since_us = base::monotonic_us()}).first->second;
}

void RecoveryTry::end_step(std::uint64_t RecoveryWork::*step_us) {
  const std::uint64_t now_us = base::monotonic_us();
  work.*step_us = now_us - std::exchange(step_began_us_, now_us);
}

void Recoveries::note_progress() { progress_us_.store(base::monotonic_us(), std::memory_order_relaxed); }

std::optional<RecoveryUnderWay> Recoveries::under_way() const {
  const std::lock_guard lock(mutex_);
  if (!under_way_) return std::nullopt;
  const std::uint64_t progress_us = progress_us_.load(std::memory_order_relaxed);
  return RecoveryUnderWay{.node = under_way_->first,
                          .generation = under_way_->second,
                          .directory = directory_,
                          .rests_us = progress_us == kElsewhere ? 0 : base::monotonic_us() - progress_us};
}

RecoveryTry Recoveries::begin(const Owed& debt, const std::string& directory) {
  const std::lock_guard lock(mutex_);
  note_progress();
  directory_ = directory;
  under_way_ = life_of(debt);
  Known& one = known(debt);
  if (one.claimed_us == 0) one.claimed_us = base::monotonic_us();
  RecoveryTry now(one.claimed_us - one.since_us, one.claimed_us);
  one.here = true;
  one.work = now.work;
  one.failure.clear();
  return now;
}

void Recoveries::note(const Owed& debt, const RecoveryWork& work) {
  const std::lock_guard lock(mutex_);
  known(debt).work = work;
}

void Recoveries::fail(const Owed& debt, const std::string& why) {
  const std::lock_guard lock(mutex_);
  under_way_.reset();
  Known& one = known(debt);
  one.failure = why;
  if (!why.empty()) one.claimed_us = 0;
}

void Recoveries::end(const Owed& debt, NodeNumber own, const RecoveryWork& work) {
  const std::lock_guard lock(mutex_);
  const Known& one = known(debt);
  if (ended_.size() == kMostEnded) ended_.pop_front();
  ended_.push_back({.node = debt.node,
                    .generation = debt.generation,
                    .phase = NodeRecovery::Phase::kRecovered,
                    .claimed_by = own,
                    .age_us = base::monotonic_us() - one.since_us,
                    .here = true,
                    .work = work});
  under_way_.reset();
  open_.erase(life_of(debt));
}

std::vector<NodeRecovery> Recoveries::list(const Configuration& configuration) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now_us = base::monotonic_us();
  std::vector<NodeRecovery> all;
  for (const Owed& debt : configuration.owed) {
    const bool over = std::ranges::any_of(
        ended_, [&](const NodeRecovery& one) { return Life(one.node, one.generation) == life_of(debt); });
    if (over) continue;  // this configuration is older than the end of the recovery
    const auto found = open_.find(life_of(debt));
    const Known one = found == open_.end() ? Known{.since_us = now_us} : found->second;
    all.push_back({.node = debt.node,
                   .generation = debt.generation,
                   .phase = phase_of(debt),
                   .claimed_by = debt.claimed_generation == 0 ? NodeNumber{0} : debt.claimed_by,
                   .age_us = now_us - one.since_us,
                   .here = one.here,
                   .work = one.work,
                   .failure = one.failure});
  }
  all.insert(all.end(), ended_.begin(), ended_.end());
  return all;
}

}  // namespace granary::db
