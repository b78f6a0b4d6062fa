// The application's handles Transaction and Snapshot (include/granary/transaction.h). Each function passes the call on
// to the context in which the transaction runs (src/txn/context.h), with the serial by which the context knows it.

#include <granary/transaction.h>

#include "src/txn/context.h"
#include "src/txn/multi_get.h"
#include "src/txn/multi_put.h"

namespace granary {
namespace {

/// Gets the first record of an index under a secondary key, by `scan` of a transaction or a snapshot.
template <typename Scan>
GetResult first_by_index(std::string_view secondary_key, std::span<char> buffer, std::string* primary_key,
                         Scan&& scan) {
  const ScanRange range{.from = secondary_key, .to = secondary_key, .to_inclusive = true, .limit = 1};
  GetResult result{Outcome::kNotFound, 0};
  const ScanResult scanned = scan(range, [&](std::string_view key, std::string_view value) {
    result = {value.size() <= buffer.size() ? Outcome::kOk : Outcome::kBufferTooSmall, value.size()};
    if (result.outcome == Outcome::kOk) std::copy(value.begin(), value.end(), buffer.begin());
    if (primary_key != nullptr) primary_key->assign(key);
    return false;
  });
  if (!scanned) return {scanned.outcome, 0};
  return result;
}

}  // namespace

// --- Transaction ---

Transaction& Transaction::operator=(Transaction&& other) noexcept {
  if (this != &other) {
    drop();
    context_ = std::exchange(other.context_, nullptr);
    serial_ = other.serial_;
    aborted_ = other.aborted_;
    is_piece_ = other.is_piece_;
    committed_ = other.committed_;
  }
  return *this;
}

GetResult Transaction::get(const Table& table, std::string_view key, std::span<char> buffer) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->get(serial_, table.core(), key, buffer);
}
GetResult Transaction::get_to_write(const Table& table, std::string_view key, std::span<char> buffer) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->get(serial_, table.core(), key, buffer, /*will_write=*/true);
}
Outcome Transaction::get(const Table& table, std::string_view key, std::string& value) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->get(serial_, table.core(), key, value);
}
GetResult Transaction::get_part(const Table& table, std::string_view key, std::size_t from, std::span<char> buffer) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->get_part(serial_, table.core(), key, from, buffer);
}
Outcome Transaction::update_part(const Table& table, std::string_view key, std::size_t from, std::string_view bytes) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->write_part(serial_, table.core(), key, from, bytes);
}
Outcome Transaction::multi_get(std::span<MultiGet> gets) {
  if (context_ == nullptr) return txn::refuse_all(gets, Outcome::kFinished);
  return context_->multi_get(serial_, gets);
}
Outcome Transaction::declare(std::span<const Declared> keys) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->declare(serial_, keys);
}
void Transaction::prefetch(const Table& table, std::string_view key) {
  if (context_ != nullptr) context_->prefetch(serial_, table.core(), key);
}
Outcome Transaction::put(const Table& table, std::string_view key, std::string_view value) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->write(serial_, table.core(), key, value, txn::kPut);
}
Outcome Transaction::multi_put(std::span<MultiPut> puts) {
  if (context_ == nullptr) return txn::refuse_all(puts, Outcome::kFinished);
  return context_->multi_put(serial_, puts);
}
Outcome Transaction::update(const Table& table, std::string_view key, std::string_view value) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->write(serial_, table.core(), key, value, txn::kUpdate);
}
Outcome Transaction::insert(const Table& table, std::string_view key, std::string_view value) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->write(serial_, table.core(), key, value, txn::kInsert);
}
Outcome Transaction::remove(const Table& table, std::string_view key) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->write(serial_, table.core(), key, {}, txn::kRemove);
}
ScanResult Transaction::scan(const Table& table, const ScanRange& range, ScanFn visit) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->scan(serial_, table.core(), range, visit);
}
ScanResult Transaction::scan(const Index& index, const ScanRange& range, ScanFn visit) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->scan_index(serial_, index.core(), range, visit);
}
GetResult Transaction::get(const Index& index, std::string_view secondary_key, std::span<char> buffer,
                           std::string* primary_key) {
  return first_by_index(secondary_key, buffer, primary_key,
                        [&](const ScanRange& range, ScanFn visit) { return scan(index, range, visit); });
}
CommitResult Transaction::commit() {
  if (is_piece_) [[unlikely]]
    return refuse_commit();
  if (context_ == nullptr) return {.reason = AbortReason::kMisuse, .ticket = {}};
  const cc::CommitOutcome outcome = context_->commit(serial_);
  const CommitResult result = {.reason = outcome.reason, .ticket = {outcome.tid, outcome.epoch}};
  if (result.reason != AbortReason::kMisuse) [[likely]] {
    context_ = nullptr;
    committed_ = result;
  }
  return result;
}
/// Ends the transaction without effect, so that a piece whose body believes that it has committed does nothing at all.
CommitResult Transaction::refuse_commit() {
  if (open()) {
    abort();
    aborted_ = AbortReason::kMisuse;
  }
  return {.reason = AbortReason::kMisuse, .ticket = {}};
}
void Transaction::abort() {
  if (!open()) return;
  const AbortReason doomed = doom();
  aborted_ = doomed == AbortReason::kNone ? AbortReason::kUser : doomed;
  std::exchange(context_, nullptr)->abort(serial_);  // a handle that has ended may outlive its database
}
/// Ends the transaction, as its handle goes. If this is not the thread of its worker, it only notes that, and the
/// worker's thread has to end the transaction.
void Transaction::drop() {
  abort();
  if (context_ != nullptr) context_->note_dropped(serial_);
}
bool Transaction::open() const { return context_ != nullptr && context_->open(serial_); }
AbortReason Transaction::doom() const { return context_ == nullptr ? AbortReason::kNone : context_->doom(serial_); }

