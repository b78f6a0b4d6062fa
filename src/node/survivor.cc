#include "src/node/survivor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/test_hooks.h"
#include "src/base/threads.h"

namespace granary::db {

using membership::Configuration;
using membership::Member;

namespace {

constexpr std::chrono::milliseconds kSoon(1);
constexpr std::chrono::milliseconds kLater(200);

}  // namespace

Survivor::Survivor(membership::Membership& membership, const epoch::EpochManager& epochs, SurvivorDuties duties)
    : membership_(membership),
      turns_(membership, epochs, std::move(duties)),
      thread_([this] { run(); }) {}

void Survivor::follow(const Configuration& configuration) {
  {
    const std::lock_guard lock(mutex_);
    if (newest_ != nullptr && newest_->version >= configuration.version) return;
    newest_ = std::make_shared<const Configuration>(configuration);
  }
  changed_.notify_all();
}

void Survivor::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Survivor::run() {
  base::name_thread("gr-survivor");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto configuration = newest_;
    bool soon = false;
    if (configuration != nullptr && membership_.status().ok()) {
      lock.unlock();
      soon = turns_.take(*configuration);
      lock.lock();
    }
    changed_.wait_for(lock, soon ? kSoon : kLater, [&] { return stopping_ || newest_ != configuration; });
  }
}

bool SurvivorTurns::take(const Configuration& configuration) {
  if (configuration.number != acting_ && !adapt(configuration)) return false;
  const bool quiet = become_quiet(configuration);
  return duties_.follow(configuration) || !quiet;
}

/// Cuts off the dead and acts in the membership. Returns false if a dead node cannot be cut off at present. Then this
/// node acts in no later membership, and no recoverer acts for the dead.
bool SurvivorTurns::adapt(const Configuration& configuration) {
  base::sync_point("survivor.begins");
  if (!cut_off_dead(configuration)) return false;
  base::sync_point("survivor.cut");
  duties_.act(configuration);
  acting_ = configuration.number;
  const epoch::Epoch epoch = base::injected("quiet-by-former-epoch") ? quiet_.epoch : epochs_.current();
  quiet_ = {.number = configuration.number, .epoch = epoch, .logged = false};
  return true;
}

bool SurvivorTurns::cut_off_dead(const Configuration& configuration) {
  const auto cut_off = [this](membership::NodeId node, membership::Generation generation) {
    if (node == membership_.node() || cut_[node] >= generation || base::injected("nobody-is-cut-off")) return true;
    const Status cut = duties_.cut_off(node, generation);
    if (cut.ok()) {
      cut_[node] = generation;
    } else {
      warn_once(fmt::format("node {} is dead and cannot be cut off: {}", node, cut.message()));
    }
    return cut.ok();
  };
  bool all = true;
  for (const membership::Owed& debt : configuration.owed) all &= cut_off(debt.node, debt.generation);
  for (const Member& member : configuration.members) {
    if (member.state == membership::MemberState::kDead) all &= cut_off(member.id, member.generation);
  }
  return all;
}

/// Says what this node has come to by now (membership::Quiet), and says it again if that failed. Returns true if there
/// is nothing more to say.
bool SurvivorTurns::become_quiet(const Configuration& configuration) {
  if (quiet_.number != said_.number) {
    const bool ended = epochs_.complete() >= quiet_.epoch || base::injected("quiet-at-once");
    if (!ended) return false;
    base::sync_point("survivor.quiet");
  }
  const bool wanted = std::ranges::any_of(
      configuration.members, [](const Member& member) { return member.state == membership::MemberState::kJoining; });
  if (wanted && duties_.durable() >= quiet_.epoch) quiet_.logged = true;
  if (!(said_ == quiet_)) say(quiet_);
  return said_ == quiet_ && (quiet_.logged || !wanted);
}

void SurvivorTurns::say(const membership::Quiet& quiet) {
  const Status said = membership_.be_quiet(quiet);
  if (said.ok()) {
    said_ = quiet;
    warned_.clear();
  } else if (said.code() != StatusCode::kMembershipLost) {
    warn_once("cannot tell the others that no transaction of an earlier membership is under way: " + said.message());
  }
}

void SurvivorTurns::warn_once(const std::string& text) {
  if (std::exchange(warned_, text) != text) duties_.warn(text);
}

}  // namespace granary::db
