#include "src/node/peer_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

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

}  // namespace

std::vector<std::string> PeerReports::look(const PeerView& view, std::uint64_t now_us) {
  std::vector<std::string> lines;
  look_for_deaths(view, now_us, lines);
  look_at_epoch(view, now_us, lines);
  looked_us_ = now_us;
  return lines;
}

void PeerReports::look_for_deaths(const PeerView& view, std::uint64_t now_us, std::vector<std::string>& lines) {
  for (const Member& member : view.configuration.members) {
    if (member.id == own_) continue;
    if (member.live()) {
      live_[member.id] = member.generation;
      const auto former = dead_.find(member.id);
      if (former == dead_.end() || former->second.generation == member.generation) continue;
      lines.push_back(fmt::format("node {} is back: generation {}, {} after generation {} was found dead", member.id,
                                  member.generation, seconds(now_us - former->second.since_us),
                                  former->second.generation));
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
    lines.push_back(fmt::format(
        "{} has just been found dead: its process has ended, or stood still for longer than "
        "session_timeout_ms. {}What it held locked stays locked, and transactions that need it abort; others "
        "go on. End all nodes, then start all of them",
        who(member.id, member.generation), released));
  }
}

/// A node that itself stood still counts from anew, as E may have advanced meanwhile.
void PeerReports::look_at_epoch(const PeerView& view, std::uint64_t now_us, std::vector<std::string>& lines) {
  const bool stood_still = now_us - looked_us_ > still_us_ / 2;
  if (view.epoch != epoch_ || stood_still) {
    if (view.epoch != epoch_ && !holder_.empty()) {
      lines.push_back(
          fmt::format("the cluster's epoch goes on, with {}, after {}", view.epoch, seconds(now_us - epoch_since_us_)));
      holder_.clear();
    }
    if (holder_.empty()) epoch_since_us_ = now_us;
    epoch_ = view.epoch;
    return;
  }
  if (now_us - epoch_since_us_ < still_us_ || !holder_.empty()) return;
  holder_ = holder_of_epoch(view);
  lines.push_back(fmt::format("the cluster's epoch has stood still at {} for {}: {}. {} until it goes on", epoch_,
                              seconds(now_us - epoch_since_us_), holder_,
                              logs_ ? "No result is released" : "No snapshot gets newer"));
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

PeerWatch::PeerWatch(PeerReports reports, See see)
    : see_(std::move(see)),
      reports_(std::move(reports)),
      thread_([this] { run(); }) {}

PeerWatch::~PeerWatch() { stop(); }

void PeerWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string PeerWatch::obstacle() const {
  const std::lock_guard lock(mutex_);
  return reports_.obstacle(base::monotonic_us());
}

void PeerWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, kPeriod, [this] { return stopping_; })) {
    see_([this](const PeerView& view) {
      for (const std::string& line : reports_.look(view, base::monotonic_us()))
        std::fprintf(stderr, "granary: %s\n", line.c_str());
    });
  }
}

}  // namespace granary::db
