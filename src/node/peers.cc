#include "src/node/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "src/base/test_hooks.h"
#include "src/cluster/cluster_epoch/member.h"
#include "src/db/options_check.h"

namespace granary::db {

using membership::Configuration;
using membership::MemberState;

namespace {

/// The beginning of the note of a member that refuses to start.
constexpr std::string_view kRefusal = "refused: ";
/// The note of a life that only visits: it recovers a former life, and the node's next life follows.
constexpr std::string_view kVisit = "visits";

/// Returns an error if the node would answer in the same way when it is asked again.
Status check_outcome(const cluster::messages::Question& question) {
  using cluster::messages::AskOutcome;
  const AskOutcome outcome = question.outcome();
  if (outcome != AskOutcome::kTooLarge && outcome != AskOutcome::kAnswerTooLarge) return {};
  return Status(StatusCode::kResourceExhausted,
                fmt::format("node {} was asked in vain: {}", question.node(), name(outcome)));
}

bool serves_in(const Configuration& configuration, const ServingLife& life) {
  const membership::Member* const member = configuration.find(life.node);
  return member != nullptr && member->state == MemberState::kServing && member->generation == life.generation;
}

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

}  // namespace

Peers::Peers(const ClusterOptions& options, const cluster_config::ClusterConfig& config,
             membership::Membership& membership)
    : options_(options),
      config_(config),
      membership_(membership) {
  const auto found = membership_.configuration();
  for (const membership::Member& member : found->members) {
    if (!member.live()) former_lives_[member.id] = member.generation;
  }
}

std::chrono::steady_clock::time_point Peers::end_of_start() const {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
}

/// Returns in a sentence which node has refused to start in this start of the cluster, and why; empty if none has.
std::string Peers::refusal_by(const Configuration& configuration) const {
  for (const membership::Member& member : configuration.members) {
    const auto former = former_lives_.find(member.id);
    const bool before = former != former_lives_.end() && former->second == member.generation;
    if (before || member.id == options_.node || !member.note.starts_with(kRefusal)) continue;
    return fmt::format("node {} does not start with the others: {}", member.id, member.note.substr(kRefusal.size()));
  }
  return {};
}

Status Peers::check_start(const Configuration& configuration) const {
  if (const std::string refusal = refusal_by(configuration); !refusal.empty())
    return {StatusCode::kFailedPrecondition, refusal};
  const auto over = std::ranges::find_if(start_lives_, [&configuration](const membership::NamedLife& life) {
    return !configuration.lives(life.node) || configuration.find(life.node)->generation != life.generation;
  });
  if (over == start_lives_.end()) return {};
  return Status(StatusCode::kUnavailable,
                fmt::format("node {} has ended before all nodes that started together had loaded their data, which "
                            "they take from each other's logs: start this node again, too",
                            over->node));
}

Status Peers::check_standing() const {
  if (!membership_.status().ok()) return membership_.status();
  return started_ ? Status() : check_start(*membership_.configuration());
}

/// Says at the board why this node refuses to start, and returns that. The others may try to connect only when this
/// node has ended, so they look there, too.
Status Peers::refuse_start(Status why) const {
  (void)membership_.say(std::string(kRefusal) + why.message().substr(0, membership::kMostNoteBytes - kRefusal.size()));
  return why;
}

/// Waits until all of the cluster file's nodes have joined.
Status Peers::await_members(std::chrono::steady_clock::time_point end) const {
  std::vector<NodeNumber> wanted;
  for (const auto& node : config_.nodes) wanted.push_back(node.id);
  const auto all = [&](const Configuration& configuration) {
    return configuration.missing(wanted).empty() || !check_start(configuration).ok();
  };
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - std::chrono::steady_clock::now());
  const bool joined = membership_.wait_until(all, static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0)));
  const auto configuration = membership_.configuration();
  if (Status may = check_start(*configuration); !may.ok()) return may;
  if (joined) return {};
  if (!membership_.status().ok()) return membership_.status();
  return Status(
      StatusCode::kUnavailable,
      fmt::format(
          "after {} ms these nodes of {} have not joined: {}; start them, or raise the start timeout (--start_timeout, "
          "ClusterOptions::start_timeout_ms)",
          options_.start_timeout_ms, config_.file, fmt::join(configuration->missing(wanted), ", ")));
}

