#include "src/node/recoverer.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/interruptible_files.h"
#include "src/base/test_hooks.h"

namespace granary::db {

using membership::Configuration;
using membership::Member;
using membership::MemberState;
using membership::Owed;
using membership::RecoveryPhase;

namespace {

constexpr std::chrono::milliseconds kSoon(2);
constexpr std::chrono::milliseconds kLater(1000);  ///< pause after the first failure, twice as long after each other
constexpr std::chrono::milliseconds kLongest(16'000);
constexpr std::chrono::seconds kBrief(2);  ///< for so long no notice tells of a cause that may pass by itself

std::string life_of(const Owed& debt) { return fmt::format("node {} (generation {})", debt.node, debt.generation); }

}  // namespace

bool Recoverer::step(const Configuration& configuration) {
  const Superseded superseded = [this, number = configuration.number] {
    return parts_.membership.configuration()->number != number;
  };
  bool again = false;
  for (const Owed& debt : configuration.owed) {
    if (stopping_.load(std::memory_order_relaxed)) return false;
    if (superseded()) return true;
    if (!may_recover(configuration, debt)) continue;
    const std::optional<Options> options = parts_.directory_of(debt.node);
    if (!options) continue;
    const auto attempt = attempts_.find({debt.node, debt.generation});
    if (attempt != attempts_.end() && Clock::now() < attempt->second.next) {
      again = true;
      continue;
    }
    base::sync_point("recovery.begins");
    again = true;
    if (!parts_.membership.claim(debt.node, debt.generation).ok()) continue;  // some are not quiet, or one was faster
    const auto began = Clock::now();
    const Status recovered = recover(debt, *options, superseded);
    if (recovered.ok()) continue;
    if (superseded() || stopping_.load(std::memory_order_relaxed)) {
      parts_.recoveries.fail(debt, "");  // it was cut short, which is no failure
    } else {
      note_failure(debt, recovered, began);
    }
  }
  forget_recovered();
  return again;
}

/// Whether this node may claim the debt, or go on with the claim that it has: it serves or visits, no other node has
/// the claim, and all are quiet. A claim begins only while the node that owes is dead, or is this node itself. If a
/// next life of that node joins afterwards, as a visitor because of another debt, it waits for the claim's end, and
/// nobody else can take the claim over: so this node goes on. Where all nodes begin together, each takes over what its
/// own former life has left.
bool Recoverer::may_recover(const Configuration& configuration, const Owed& debt) const {
  const Member* const own = configuration.find(parts_.membership.node());
  if (own == nullptr || (own->state != MemberState::kServing && !parts_.membership.visits())) return false;
  const bool claimed = configuration.is_claimed(debt), mine = claimed && debt.claimed_by == own->id;
  if (claimed && !mine) return false;
  if (!mine && configuration.lives(debt.node) && debt.node != own->id) return false;
  return configuration.quiet_since(debt.number);
}

Status Recoverer::recover(const Owed& debt, const Options& options, const Superseded& superseded) {
  RecoveryTry now = parts_.recoveries.begin(debt, options.directory);
  base::sync_point("recovery.claimed");
  const auto cut_short = [this, &superseded] {
    parts_.recoveries.note_progress();
    return stopping_.load(std::memory_order_relaxed) || superseded();
  };
  base::InterruptibleFiles files(parts_.files, cut_short);  // outlives what is opened by it
  auto dead = open_dead(*parts_.membership.configuration(), debt, options, parts_.remembered, files);
  if (!dead.ok()) return dead.status();
  now.end_step(&RecoveryWork::opened_us);
  parts_.recoveries.note(debt, now.work);
  base::sync_point("recovery.opened");
  if (*dead != nullptr) {
    if (const Status done = settle_and_adopt(debt, **dead, now, superseded); !done.ok()) return done;
    dead->reset();  // before the node's next life asks for the directory
  }
  parts_.recoveries.note_elsewhere();
  if (const Status noted = parts_.membership.note_recovered(debt.node, debt.generation); !noted.ok()) return noted;
  now.end_step(&RecoveryWork::adopted_us);
  parts_.recoveries.end(debt, parts_.membership.node(), now.work);
  base::sync_point("recovery.done");
  tell_recovered(debt, now.work);
  return {};
}

/// Settles the debts and adopts the rings. A change of the membership cuts the recovery short, and it begins anew: it
/// may have to read a long log, or to wait for a home that does not answer, but until this node acts in the new
/// membership, E stands still and nobody recovers a second dead node.
Status Recoverer::settle_and_adopt(const Owed& debt, DeadNode& dead, RecoveryTry& now, const Superseded& superseded) {
  membership::Membership& membership = parts_.membership;
  const auto may_act = [this, &membership, &superseded] {
    if (stopping_.load(std::memory_order_relaxed) || superseded()) return false;
    const membership::Fence& fence = membership.fence();
    return fence.open(fence.number()) || base::injected("recoverer-without-fence");
  };
  parts_.recoveries.note_elsewhere();  // what comes before the adoption waits for the board and for homes
  if (const Status noted = membership.note_phase(debt.node, debt.generation, RecoveryPhase::kSettling); !noted.ok())
    return noted;
  const auto settled = parts_.settle(dead.debts(), may_act);
  if (!settled.ok()) return settled.status();
  count_settled(dead.debts(), *settled, now.work);
  now.end_step(&RecoveryWork::settled_us);
  parts_.recoveries.note(debt, now.work);
  base::sync_point("recovery.settled");
  if (const Status noted = membership.note_phase(debt.node, debt.generation, RecoveryPhase::kAdopting); !noted.ok())
    return noted;
  parts_.recoveries.note_progress();
  now.work.adopted_bytes = dead.ring_bytes();
  if (const Status adopted = dead.adopt(parts_.epoch()); !adopted.ok()) return adopted;
  base::sync_point("recovery.adopted");
  return {};
}

void Recoverer::tell_recovered(const Owed& debt, const RecoveryWork& work) const {
  const auto ms = [](std::uint64_t us) { return fmt::format("{:.1f}", static_cast<double>(us) / 1000); };
  const std::uint64_t took_us = work.opened_us + work.settled_us + work.adopted_us;
  parts_.tell(
      NoticeSeverity::kInfo,
      fmt::format(
          "{} is recovered after {} ms (its log was opened in {}, what it held was settled in {}, its rings were "
          "adopted in {}), {} ms after this node had heard of its end. Of its transactions, {} had been decided and "
          "were completed, {} were undone. Of the records that it may have held, {} were written back, {} freed "
          "unchanged, {} were free already, and {} are gone with their own node's life; {} removals were told to their "
          "nodes. {} bytes of its rings are in its log now. Results are released again; start the node, and it comes "
          "back",
          life_of(debt), ms(took_us), ms(work.opened_us), ms(work.settled_us), ms(work.adopted_us),
          ms(work.waited_us + took_us), work.redone_transactions, work.undone_transactions, work.redone_records,
          work.freed_records, work.settled_before, work.gone_records, work.removals, work.adopted_bytes));
}

/// Notes that an attempt has failed, and when the next one comes. The next one comes soon if the cause may pass by
/// itself, as a process that has been killed needs a moment to end.
void Recoverer::note_failure(const Owed& debt, const Status& why, Clock::time_point began) {
  const auto now = Clock::now();
  Attempt& attempt =
      attempts_.try_emplace({debt.node, debt.generation}, Attempt{.first = began, .pause = kLater}).first->second;
  const bool brief = why.code() == StatusCode::kUnavailable && now < attempt.first + kBrief;
  parts_.recoveries.fail(debt, brief ? std::string() : std::string(why.message()));
  attempt.next = now + (brief ? kSoon : attempt.pause);
  if (!brief) attempt.pause = std::min(2 * attempt.pause, kLongest);
  if (brief || why.code() == StatusCode::kMembershipLost) return;
  (void)parts_.membership.give_up_claim(debt.node, debt.generation);
  if (attempt.told == why.message()) return;
  attempt.told = why.message();
  const std::string text =
      fmt::format("{} cannot be recovered here, so results are not released, and it cannot come back: {}",
                  life_of(debt), why.message());
  {
    const std::lock_guard lock(mutex_);
    failures_[{debt.node, debt.generation}] = Status(why.code(), text);
  }
  parts_.tell(NoticeSeverity::kError, text);
}

Status Recoverer::failure() const {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return {};
  const auto lasting =
      std::ranges::find_if(failures_, [](const auto& one) { return one.second.code() != StatusCode::kUnavailable; });
  return lasting != failures_.end() ? lasting->second : failures_.begin()->second;
}

Status Recoverer::failure_of(const Owed& debt) const {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find({debt.node, debt.generation});
  return found == failures_.end() ? Status() : found->second;
}

/// Forgets the attempts at lives that this node or another one has recovered.
void Recoverer::forget_recovered() {
  const auto newest = parts_.membership.configuration();
  const auto recovered = [&newest](const auto& one) {
    return newest->debt(one.first.first, one.first.second) == nullptr;
  };
  std::erase_if(attempts_, recovered);
  const std::lock_guard lock(mutex_);
  std::erase_if(failures_, recovered);
}

}  // namespace granary::db
