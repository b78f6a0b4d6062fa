#include "src/cluster/recovery/settle_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <granary/limits.h>

#include "src/base/cache_line.h"
#include "src/cluster/record_access/regions.h"
#include "src/cluster/recovery/settle.h"

namespace granary::cluster {
namespace {

using log::Debt;

/// What goes out together at most, beside what the room limits.
constexpr std::size_t kMostTogether = 1024;

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + base::kCacheLine - 1) / base::kCacheLine * base::kCacheLine;
}

class Settling {
 public:
  Settling(std::span<const Debt> debts, const SettleParts& parts)
      : parts_(parts),
        rounds_(parts.scheduler, parts.endpoint, parts.peers, parts.waiter) {
    for (const Debt& debt : debts) open_.push_back(&debt);
  }

  Result<SettleCounts> run() {
    auto progress = Clock::now();
    for (std::uint32_t turn = 0; !open_.empty(); ++turn) {
      if (turn != 0) parts_.waiter.pause(turn);
      const std::size_t before = open_.size();
      if (!try_all()) return stopped();
      if (open_.size() < before) progress = Clock::now();
      if (!open_.empty() && parts_.patience && Clock::now() - progress >= *parts_.patience) return silent();
    }
    return counts_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Home : std::uint8_t { kReached, kSilent, kGone };

  static Status stopped() {
    return {StatusCode::kUnavailable, "this node may not act for the dead node any more: its membership is in doubt"};
  }
  Status silent() const {
    return {StatusCode::kUnavailable,
            fmt::format("node {}, where it held records, is a member and cannot be reached from here; look after the "
                        "network between the two, or end that node",
                        open_.front()->node)};
  }
  bool try_all();
  bool settle_next(std::vector<const Debt*>& wanted);
  Home reach(rdma::NodeId node);
  void count(const Settle& step);
  bool note_removed();
  void ask_removed();

  const SettleParts& parts_;
  rdma::fiber::Rounds rounds_;
  std::vector<const Debt*> open_;
  std::vector<const Debt*> removed_;  ///< in this batch, whose owners have yet to be told
  messages::Questions<messages::NoteRemoved> questions_;
  SettleCounts counts_;
};

/// Tries each open debt once. False if this node may not act any more.
bool Settling::try_all() {
  if (!parts_.may_act()) return false;  // also if no home can be reached
  std::map<rdma::NodeId, Home> homes;
  std::vector<const Debt*> wanted;
  for (const Debt* const debt : std::exchange(open_, {})) {
    const auto [home, is_new] = homes.try_emplace(debt->node, Home::kGone);
    if (is_new) home->second = reach(home->first);
    if (home->second == Home::kReached) wanted.push_back(debt);
    if (home->second == Home::kSilent) open_.push_back(debt);
    if (home->second == Home::kGone) ++counts_.gone;
  }
  while (!wanted.empty()) {
    if (!settle_next(wanted)) return false;
  }
  return true;
}

Settling::Home Settling::reach(rdma::NodeId node) {
  if (!parts_.lives(node)) return Home::kGone;
  return parts_.peers.connect(node, parts_.connect_timeout_us).ok() ? Home::kReached : Home::kSilent;
}

/// Takes as many of the debts as there is room for, and settles those together. Those whose connection breaks are open
/// again.
bool Settling::settle_next(std::vector<const Debt*>& wanted) {
  if (!parts_.may_act()) return false;
  std::deque<Settle> settles;
  std::vector<rdma::fiber::Step*> steps;
  for (std::size_t used = 0; !wanted.empty() && steps.size() < kMostTogether; wanted.pop_back()) {
    const Debt& debt = *wanted.back();
    const std::size_t bytes = whole_lines(Settle::buffer_bytes(debt));
    if (used + bytes > parts_.room.size()) break;
    const rdma::RemoteAddress records{
        .node = debt.node, .region = kDataRegion, .generation = parts_.peers.generation(debt.node)};
    steps.push_back(&settles.emplace_back(debt, records, parts_.room.data() + used, parts_.may_act));
    used += bytes;
  }
  rounds_.run(steps);
  removed_.clear();
  for (const Settle& step : settles) count(step);
  const bool forbidden = std::any_of(settles.begin(), settles.end(), [](const Settle& step) {
    return step.lock_end() == Settle::LockEnd::kNotAllowed;
  });
  return !forbidden && note_removed();
}

void Settling::count(const Settle& step) {
  switch (step.outcome()) {
    case AccessOutcome::kDone: break;
    case AccessOutcome::kRefused: ++counts_.gone; return;  // a later life of the home has no such place
    default: open_.push_back(&step.debt()); return;
  }
  if (step.lock_end() == Settle::LockEnd::kNotAllowed) return;
  counts_.redone += step.lock_end() == Settle::LockEnd::kRedone ? 1 : 0;
  counts_.freed += step.lock_end() == Settle::LockEnd::kFreed ? 1 : 0;
  counts_.settled_before += step.lock_end() == Settle::LockEnd::kSettledBefore ? 1 : 0;
  if (step.debt().version && step.debt().version->removed) removed_.push_back(&step.debt());
}

/// Tells the owners, also of records that had been freed before: whoever did it may have died before it could tell. The
/// owner looks whether its record still has this TID. One that lives and does not answer is asked again, for as long as
/// homes are tried again; after that its records are found when it recovers. False if this node may not act any more:
/// an owner that stands still must not hold it up, as another membership may wait for it.
bool Settling::note_removed() {
  const auto began = Clock::now();
  for (std::uint32_t turn = 0; !removed_.empty(); ++turn) {
    if (turn != 0) {
      if (!parts_.may_act()) return false;
      if (parts_.patience && Clock::now() - began >= *parts_.patience) return true;
      parts_.waiter.pause(turn);
    }
    ask_removed();
  }
  return true;
}

/// Asks once, and leaves those that are to be asked again.
void Settling::ask_removed() {
  questions_.clear();
  for (const Debt* const debt : removed_) {
    questions_.add(
        debt->node,
        {.table = debt->table, .key = debt->key, .tid = record::version_word(debt->version->tid, /*removed=*/true)});
  }
  parts_.messenger.ask(questions_.all());
  std::vector<const Debt*> silent;
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const messages::AskOutcome outcome = questions_[i].outcome();
    const bool unheard = outcome == messages::AskOutcome::kTimedOut || outcome == messages::AskOutcome::kBroken ||
                         outcome == messages::AskOutcome::kNoMemory;
    counts_.removals += outcome == messages::AskOutcome::kAnswered ? 1 : 0;
    if (unheard && parts_.lives(removed_[i]->node)) silent.push_back(removed_[i]);
  }
  removed_ = std::move(silent);
}

}  // namespace

std::size_t settle_room_bytes(std::span<const Debt> debts) {
  std::size_t most = 0;
  for (const Debt& debt : debts) most = std::max(most, whole_lines(Settle::buffer_bytes(debt)));
  return most;
}

std::size_t sufficient_settle_room_bytes() {
  return whole_lines(Settle::buffer_bytes(kMaxKeyBytes, kMaxSharedValueBytes));
}

Result<SettleCounts> settle_all(std::span<const Debt> debts, const SettleParts& parts) {
  if (const std::size_t least = settle_room_bytes(debts); parts.room.size() < least) {
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("the recovery of a dead node needs {} bytes of registered memory at once, and was given {}", least,
                    parts.room.size()));
  }
  return Settling(debts, parts).run();
}

}  // namespace granary::cluster
