#include "src/cluster/recovery/settle_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

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
  void note_removed(std::span<const Debt* const> removed);

  const SettleParts& parts_;
  rdma::fiber::Rounds rounds_;
  std::vector<const Debt*> open_;
  std::vector<const Debt*> removed_;  ///< in this batch, whose owners are to be told
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
  if (forbidden) return false;
  note_removed(removed_);
  return true;
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

/// Also of records that had been freed before: whoever did it may have died before it could tell. The owner looks
/// whether its record still has this TID. A question that gets no answer is not asked again: the record is found when
/// its owner recovers.
void Settling::note_removed(std::span<const Debt* const> removed) {
  if (removed.empty()) return;
  questions_.clear();
  for (const Debt* const debt : removed) {
    questions_.add(
        debt->node,
        {.table = debt->table, .key = debt->key, .tid = record::version_word(debt->version->tid, /*removed=*/true)});
  }
  parts_.messenger.ask(questions_.all());
  for (std::size_t i = 0; i < questions_.size(); ++i)
    counts_.removals += questions_[i].outcome() == messages::AskOutcome::kAnswered ? 1 : 0;
}

}  // namespace

std::size_t settle_room_bytes(std::span<const Debt> debts) {
  std::size_t most = 0;
  for (const Debt& debt : debts) most = std::max(most, whole_lines(Settle::buffer_bytes(debt)));
  return most;
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