/// Connects with the node. Returns false if it does not live any more. A handshake that is given up begins anew, so
/// each turn is longer than the one before: a busy host may need longer for one than the first turn gives.
Result<bool> Peers::meet(rdma::Endpoint& endpoint, NodeNumber node, std::chrono::steady_clock::time_point end,
                         const std::function<bool()>& lives) const {
  constexpr std::uint64_t kFirstTurn_us = 200'000, kLongestTurn_us = 1'600'000;
  for (std::uint64_t turn_us = kFirstTurn_us;; turn_us = std::min(2 * turn_us, kLongestTurn_us)) {
    const Status connected = endpoint.connect(node, turn_us).status();
    if (connected.ok()) return true;
    if (connected.code() == StatusCode::kFailedPrecondition) return refuse_start(connected);
    if (const Status standing = check_standing(); !standing.ok()) return standing;
    if (!lives()) return false;
    if (std::chrono::steady_clock::now() > end) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} cannot be connected with: {}", node, connected.message()));
    }
  }
}

/// A member may have been killed before this node began to start, which shows only when its session is over. So this
/// waits for a node whose life ends as for one that has yet to join.
Status Peers::meet_all(rdma::Fabric& fabric) const {
  auto endpoint = fabric.open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  const auto end = end_of_start();
  for (const auto& node : config_.nodes) {
    for (bool met = node.id == options_.node; !met;) {
      if (Status joined = await_members(end); !joined.ok()) return joined;
      const Result<bool> now =
          meet(**endpoint, node.id, end, [&] { return membership_.configuration()->lives(node.id); });
      if (!now.ok()) return now.status();
      met = *now;
    }
  }
  return {};
}

Status Peers::meet(rdma::Fabric& fabric, const std::vector<ServingLife>& lives) const {
  auto endpoint = fabric.open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  const auto end = end_of_start();
  for (const ServingLife& life : lives) {
    const Result<bool> met = meet(**endpoint, life.node, end, [&] { return serves(life); });
    if (!met.ok()) return met.status();
  }
  return check_any_serves(lives);
}

bool Peers::serves(const ServingLife& life) const { return serves_in(*membership_.configuration(), life); }

Result<std::vector<ServingLife>> Peers::serving_lives() const {
  std::vector<ServingLife> lives;
  const auto configuration = membership_.configuration();
  for (const auto& node : config_.nodes) {
    const membership::Member* const member = configuration->find(node.id);
    if (node.id != options_.node && member != nullptr && member->state == MemberState::kServing)
      lives.push_back({.node = node.id, .generation = member->generation});
  }
  if (const Status any = check_any_serves(lives); !any.ok()) return any;
  return lives;
}

Status Peers::check_any_serves(const std::vector<ServingLife>& lives) const {
  return check_any_serves(lives, *membership_.configuration());
}

Status Peers::check_any_serves(const std::vector<ServingLife>& lives, const Configuration& configuration) const {
  const auto serves = [&configuration](const ServingLife& life) { return serves_in(configuration, life); };
  if (std::ranges::any_of(lives, serves)) return {};
  return Status(
      StatusCode::kUnavailable,
      fmt::format("the nodes that served when node {} came back have all ended since: start it again", options_.node));
}

Status Peers::await_admission(epoch::ControlBlock& control, const LeaderThread& leader) const {
  const auto end = end_of_start();
  while (!cluster::may_serve(control)) {
    if (const Status standing = check_standing(); !standing.ok()) return standing;
    if (std::chrono::steady_clock::now() > end) {
      const Status why = leader.status();
      return Status(
          StatusCode::kUnavailable,
          why.ok() ? "the leader of the cluster's epochs does not let this node in: see its output" : why.message());
    }
    pause_briefly();
  }
  // Under TicToc, others may have read records of this node's former life at times of its last epoch, and nobody knows
  // of these times any more. So it serves only when that epoch is over.
  constexpr epoch::Epoch kUntilOver = 2;
  const epoch::Epoch over = control.by_leader.epoch.load(std::memory_order_acquire) + kUntilOver;
  while (stamps_reads(options_.database) && control.by_leader.epoch.load(std::memory_order_acquire) < over) {
    if (const Status standing = check_standing(); !standing.ok()) return standing;
    if (std::chrono::steady_clock::now() > end)
      return {StatusCode::kUnavailable,
              "the cluster's epoch stands still, and this node may serve only in a later one"};
    pause_briefly();
  }
  return {};
}

