#include "bench/dta/transaction.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "src/base/test_hooks.h"

namespace granary::bench::dta {

void Transaction::begin() {
  from_ = 0;
  reason_ = AbortReason::kNone;
  certifier_.begin_interval(session_);
}

bool Transaction::fail(AbortReason reason) {
  if (reason_ == AbortReason::kNone) reason_ = reason;
  return false;
}

bool Transaction::read(Row& row, std::span<char> buffer) {
  if (const auto* const own = writes_.find(row)) {
    std::memcpy(buffer.data(), own->value.data(), value_bytes_);
    return true;
  }
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    // While the row is being replaced, the session does not register: the reader waits for the new version, and the
    // writer would shrink its interval because of the old one.
    if (!row.being_replaced() && copy(row, buffer.first(value_bytes_))) {
      // Others may have ended the interval by now, which certify() finds; to see it here saves the rest of the work.
      return Interval{from_, certifier_.end_of(session_)}.empty() ? fail(AbortReason::kReadChanged) : true;
    }
    waiter_.pause(turn);
  }
  return fail(AbortReason::kRecordBusy);
}

/// Becomes a reader of the row, and stays one until the transaction ends. Returns false if the row was replaced
/// meanwhile.
bool Transaction::copy(Row& row, std::span<char> buffer) {
  const bool late = base::injected("dta-registers-late");
  if (!late) row.add_reader(session_);
  reads_.push_back(&row);
  const std::optional<Timestamp> written = row.copy(buffer);
  base::sync_point("dta.copied");
  if (late) row.add_reader(session_);
  if (!written) return false;
  if (!base::injected("dta-ignores-wts")) from_ = std::max(from_, *written + 1);
  return true;
}

bool Transaction::claim(Row& row, std::span<char> buffer) {
  if (!buffer.empty() && !read(row, buffer)) return false;
  if (writes_.find(row) == nullptr) writes_.add(row);
  return true;
}

/// Whether a row that it writes is still getting the value of a transaction that was certified before.
bool Transaction::waits_to_replace() const {
  return std::any_of(writes_.begin(), writes_.end(), [](const auto& write) { return write.row->being_replaced(); });
}

/// Certifies the transaction. Waits outside of the critical section, where others go on meanwhile.
AbortReason Transaction::validate() {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    {
      const std::lock_guard inside(certifier_.critical_section());
      if (!waits_to_replace()) return certify();
    }
    waiter_.pause(turn);
  }
  return AbortReason::kWriteLocked;
}

/// Ends the row's version at the transaction's time, and makes all its open readers end before. To be called in the
/// critical section.
void Transaction::replace_version(Row& row) {
  const bool late = base::injected("dta-marks-late");
  if (!late) row.begin_replacing(time_);
  row.for_each_reader([&](std::uint32_t reader) {
    if (reader != session_ && !base::injected("dta-keeps-intervals")) certifier_.end_before(reader, time_);
  });
  base::sync_point("dta.replacing");
  if (late) row.begin_replacing(time_);
}

/// Gives the transaction a timestamp, and orders the transactions that it conflicts with before or after it. To be
/// called in the critical section. Nothing can fail once it has a timestamp.
AbortReason Transaction::certify() {
  Interval interval{from_, certifier_.end_of(session_)};
  for (const auto& write : writes_) interval.begin_after(std::max(write.row->wts(), write.row->rts()));
  if (interval.empty()) return AbortReason::kReadChanged;
  time_ = certifier_.choose(interval);
  for (Row* const row : reads_) {
    if (!base::injected("dta-forgets-rts")) row->raise_rts(time_);
  }
  for (const auto& write : writes_) replace_version(*write.row);
  return AbortReason::kNone;
}

AbortReason Transaction::commit() {
  if (reason_ == AbortReason::kNone) reason_ = validate();
  if (reason_ == AbortReason::kNone) {
    base::sync_point("dta.certified");
    for (const auto& write : writes_) write.row->replace(write.value, time_);
  }
  end();
  return reason_;
}

/// Removes the session from the rows' readers. If the transaction commits, it is certified before that.
void Transaction::end() {
  for (Row* const row : reads_) row->remove_reader(session_);
  reads_.clear();
  writes_.clear();
}

}  // namespace granary::bench::dta
