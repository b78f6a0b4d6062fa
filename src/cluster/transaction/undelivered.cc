#include "src/cluster/transaction/undelivered.h"

#include <algorithm>

#include "src/base/set_while.h"
#include "src/cluster/transaction/release_run.h"

namespace granary::cluster {
namespace {

constexpr std::uint64_t kLeastRest_us = 1000;

bool is_among(const Undelivered::Silent& silent, rdma::NodeId node) {
  return std::find(silent.begin(), silent.end(), node) != silent.end();
}

}  // namespace

void Undelivered::keep(std::deque<Release> releases, std::vector<Removal> removals, Buffers room,
                       log::NamedLocks named) {
  bytes_ += room.bytes();
  all_.push_back({std::move(releases), std::move(removals), std::move(room), std::move(named)});
}

void Undelivered::try_again(Reach& reach, Silent& silent) {
  if (!all_.empty() && reach.now_us() >= next_us_) try_now(reach, silent);
}

void Undelivered::try_now(Reach& reach, Silent& silent) {
  if (all_.empty() || trying_) return;
  const std::uint64_t now_us = reach.now_us();
  {
    const base::SetWhile tries(trying_);
    try_all(reach, silent);
  }
  constexpr std::uint64_t kRest = 10;  // the pause is so many times as long as the try
  const std::uint64_t ended_us = reach.now_us();
  next_us_ = ended_us + std::max(kLeastRest_us, kRest * (ended_us - now_us));
}

void Undelivered::try_all(Reach& reach, Silent& silent) {
  for (auto one = all_.begin(); one != all_.end();) {
    for (auto release = one->releases.begin(); release != one->releases.end();)
      release = has_ended(reach, *release, silent) ? one->releases.erase(release) : std::next(release);
    if (!one->releases.empty()) {
      ++one;
      continue;
    }
    tell(reach, one->removals, silent);
    bytes_ -= one->room.bytes();
    one->named.complete();
    one = all_.erase(one);
  }
}

/// Asks the owners to register the removed records (Locks::note_removed). If a question is lost, or its owner is
/// silent, the record is registered when the owner recovers.
void Undelivered::tell(Reach& reach, const std::vector<Removal>& removals, Silent& silent) {
  messages::Questions<messages::NoteRemoved> questions;
  for (const Removal& removal : removals) {
    if (!is_among(silent, removal.node))
      questions.add(removal.node, {.table = removal.table, .key = removal.key, .tid = removal.tid});
  }
  if (questions.size() == 0) return;
  cc::bump(reach.counters.messages, std::uint64_t{questions.size()});
  reach.messenger.ask(questions.all());
  for (const messages::Question* const question : questions.all()) {
    if (question->outcome() == messages::AskOutcome::kTimedOut && !is_among(silent, question->node()))
      silent.push_back(question->node());
  }
}

/// Tries to give back one lock. Returns whether nothing more is to do: it was given back, or its node is dead and will
/// be recovered, or the life of its node is over and the lock is gone with that life's memory.
bool Undelivered::has_ended(Reach& reach, Release& release, Silent& silent) {
  const rdma::NodeId node = release.node();
  if (!reach.is_member(node) || reach.is_over(node, release.generation())) return true;
  if (is_among(silent, node)) return false;
  if (!reach.connect(node)) {
    silent.push_back(node);
    return false;
  }
  if (cc::may_not_commit(reach.worker.shared))
    return false;  // asked here, as it may have happened while a node was waited for
  return ReleaseRun::retry(reach, release);
}

void Undelivered::finish(Reach& reach, std::uint64_t patience_us) {
  const std::uint64_t end_us = reach.now_us() + patience_us;
  for (std::uint32_t turn = 0; !empty() && reach.now_us() < end_us && !cc::may_not_commit(reach.worker.shared);
       ++turn) {
    next_us_ =
        std::min(next_us_, reach.now_us() + kLeastRest_us);  // short pauses, as the worker has nothing else to do
    try_again(reach);
    reach.waiter.pause(turn);
  }
}

}  // namespace granary::cluster
