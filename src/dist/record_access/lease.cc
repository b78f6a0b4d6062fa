#include "src/dist/record_access/lease.h"

#include "src/base/test_hooks.h"

namespace granary::dist {

using rdma::Operation;
using rdma::fiber::Next;

Lease::Lease(const RemoteRecord& record, const LeaseTerm& term, void* buffer, const base::SoftTime& time)
    : AccessStep(record.at),
      term_(term),
      words_(static_cast<std::uint64_t*>(buffer)),
      time_(&time),
      read_(record, words_ + 1) {}

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
  const std::uint64_t its_end_us = record::lease_end_us(seen);
  if (now.valid(its_end_us) && its_end_us >= term_.least_end_us) return taken(its_end_us);
  return begin_again(seen, now.expired(its_end_us) ? Next::kAtOnce : Next::kAfterPause);
}

/// What was READ is under the lease if the lease was there when the header was.
Next Lease::look() {
  const Next next = read_.settle();
  if (next != Next::kEnded) return next;
  if (read_.outcome() != Outcome::kDone && read_.outcome() != Outcome::kMissing) return end(read_.outcome());
  if (read_.state() != record::lease_word(end_us_)) return begin_again(read_.state(), Next::kAtOnce);
  const base::TimeReading now = time_->read();
  if (!now.known) return end(Outcome::kNoTime);
  return end(now.valid(end_us_) ? read_.outcome() : Outcome::kBusy);
}

/// The CAS is next made from free, or from a lease if that has expired: otherwise it is bound to fail, and a look.
Next Lease::begin_again(record::StateWord seen, Next when) {
  if (!look_again()) {
    holder_ = seen;
    return end(Outcome::kBusy);
  }
  taken_ = false;
  read_ = CheckedRead(read_.record(), words_ + 1);
  const bool over_expired = record::is_lease(seen) && time_->read().expired(record::lease_end_us(seen));
  expected_ = over_expired ? seen : record::kFree;
  return when;
}

}  // namespace granary::dist
