#include "bench/hekaton/transaction.h"

#include <cstring>

#include "src/base/give_way.h"

namespace granary::bench::hekaton {
namespace {

constexpr std::uint32_t kPatience = 4096;

/// Waits for a transaction that is about to end. That takes a few instructions of its thread, if it has a processor.
void pause(std::uint32_t turn) {
  constexpr std::uint32_t kSpins = 64;
  if (turn < kSpins) {
    base::spin_pause();
  } else {
    base::give_way();
  }
}

}  // namespace

std::vector<ExtraFigure> Shared::figures() const {
  std::uint64_t commits = 0;
  for (const End& end : ends_) commits += end.commits.load(std::memory_order_relaxed);
  if (commits == 0 || timestamps_.drawn() == 0) return {};
  return {
      {"commit_time_steps_per_transaction", static_cast<double>(timestamps_.drawn()) / static_cast<double>(commits)}};
}

void Transaction::begin() {
  reads_.clear();
  writes_.clear();
  reason_ = AbortReason::kNone;
  began_ = shared_.timestamps().next(session_);
}

bool Transaction::fail(AbortReason reason) {
  if (reason_ == AbortReason::kNone) reason_ = reason;
  return false;
}

/// If the transaction that has marked the version is active, it will draw its end later, so its end is greater than
/// `time`. While it draws, its end may be earlier or later than `time`. The mark is that of the session's present
/// transaction, because every transaction removes its marks, under the row's latch, before it ends.
std::optional<bool> Transaction::holds_at(Timestamp end, Timestamp time) {
  if (!is_marked(end)) return end > time;
  if (marker(end) == session_) return true;
  const Timestamp its = shared_.end_of(marker(end)).load(std::memory_order_seq_cst);
  if (its == Shared::kTaking) return std::nullopt;
  return its == Shared::kActive || its > time;
}

bool Transaction::read(Row& row, std::span<char> buffer) {
  if (const auto* const own = writes_.find(row)) {
    if (own->removes) return false;
    std::memcpy(buffer.data(), own->value.data(), own->value.size());
    return true;
  }
  for (std::uint32_t turn = 0; turn < kPatience; ++turn) {
    row.latch();
    const std::optional<std::uint32_t> slot = row.slot_at(began_);
    if (!slot) {
      row.unlatch();
      return fail(AbortReason::kReadChanged);
    }
    const Version version = row.version(*slot);
    // If the version's writer has an earlier end, the next version will be there in a moment.
    const bool settled = holds_at(version.end, began_).value_or(false);
    if (settled) {
      if (!version.absent) std::memcpy(buffer.data(), row.value(*slot), row.value_bytes());
      reads_.push_back({&row, *slot, version.begin});
    }
    row.unlatch();
    if (settled) return !version.absent;
    pause(turn);
  }
  return fail(AbortReason::kRecordBusy);
}

bool Transaction::claim(Row& row, std::span<char> buffer) {
  const auto* const own = writes_.find(row);
  if (own == nullptr) return mark(row, /*absent=*/false, buffer);
  if (own->removes) return false;
  if (!buffer.empty()) std::memcpy(buffer.data(), own->value.data(), own->value.size());
  return true;
}

bool Transaction::mark(Row& row, bool absent, std::span<char> buffer) {
  row.latch();
  Version& newest = row.version(row.newest());
  const bool changed = newest.begin > began_;
  const bool free = newest.end == kForever && !changed;
  const bool as_wanted = (newest.absent != 0) == absent;
  if (free && as_wanted) {
    newest.end = kMark | session_;
    if (!buffer.empty()) std::memcpy(buffer.data(), row.value(row.newest()), row.value_bytes());
  } else if (free) {
    reads_.push_back({&row, row.newest(), newest.begin});
  }
  row.unlatch();
  if (!free) return fail(changed ? AbortReason::kReadChanged : AbortReason::kWriteLocked);
  if (as_wanted) writes_.add(row);
  return as_wanted;
}

bool Transaction::insert(Row& row, std::string_view value) {
  const auto* const own = writes_.find(row);
  const bool claimed = own == nullptr ? mark(row, /*absent=*/true, {}) : own->removes;
  if (claimed) write(row, value);
  return claimed;
}

bool Transaction::remove(Row& row) {
  if (!claim(row, {})) return false;
  writes_.find(row)->removes = true;
  return true;
}

void Transaction::write(Row& row, std::string_view value) {
  auto& own = *writes_.find(row);
  own.value.assign(value);
  own.removes = false;
}

AbortReason Transaction::check(const Read& read, Timestamp time) {
  for (std::uint32_t turn = 0; turn < kPatience; ++turn) {
    read.row->latch();
    const Version version = read.row->version(read.slot);
    const std::optional<bool> holds = holds_at(version.end, time);
    read.row->unlatch();
    if (version.begin != read.begin) return AbortReason::kReadChanged;  // a later version has taken its slot
    if (holds) return *holds ? AbortReason::kNone : AbortReason::kReadChanged;
    pause(turn);
  }
  return AbortReason::kReadLocked;
}

AbortReason Transaction::commit() {
  if (reason_ != AbortReason::kNone) {
    abort();
    return reason_;
  }
  std::atomic<Timestamp>& own_end = shared_.end_of(session_);
  own_end.store(Shared::kTaking, std::memory_order_seq_cst);
  const Timestamp end = shared_.timestamps().next(session_);
  own_end.store(end, std::memory_order_seq_cst);
  if (isolation_ == Isolation::kSerializable) {
    for (const Read& read : reads_) {
      reason_ = check(read, end);
      if (reason_ != AbortReason::kNone) break;
    }
  }
  if (reason_ != AbortReason::kNone) {
    abort();
    return reason_;
  }
  for (const auto& write : writes_) {
    write.row->latch();
    write.row->add(end, write.removes ? std::nullopt : std::optional<std::string_view>(write.value));
    write.row->unlatch();
  }
  own_end.store(Shared::kActive, std::memory_order_seq_cst);
  shared_.count_commit(session_);
  return AbortReason::kNone;
}

void Transaction::abort() {
  for (const auto& write : writes_) {
    write.row->latch();
    write.row->version(write.row->newest()).end = kForever;
    write.row->unlatch();
  }
  writes_.clear();
  shared_.end_of(session_).store(Shared::kActive, std::memory_order_seq_cst);
}

}  // namespace granary::bench::hekaton
