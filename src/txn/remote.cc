// Operations on keys whose home is another node: through the context's RemoteAccess.

#include "src/txn/remote.h"

#include <algorithm>

#include "src/txn/context.h"
#include "src/txn/multi_get.h"

namespace granary::txn {

Outcome Context::get_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::string_view& value) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  RemoteGet get{{&table, home, key}};
  const AbortReason reason = remote_->get({&get, 1});
  if (reason != AbortReason::kNone) return doom_with(reason);
  value = get.value;
  return get.found ? Outcome::kOk : Outcome::kNotFound;
}

GetResult Context::read_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::span<char> buffer) {
  std::string_view value;
  const Outcome outcome = get_elsewhere(table, home, key, value);
  return outcome == Outcome::kOk ? copy_out(value, buffer) : GetResult{outcome, 0};
}

Outcome Context::write_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::string_view value,
                                 WriteMode mode) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  Outcome outcome = Outcome::kOk;
  const AbortReason reason = remote_->write({&table, home, key}, value, mode, outcome);
  return reason == AbortReason::kNone ? outcome : doom_with(reason);
}

Outcome Context::declare(std::uint64_t serial, std::span<const Declared> keys) {
  const Outcome admitted = admit(serial);
  if (admitted != Outcome::kOk) return admitted;
  std::vector<DeclaredKey> elsewhere;
  for (const Declared& declared : keys) {
    const Outcome fits = admit(serial, declared.table.core(), declared.key);
    if (fits != Outcome::kOk) return fits;
    const std::optional<std::uint16_t> home = home_elsewhere(*declared.table.core(), declared.key);
    if (home) elsewhere.push_back({{declared.table.core(), *home, declared.key}, declared.write});
  }
  if (elsewhere.empty()) return Outcome::kOk;
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  const AbortReason reason = remote_->declare(elsewhere);
  return reason == AbortReason::kNone ? Outcome::kOk : doom_with(reason);
}

Outcome Context::multi_get_elsewhere(GetsElsewhere<RemoteGet>& elsewhere) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  const AbortReason reason = remote_->get(elsewhere.gets);
  if (reason != AbortReason::kNone) return doom_with(reason);
  for (std::size_t i = 0; i < elsewhere.gets.size(); ++i) {
    const RemoteGet& get = elsewhere.gets[i];
    MultiGet& asked = *elsewhere.asked[i];
    asked.result = get.found ? copy_out(get.value, asked.buffer) : GetResult{Outcome::kNotFound, 0};
  }
  return Outcome::kOk;
}

ScanResult Context::scan_elsewhere(TableCore& table, TableCore* index, std::uint16_t home, const ScanRange& range,
                                   ScanFn visit) {
  if (remote_ == nullptr) return {Outcome::kUnknownTable, 0};
  ScanResult result;
  const std::uint64_t serial = serial_;
  const AbortReason reason = remote_->scan(
      table, index, home, range,
      [&](std::string_view key, std::string_view value) {
        const bool more = visit(key, value);
        if (open(serial) && state_ == State::kOpen) return more;
        // The callback ended the transaction, or one of its operations doomed it.
        result.outcome = open(serial) ? Outcome::kAborted : Outcome::kFinished;
        return false;
      },
      result);
  if (result.outcome != Outcome::kOk) return result;
  return reason == AbortReason::kNone ? result : ScanResult{doom_with(reason), 0};
}

// --- snapshots ---

Outcome Context::snapshot_get_elsewhere(TableCore& table, std::uint16_t home, std::string_view key,
                                        std::string& value) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  RemoteSnapshotGet get{{&table, home, key}};
  remote_->snapshot_get(snapshot_epoch_, {&get, 1});
  value = std::move(get.value);
  return get.outcome;
}

Outcome Context::snapshot_multi_get_elsewhere(GetsElsewhere<RemoteSnapshotGet>& elsewhere) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  remote_->snapshot_get(snapshot_epoch_, elsewhere.gets);
  for (std::size_t i = 0; i < elsewhere.gets.size(); ++i) {
    const RemoteSnapshotGet& get = elsewhere.gets[i];
    MultiGet& asked = *elsewhere.asked[i];
    asked.result = get.outcome == Outcome::kOk ? copy_out(get.value, asked.buffer) : GetResult{get.outcome, 0};
  }
  return Outcome::kOk;
}

ScanResult Context::snapshot_scan_elsewhere(const TableCore& table, std::uint16_t home, const ScanRange& range,
                                            ScanFn visit) {
  if (remote_ == nullptr) return {Outcome::kUnknownTable, 0};
  const std::uint64_t serial = serial_;
  bool finished = false;
  ScanResult result =
      remote_->snapshot_scan(snapshot_epoch_, table, home, range, [&](std::string_view key, std::string_view value) {
        const bool more = visit(key, value);
        finished = serial != serial_ || state_ != State::kSnapshot;
        return more && !finished;
      });
  if (finished) result.outcome = Outcome::kFinished;
  return result;
}

}  // namespace granary::txn