// --- Snapshot ---

Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
  if (this != &other) {
    drop();
    context_ = std::exchange(other.context_, nullptr);
    serial_ = other.serial_;
  }
  return *this;
}

Snapshot::~Snapshot() { drop(); }

/// Ends the snapshot as Transaction::drop() ends a transaction.
void Snapshot::drop() {
  finish();
  if (context_ != nullptr) context_->snapshot().note_dropped(serial_);
}

std::uint64_t Snapshot::epoch() const { return context_ == nullptr ? 0 : context_->snapshot().epoch_of(serial_); }

GetResult Snapshot::get_part(const Table& table, std::string_view key, std::size_t from, std::span<char> buffer) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->snapshot().get_part(serial_, table.core(), key, from, buffer);
}
GetResult Snapshot::get(const Table& table, std::string_view key, std::span<char> buffer) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->snapshot().get(serial_, table.core(), key, buffer);
}
Outcome Snapshot::get(const Table& table, std::string_view key, std::string& value) {
  if (context_ == nullptr) return Outcome::kFinished;
  return context_->snapshot().get(serial_, table.core(), key, value);
}
Outcome Snapshot::multi_get(std::span<MultiGet> gets) {
  if (context_ == nullptr) return txn::refuse_all(gets, Outcome::kFinished);
  return context_->snapshot().multi_get(serial_, gets);
}
ScanResult Snapshot::scan(const Table& table, const ScanRange& range, ScanFn visit) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->snapshot().scan(serial_, table.core(), range, visit);
}
ScanResult Snapshot::scan(const Index& index, const ScanRange& range, ScanFn visit) {
  if (context_ == nullptr) return {Outcome::kFinished, 0};
  return context_->snapshot().scan_index(serial_, index.core(), range, visit);
}
GetResult Snapshot::get(const Index& index, std::string_view secondary_key, std::span<char> buffer,
                        std::string* primary_key) {
  return first_by_index(secondary_key, buffer, primary_key,
                        [&](const ScanRange& range, ScanFn visit) { return scan(index, range, visit); });
}
void Snapshot::finish() {
  // A handle that has ended may outlive its database, so it forgets its context.
  if (context_ != nullptr && context_->snapshot().finish(serial_)) context_ = nullptr;
}

}  // namespace granary
