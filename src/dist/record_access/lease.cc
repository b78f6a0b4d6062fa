#include "src/dist/record_access/lease.h"

#include "src/base/test_hooks.h"

namespace granary::dist {

using rdma::Operation;
using rdma::fiber::Next;

Lease::Lease(const RemoteRecord& record, const LeaseTerm& term, void* buffer, const base::SoftTime& time,
             record::StateWord seen)
    : AccessStep(record.at),
      term_(term),
      words_(static_cast<std::uint64_t*>(buffer)),
      time_(&time),
      read_(record, words_ + 1),
      expected_(expected_after(seen)) {}

void Lease::append(std::vector<Operation>& chain) {
  if (!taken_)
    chain.push_back(Operation::compare_swap(read_.record().at, expected_, record::lease_word(term_.end_us), words_));
  read_.append(chain);
}

Next Lease::settle() {
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
  if (!now.known) return end(Outcome::kNoTime);
  if (shared(seen, term_, now)) return taken(record::lease_end_us(seen));
  return now.expired(record::lease_end_us(seen)) ? begin_again(seen, Next::kAtOnce) : give_up(seen);
}

/// What was READ is under the lease if the lease was there when the header was.
Next Lease::look() {
  const Next next = read_.settle();
  if (next != Next::kEnded) return next;
  if (read_.outcome() != Outcome::kDone && read_.outcome() != Outcome::kMissing) return end(read_.outcome());
  if (read_.state() != record::lease_word(end_us_)) return begin_again(read_.state(), Next::kAtOnce);
  const base::TimeReading now = time_->read();
  if (!now.known) return end(Outcome::kNoTime);
  return now.valid(end_us_) ? end(read_.outcome()) : give_up(record::lease_word(end_us_));
}

Next Lease::begin_again(record::StateWord seen, Next when) {
  if (!look_again()) return give_up(seen);
  taken_ = false;
  read_ = CheckedRead(read_.record(), words_ + 1);
  expected_ = expected_after(seen);
  return when;
}

Next Lease::give_up(record::StateWord seen) {
  holder_ = seen;
  return end(Outcome::kBusy);
}

record::StateWord Lease::expected_after(record::StateWord seen) const {
  const bool over_expired = record::is_lease(seen) && time_->read().expired(record::lease_end_us(seen));
  return over_expired ? seen : record::kFree;
}

}  // namespace granary::dist
