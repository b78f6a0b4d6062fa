#include "src/node/peer_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/notice.h"
#include "src/base/tsc_clock.h"

namespace granary::db {

using membership::Member;
using membership::MemberState;

namespace {

constexpr std::chrono::milliseconds kPeriod(100);

constexpr std::string_view kWithoutLogs =
    "What it held locked stays locked, and transactions that need it abort; others go on. End all nodes, then start "
    "all of them";

/// Returns how a death affects a cluster with logs. A recovery that was quick has no other notice, as the debt came and
/// went between two looks.
std::string with_logs(const PeerView& view, const Member& dead) {
  if (view.configuration.debt(dead.id, dead.generation) == nullptr)
    return "What it had under way is recovered already. Start it again";
  if (view.can_be_recovered(dead.id)) {
    return fmt::format(
        "No result is released (D stays {}) until what it had under way is recovered, which a node on its "
        "host does. Transactions that need it abort; others go on. Start it again",
        view.durable);
  }
  return fmt::format(
      "No result is released (D stays {}) until it is started again, as no node that serves sees its directories and "
      "recovers others: it recovers itself what it had under way. Transactions that need it abort; others go on",
      view.durable);
}

std::string seconds(std::uint64_t us) { return fmt::format("{:.1f} s", static_cast<double>(us) / 1e6); }

std::string who(membership::NodeId node, membership::Generation generation) {
  return fmt::format("node {} (generation {})", node, generation);
}

/// Returns a notice in the epoch of the view, about a node if one is known.
Notice about(NoticeSeverity severity, std::string text, const PeerView& view, std::optional<membership::NodeId> node) {
  return {
      .severity = severity, .topic = NoticeTopic::kPeers, .text = std::move(text), .node = node, .epoch = view.epoch};
}

}  // namespace

std::vector<Notice> PeerReports::look(const PeerView& view, std::uint64_t now_us) {
  std::vector<Notice> notices;
  look_for_deaths(view, now_us, notices);
  look_at_debts(view, now_us, notices);
  look_at_durable(view, now_us, notices);
  look_at_epoch(view, now_us, notices);
  look_at_recovery(view, notices);
  look_for_logs_kept(view, now_us, notices);
  looked_us_ = now_us;
  return notices;
}

void PeerReports::look_for_deaths(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices) {
  for (const Member& member : view.configuration.members) {
    if (member.id == own_) continue;
    if (member.live()) {
      live_[member.id] = member.generation;
      const auto former = dead_.find(member.id);
      const bool back = former != dead_.end() && former->second.generation != member.generation &&
                        member.state == MemberState::kServing;
      if (!back) continue;
      notices.push_back(
          about(NoticeSeverity::kInfo,
                fmt::format("node {} is back: generation {}, {} after generation {} was found dead", member.id,
                            member.generation, seconds(now_us - former->second.since_us), former->second.generation),
                view, member.id));
      dead_.erase(former);
      continue;
    }
    const auto lived = live_.find(member.id);
    if (lived == live_.end()) continue;
    live_.erase(lived);
    if (member.state != MemberState::kDead) continue;
    dead_[member.id] = {member.generation, now_us};
    notices.push_back(
        about(NoticeSeverity::kError,
              fmt::format("{} has just been found dead: its process has ended, or stood still for longer "
                          "than session_timeout_ms. {}",
                          who(member.id, member.generation), logs_ ? with_logs(view, member) : kWithoutLogs),
              view, member.id));
  }
}

/// Tells of lives whose recovery has ended, since results are released from then on.
void PeerReports::look_at_debts(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices) {
  std::erase_if(owed_, [&](const membership::Owed& debt) {
    if (view.configuration.debt(debt.node, debt.generation) != nullptr) return false;
    const auto dead = dead_.find(debt.node);
    const std::string since =
        dead == dead_.end() ? "" : ", " + seconds(now_us - dead->second.since_us) + " after it was found dead";
    notices.push_back(about(NoticeSeverity::kInfo,
                            fmt::format("what {} had under way is recovered{}", who(debt.node, debt.generation), since),
                            view, debt.node));
    return true;
  });
  if (logs_) owed_ = view.configuration.owed;
}

/// Tells when E has stood still for long, and when it goes on. A node that itself stood still begins to count anew, as
/// E may have advanced meanwhile.
void PeerReports::look_at_epoch(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices) {
  const bool stood_still = now_us - looked_us_ > still_us_ / 2;
  if (view.epoch != epoch_ || stood_still) {
    if (view.epoch != epoch_ && !holder_.empty()) {
      notices.push_back(about(
          NoticeSeverity::kInfo,
          fmt::format("the cluster's epoch goes on, with {}, after {}", view.epoch, seconds(now_us - epoch_since_us_)),
          view, {}));
      holder_.clear();
    }
    if (holder_.empty()) epoch_since_us_ = now_us;
    epoch_ = view.epoch;
    return;
  }
  if (now_us - epoch_since_us_ < still_us_ || !holder_.empty()) return;
  holder_ = holder_of_epoch(view);
  notices.push_back(about(NoticeSeverity::kError,
                          fmt::format("the cluster's epoch has stood still at {} for {}: {}. {} until it goes on",
                                      epoch_, seconds(now_us - epoch_since_us_), holder_,
                                      logs_ ? "No result is released" : "No snapshot gets newer"),
                          view, view.waits_for));
}

/// Tells when D has stood still for long though E goes on, and when it moves again. A death, and an epoch that stands
/// still, have notices of their own. A disk may need long for a sync, so callers that wait hear of it earlier than the
/// operator.
void PeerReports::look_at_durable(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices) {
  constexpr epoch::Epoch kUsual = 4;  // D is so far behind E if logs are written as they should be
  constexpr std::uint64_t kToldAfter = 5;
  const bool stood_still = now_us - looked_us_ > still_us_ / 2;
  const bool other_cause = !owed_.empty() || !holder_.empty() || view.epoch <= view.durable + kUsual;
  if (!logs_ || view.durable != durable_ || other_cause || stood_still) {
    if (log_holder_told_ && view.durable != durable_) {
      const std::string text = fmt::format("results are released again, after {}", seconds(now_us - durable_since_us_));
      notices.push_back(about(NoticeSeverity::kInfo, text, view, {}));
    }
    if (view.durable != durable_ || !log_holder_told_) {
      log_holder_.clear();
      log_holder_told_ = false;
      durable_since_us_ = now_us;
    }
    durable_ = view.durable;
    return;
  }
  if (now_us - durable_since_us_ < still_us_) return;
  log_holder_ = holder_of_durable(view);
  if (log_holder_told_ || now_us - durable_since_us_ < kToldAfter * still_us_) return;
  log_holder_told_ = true;
  notices.push_back(about(NoticeSeverity::kError,
                          fmt::format("no result has been released for {} (D stays {}): {}",
                                      seconds(now_us - durable_since_us_), durable_, log_holder_),
                          view, view.least_logged));
}

/// Tells when a recovery of this node has made no progress for long. Until the device answers, this node acts in no
/// later membership, and no other node may take the recovery over.
void PeerReports::look_at_recovery(const PeerView& view, std::vector<Notice>& notices) {
  constexpr std::uint64_t kRests_us = 5'000'000;
  const std::optional<RecoveryUnderWay>& now = view.recovering;
  const bool rests = now && now->rests_us >= kRests_us;
  if (resting_ && !rests) {
    notices.push_back(
        about(NoticeSeverity::kInfo,
              fmt::format("the recovery of {} gets further again", who(resting_->node, resting_->generation)), view,
              resting_->node));
    resting_.reset();
  }
  const bool told = resting_.has_value();
  if (rests) resting_ = now;
  if (!rests || told) return;
  notices.push_back(about(
      NoticeSeverity::kError,
      fmt::format("the recovery of {} has got no further for {}: the device of '{}' is slow or does not answer. If "
                  "another node ends or comes back meanwhile, the epochs of all nodes stand still until it answers, or "
                  "until the process of this node has ended",
                  who(now->node, now->generation), seconds(now->rests_us), now->directory),
      view, now->node));
}

/// Tells when logs are kept for a node that is away for long. While a node does not serve, C stays and checkpoints make
/// no log needless, since the node may need the logs when it comes back.
void PeerReports::look_for_logs_kept(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices) {
  if (!logs_ || keeps_us_ == 0) return;
  for (const membership::NodeId node : view.nodes) {
    const Member* const member = view.configuration.find(node);
    const bool serves = member != nullptr && member->state == MemberState::kServing;
    if (serves || node == own_) {
      const auto known = away_.find(node);
      if (known == away_.end()) continue;
      const std::string since = seconds(now_us - known->second.since_us);
      if (known->second.told)
        notices.push_back(about(
            NoticeSeverity::kInfo,
            fmt::format("node {} serves again, after {}: the next checkpoints remove the logs that were kept for it",
                        node, since),
            view, node));
      away_.erase(known);
      continue;
    }
    Away& away = away_.try_emplace(node, Away{.since_us = now_us}).first->second;
    if (away.told || now_us - away.since_us < keeps_us_) continue;
    away.told = true;
    notices.push_back(
        about(NoticeSeverity::kWarning,
              fmt::format("logs are kept for node {}, which does not serve (for {} by now): no checkpoint "
                          "of any node removes log files until it serves again. Start it again, or watch "
                          "the room on the disks of all nodes",
                          node, seconds(now_us - away.since_us)),
              view, node));
  }
}

std::string PeerReports::holder_of_durable(const PeerView& view) const {
  const Member* const leader = view.configuration.leader();
  const bool led_here = leader != nullptr && leader->id == own_;
  const std::optional<membership::NodeId> least = led_here ? view.least_logged : std::nullopt;
  const auto generation_of = [&](membership::NodeId node) {
    const Member* const member = view.configuration.find(node);
    return member == nullptr ? 0 : member->generation;
  };
  if (least) {
    return fmt::format(
        "the log of {} does not get on: its disk is slow, or its log has failed, as its own log_status() says",
        who(*least, generation_of(*least)));
  }
  if (leader == nullptr) return "the cluster has no leader at present";
  return fmt::format("some node's log does not get on; {}, which leads, says whose",
                     who(leader->id, leader->generation));
}

std::string PeerReports::holder_of_epoch(const PeerView& view) const {
  const Member* const leader = view.configuration.leader();
  if (view.waits_for) {
    const Member* const member = view.configuration.find(*view.waits_for);
    const membership::Generation generation = member == nullptr ? 0 : member->generation;
    return fmt::format("{} holds it back: it stands still, or has kept a transaction open for so long",
                       who(*view.waits_for, generation));
  }
  if (leader == nullptr) return "the cluster has no leader at present";
  if (leader->id == own_) return "this node leads, and is about to find out which one holds it back";
  return fmt::format("{}, which advances it, stands still, or says itself for which node it waits",
                     who(leader->id, leader->generation));
}

std::string PeerReports::obstacle(std::uint64_t now_us) const {
  std::string text;
  const auto rest_of = [&](const membership::Owed& debt) {
    const bool rests = resting_ && resting_->node == debt.node && resting_->generation == debt.generation;
    if (!rests) return std::string();
    return fmt::format(", and has waited for the device of '{}' for {}", resting_->directory,
                       seconds(resting_->rests_us + (now_us - looked_us_)));
  };
  for (const membership::Owed& debt : owed_) {
    const auto dead = dead_.find(debt.node);
    const bool seen = dead != dead_.end() && dead->second.generation == debt.generation;
    text += fmt::format("{}{} has been dead {}, and {}", text.empty() ? "" : "; ", who(debt.node, debt.generation),
                        seen ? "for " + seconds(now_us - dead->second.since_us) : "since before this node began",
                        debt.claimed_generation == 0 ? "waits for a node that can recover it"
                                                     : fmt::format("node {} is recovering it ({}{})", debt.claimed_by,
                                                                   name(debt.phase), rest_of(debt)));
  }
  if (!text.empty()) return text + ": nothing is released until that is done";
  if (!log_holder_.empty())
    return fmt::format("nothing has been released for {}: {}", seconds(now_us - durable_since_us_), log_holder_);
  if (holder_.empty()) return {};
  return fmt::format("the cluster's epoch has stood still for {}: {}", seconds(now_us - epoch_since_us_), holder_);
}

PeerWatch::PeerWatch(PeerReports reports, NoticeSink sink, std::function<void()> first, See see)
    : sink_(std::move(sink)),
      see_(std::move(see)),
      reports_(std::move(reports)),
      thread_("gr-peer-watch", std::chrono::steady_clock::now() + kPeriod, [this, first = std::move(first)] {
        first();
        for (const Notice& notice : look()) base::tell(sink_, notice);
        return std::chrono::steady_clock::now() + kPeriod;
      }) {
  // Looks once here: a node that died before the first look would not be missed, and nobody would be told of its death.
  static_cast<void>(look());
}

std::string PeerWatch::obstacle() const {
  const std::lock_guard lock(mutex_);
  return reports_.obstacle(base::monotonic_us());
}

std::vector<Notice> PeerWatch::look() {
  const std::lock_guard lock(mutex_);
  std::vector<Notice> notices;
  see_([&](const PeerView& view) { notices = reports_.look(view, base::monotonic_us()); });
  return notices;
}

}  // namespace granary::db
