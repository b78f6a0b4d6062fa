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

std::string seconds(std::uint64_t us) { return fmt::format("{:.1f} s", static_cast<double>(us) / 1e6); }

std::string who(membership::NodeId node, membership::Generation generation) {
  return fmt::format("node {} (generation {})", node, generation);
}

/// A notice in the epoch of the view, about a node if one is known.
Notice about(NoticeSeverity severity, std::string text, const PeerView& view, std::optional<membership::NodeId> node) {
  return {
      .severity = severity, .topic = NoticeTopic::kPeers, .text = std::move(text), .node = node, .epoch = view.epoch};
}

}  // namespace

std::vector<Notice> PeerReports::look(const PeerView& view, std::uint64_t now_us) {
  std::vector<Notice> notices;
  look_for_deaths(view, now_us, notices);
  look_at_epoch(view, now_us, notices);
  looked_us_ = now_us;
  return notices;
}

void PeerReports::look_for_deaths(const PeerView& view, std::uint64_t now_us, std::vector<Notice>& notices) {
  for (const Member& member : view.configuration.members) {
    if (member.id == own_) continue;
    if (member.live()) {
      live_[member.id] = member.generation;
      const auto former = dead_.find(member.id);
      if (former == dead_.end() || former->second.generation == member.generation) continue;
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
    const std::string released =
        logs_ ? fmt::format(
                    "No result is released any more (D stays {}) until all nodes of the cluster have been ended "
                    "and started again. ",
                    view.durable)
              : std::string();
    notices.push_back(about(
        NoticeSeverity::kError,
        fmt::format("{} has just been found dead: its process has ended, or stood still for longer than "
                    "session_timeout_ms. {}What it held locked stays locked, and transactions that need it abort; "
                    "others go on. End all nodes, then start all of them",
                    who(member.id, member.generation), released),
        view, member.id));
  }
}

/// A node that itself stood still starts to count again, as E may have advanced meanwhile.
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
  for (const auto& [node, dead] : dead_) {
    text += fmt::format("{}{} has been dead for {}", text.empty() ? "" : ", ", who(node, dead.generation),
                        seconds(now_us - dead.since_us));
  }
  if (!text.empty()) return text + ": nothing is released until all nodes have been ended and started again";
  if (holder_.empty()) return {};
  return fmt::format("the cluster's epoch has stood still for {}: {}", seconds(now_us - epoch_since_us_), holder_);
}

PeerWatch::PeerWatch(PeerReports reports, NoticeSink sink, See see)
    : sink_(std::move(sink)),
      see_(std::move(see)),
      reports_(std::move(reports)),
      thread_(std::chrono::steady_clock::now() + kPeriod, [this] {
        for (const Notice& notice : look()) base::tell(sink_, notice);
        return std::chrono::steady_clock::now() + kPeriod;
      }) {
  // If a node died before the thread had looked once, it would not be missed, and nobody would be told of its death.
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