Status Peers::announce_visit() const { return membership_.say(std::string(kVisit)); }

/// Waits for a node that is between a visit and its next life as for one that has yet to serve.
Status Peers::ask(cluster::messages::Question& question) const {
  const auto end = end_of_start();
  for (;;) {
    messenger_->ask(question);
    if (question.outcome() == cluster::messages::AskOutcome::kAnswered) return {};
    if (Status again = check_outcome(question); !again.ok()) return again;
    if (const Status standing = check_standing(); !standing.ok()) return standing;
    const auto configuration = membership_.configuration();
    const membership::Member* const member = configuration->find(question.node());
    const bool gone = member == nullptr || !(member->live() || has_visited(*member));
    if (gone || std::chrono::steady_clock::now() > end) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} {}: {}", question.node(), gone ? "has left or died" : "does not answer",
                                name(question.outcome())));
    }
    pause_briefly();
  }
}

Result<bool> Peers::ask(cluster::messages::Question& question, const ServingLife& life) const {
  const auto end = end_of_start();
  for (;;) {
    messenger_->ask(question);
    if (!serves(life)) return false;
    if (question.outcome() == cluster::messages::AskOutcome::kAnswered) return true;
    if (Status again = check_outcome(question); !again.ok()) return again;
    if (const Status standing = check_standing(); !standing.ok()) return standing;
    if (std::chrono::steady_clock::now() > end) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} does not answer: {}", life.node, name(question.outcome())));
    }
    pause_briefly();
  }
}

/// Whether the life was a visit, and has left in order.
bool Peers::has_visited(const membership::Member& member) {
  return member.state == MemberState::kLeft && member.note == kVisit;
}

/// Whether the node has left in order, and not only after a visit. Such a node has nothing left to do.
bool Peers::has_left(NodeNumber node) const {
  const auto configuration = membership_.configuration();
  const membership::Member* const member = configuration->find(node);
  return member != nullptr && member->state == MemberState::kLeft && !has_visited(*member);
}

std::string Peers::reached() const {
  const std::uint64_t reached = barriers_.load(std::memory_order_acquire);
  return {reinterpret_cast<const char*>(&reached), sizeof reached};
}

std::uint64_t Peers::reached_by(const cluster::messages::ControlAnswer& answer) {
  std::uint64_t reached = 0;
  if (answer.bytes.size() == sizeof reached) std::memcpy(&reached, answer.bytes.data(), sizeof reached);
  return reached;
}

Status Peers::catch_up(const std::vector<ServingLife>& others, std::uint64_t of_start) {
  std::uint64_t most = of_start;
  for (const ServingLife& life : others) {
    cluster::messages::QuestionOf<cluster::messages::Control> question(life.node, {});
    const Result<bool> asked = ask(question, life);
    if (!asked.ok()) return asked.status();
    if (*asked) most = std::max(most, reached_by(question.answer()));
  }
  barriers_.store(most, std::memory_order_release);
  return {};
}

/// Counts the barrier for this node, and asks every other node until it has reached as many.
Status Peers::barrier() {
  const std::uint64_t mine = barriers_.load(std::memory_order_relaxed) + 1;
  barriers_.store(mine, std::memory_order_release);
  base::sync_point("barrier.reached");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.barrier_timeout_ms);
  for (const auto& node : config_.nodes) {
    if (node.id == options_.node) continue;
    for (std::uint64_t reached = 0; reached < mine; pause_briefly()) {
      cluster::messages::QuestionOf<cluster::messages::Control> question(node.id, {});
      const Status asked = ask(question);
      if (!asked.ok() && has_left(node.id)) break;
      if (!asked.ok()) return asked;
      reached = reached_by(question.answer());
      if (reached >= mine || std::chrono::steady_clock::now() < end) continue;
      return Status(StatusCode::kUnavailable,
                    fmt::format("node {} lives, and has not come to barrier {} after {} ms (it has come to {}): it is "
                                "still busy, or its program waits for something else",
                                node.id, mine, options_.barrier_timeout_ms, reached));
    }
  }
  return {};
}

}  // namespace granary::db
