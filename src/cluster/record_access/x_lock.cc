#include "src/cluster/record_access/x_lock.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using base::injected;
using rdma::Operation;
using rdma::fiber::Next;

namespace {

constexpr std::size_t kPreviousVersion = offsetof(record::SharedRecord, head) + offsetof(record::Record, previous_word);

}  // namespace

XLock::XLock(const RemoteRecord& record, record::StateWord mine, void* buffer, const LeaseExpired& expired,
             record::StateWord seen, Fetch fetch)
    : AccessStep(record.at),
      record_(record),
      mine_(mine),
      words_(static_cast<std::uint64_t*>(buffer)),
      expired_(&expired),
      fetch_(fetch),
      expected_(may_take(seen) ? seen : record::kFree) {
  base::invariant("I2", record::is_x_locked(mine));
}

void XLock::append(std::vector<Operation>& chain) {
  switch (round_) {
    case Round::kTake:
      if (injected("header-before-lock")) append_look(chain);
      base::invariant("I9", !record::is_x_locked(expected_));
      chain.emplace_back() = Operation::compare_swap(record_.at, expected_, mine_, words_);
      if (!injected("header-before-lock")) append_look(chain);
      break;
    case Round::kLook:
    case Round::kFindOut: append_look(chain); break;
    // No operation of ours is under way that it could overtake.
    case Round::kLetGo: chain.emplace_back() = Operation::write(record_.at, words_ + 1, base::kWord); break;
  }
}

void XLock::append_look(std::vector<Operation>& chain) {
  const bool fetches = fetch_ == Fetch::kRecord;
  chain.emplace_back() = Operation::read(words_ + kCopy, record_.at, fetches ? record_.bytes() : record_.head_bytes());
  if (fetches) chain.emplace_back() = Operation::read(words_ + 2, record_.at.plus(kPreviousVersion), base::kWord);
}

Next XLock::interpret() {
  switch (round_) {
    case Round::kTake: return words_[0] == expected_ ? taken() : not_taken();
    case Round::kLook: return look();
    case Round::kFindOut:
      if (copy().state_word != mine_ && !injected("resume-unseen")) return end(AccessOutcome::kNotHeld);
      return taken();
    case Round::kLetGo: break;
  }
  return end(let_go_outcome_);
}

Next XLock::taken() {
  round_ = Round::kLook;
  holder_ = record::kFree;
  base::sync_point("x_lock.taken");
  return look();
}

bool XLock::may_take(record::StateWord seen) const {
  return seen == record::kFree || (record::is_lease(seen) && *expired_ && (*expired_)(record::lease_end_us(seen)));
}

/// Tries one more CAS, from the word that was seen.
Next XLock::not_taken() {
  const record::StateWord seen = words_[0];
  if (!may_take(seen) || !look_again()) {
    holder_ = seen;
    return end(AccessOutcome::kBusy);
  }
  expected_ = seen;
  return Next::kAtOnce;
}

/// Looks at the lock bit first: while it is set, the owner may be changing key, incarnation and latest.
Next XLock::look() {
  if (record::is_locked(copy().head.tid_word) && !injected("ignore-lock-bit")) {
    return look_again() ? Next::kAfterPause : let_go(AccessOutcome::kBusy);
  }
  return record_.is(copy()) ? end(AccessOutcome::kDone) : let_go(AccessOutcome::kMoved);
}

Next XLock::let_go(AccessOutcome outcome) {
  round_ = Round::kLetGo;
  let_go_outcome_ = outcome;
  words_[1] = injected("tictoc-abort-leaves-zero") ? record::kFree : replaced();
  return Next::kAtOnce;
}

std::optional<std::string_view> XLock::value() const {
  base::invariant("I4", outcome() == AccessOutcome::kDone && fetch_ == Fetch::kRecord);
  return whole_value(record_, copy());
}

void XLock::resume() {
  base::always_check(outcome() == AccessOutcome::kBroken, "only what broke is resumed");
  begin();
  round_ = Round::kFindOut;
}

}  // namespace granary::cluster
