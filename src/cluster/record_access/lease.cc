#include "src/cluster/record_access/lease.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {

using rdma::Operation;
using rdma::fiber::Next;

Lease::Lease(const RemoteRecord& record, const LeaseTerm& term, void* buffer, const base::SoftTime& time,
             record::StateWord seen)
    : AccessStep(record.at),
      record_(record),
      term_(term),
      words_(static_cast<std::uint64_t*>(buffer)),
      time_(&time),
      expected_(expected_after(seen)) {}

void Lease::append(std::vector<Operation>& chain) {
  base::invariant("I9", record::is_lease(record::lease_word(term_.end_us)) && !record::is_x_locked(expected_));
  if (!taken_)
    chain.emplace_back() = Operation::compare_swap(record_.at, expected_, record::lease_word(term_.end_us), words_);
  chain.emplace_back() = Operation::read(words_ + 1, record_.at, record_.head_bytes());
}

Next Lease::interpret() {
  if (taken_) return look();
  return words_[0] == expected_ ? taken(term_.end_us) : not_taken(words_[0]);
}

Next Lease::taken(std::uint64_t end_us) {
  taken_ = true;
  end_us_ = end_us;
  holder_ = record::kFree;
  base::sync_point("lease.taken");
  return look();
}

Next Lease::not_taken(record::StateWord seen) {
  if (seen == record::kFree) return begin_again(seen, Next::kAtOnce);
  if (record::is_x_locked(seen)) return begin_again(seen, Next::kAfterPause);
  const base::TimeReading now = time_->read();
  if (!now.known) return end(AccessOutcome::kNoTime);
  if (term_.can_share(seen, now)) return taken(record::lease_end_us(seen));
  return term_.can_replace(seen, now) ? begin_again(seen, Next::kAtOnce) : give_up(seen);
}

/// The header counts if the lease was there with it. The lock bit is looked at first: while it is set, the owner may be
/// changing key, incarnation and latest.
Next Lease::look() {
  if (copy().state_word != record::lease_word(end_us_)) return begin_again(copy().state_word, Next::kAtOnce);
  if (record::is_locked(copy().head.tid_word) && !base::injected("lease-ignores-lock-bit"))
    return look_again() ? Next::kAfterPause : end(AccessOutcome::kBusy);
  if (!record_.is(copy())) return end(AccessOutcome::kMoved);
  const base::TimeReading now = time_->read();
  if (!now.known) return end(AccessOutcome::kNoTime);
  base::debug_invariant("I9", [&] { return !now.valid(end_us_) || !now.expired(end_us_); });
  return now.valid(end_us_) ? end(AccessOutcome::kDone) : give_up(record::lease_word(end_us_));
}

Next Lease::begin_again(record::StateWord seen, Next when) {
  if (!look_again()) return give_up(seen);
  taken_ = false;
  expected_ = expected_after(seen);
  return when;
}

Next Lease::give_up(record::StateWord seen) {
  holder_ = seen;
  return end(AccessOutcome::kBusy);
}

record::StateWord Lease::expected_after(record::StateWord seen) const {
  return record::is_lease(seen) && term_.can_replace(seen, time_->read()) ? seen : record::kFree;
}

}  // namespace granary::cluster
