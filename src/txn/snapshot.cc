// Snapshot transactions (Silo 4.9). A snapshot pins its epoch, which keeps the versions that it sees; it enters
// its epoch slot only within an operation, so however long it runs it never holds back E or the freeing of tree nodes.

#include <algorithm>
#include <vector>

#include "src/base/test_hooks.h"
#include "src/cc/held_records.h"
#include "src/epoch/entered.h"
#include "src/record/shared_read.h"
#include "src/txn/context.h"
#include "src/txn/multi_get.h"
#include "src/txn/scan_range.h"

namespace granary::txn {

using cc::Record;
using record::ReadState;

namespace {

/// Of a record at which another node stayed.
Outcome outcome_of_wait(const Record& record, const cc::Shared& shared) {
  return cc::held_by_dead(&record, shared) ? Outcome::kUnreachable : Outcome::kBusy;
}

GetResult result_of(const record::StableRead& seen, const Record& record, const cc::Shared& shared) {
  switch (seen.state) {
    case ReadState::kValue: return {Outcome::kOk, seen.size};
    case ReadState::kTooSmall: return {Outcome::kBufferTooSmall, seen.size};
    case ReadState::kBusy: return {outcome_of_wait(record, shared), 0};
    default: return {Outcome::kNotFound, 0};
  }
}

/// Records copied out of the tree in one go, to be handed to the application with the slot left.
class Batch final : public kvstore::ordered::ScanVisitor {
 public:
  static constexpr std::size_t kRecords = 256;
  static constexpr std::size_t kBytes = 64 * 1024;

  struct Item {
    std::size_t key_at, key_size, value_size;
  };

  Batch(std::uint64_t snapshot, const cc::WorkerState& worker) : snapshot_(snapshot), worker_(worker) {}

  void start(std::size_t limit) {
    items_.clear();
    used_ = 0;
    limit_ = limit < kRecords ? limit : kRecords;
    seen_ = 0;
    full_ = false;
    outcome_ = Outcome::kOk;
  }

  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}

  bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
    room(key.size());
    std::copy(key.begin(), key.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
    const std::size_t value_at = used_ + key.size();
    for (;;) {
      const auto* record = record::record_of(value);
      const record::StableRead seen = record::read_record_snapshot(
          *record, key.size(), snapshot_, bytes_.data() + value_at, bytes_.size() - value_at, *worker_.waiter);
      if (seen.state == ReadState::kTooSmall) {
        room(key.size() + seen.size);
        continue;
      }
      if (seen.state == ReadState::kBusy) {
        outcome_ = outcome_of_wait(*record, worker_.shared);
        return false;
      }
      if (seen.state == ReadState::kValue) {
        items_.push_back({used_, key.size(), seen.size});
        used_ = value_at + seen.size;
      }
      break;
    }
    // Absent records count, too: a batch is bounded work.
    full_ = items_.size() >= limit_ || used_ >= kBytes || ++seen_ >= 4 * kRecords;
    if (full_) last_key_.assign(key);
    return !full_;
  }

  bool full() const { return full_; }
  /// Not kOk: another node stayed at the record behind the last one.
  Outcome outcome() const { return outcome_; }
  /// Where to go on; only if full.
  const std::string& last_key() const { return last_key_; }
  const std::vector<Item>& items() const { return items_; }
  std::string_view key(const Item& item) const { return {bytes_.data() + item.key_at, item.key_size}; }
  std::string_view value(const Item& item) const {
    return {bytes_.data() + item.key_at + item.key_size, item.value_size};
  }

 private:
  void room(std::size_t bytes) {
    constexpr std::size_t kStep = 8 * 1024;
    if (used_ + bytes + 1 > bytes_.size()) bytes_.resize(used_ + bytes + kStep);
  }

  const std::uint64_t snapshot_;
  const cc::WorkerState& worker_;
  std::vector<Item> items_;
  std::string bytes_;
  std::string last_key_;
  std::size_t used_ = 0;
  std::size_t limit_ = 0;
  std::size_t seen_ = 0;
  bool full_ = false;
  Outcome outcome_ = Outcome::kOk;
};

}  // namespace

std::uint64_t Context::begin_snapshot() {
  epoch::EpochManager& epochs = worker_.shared().epochs;
  epoch_ = epochs.enter(slot_);
  snapshot_epoch_ = epochs.pin_snapshot(slot_);
  if (base::injected("snapshot-reads-next")) snapshot_epoch_ += epochs.snapshot_epochs();
  epochs.leave(slot_);
  state_ = State::kSnapshot;
  return ++serial_;
}

std::uint64_t Context::begin_snapshot_at(epoch::Epoch epoch) {
  (void)begin_snapshot();
  snapshot_epoch_ = epoch;
  return serial_;
}

bool Context::finish_snapshot(std::uint64_t serial) {
  if (!worker_.bound_here()) return false;
  if (serial != serial_ || state_ != State::kSnapshot) return true;
  worker_.shared().epochs.unpin_snapshot(slot_);
  state_ = State::kIdle;
  worker_.count_snapshot();
  worker_.collect_some(epoch_);
  worker_.tidy_remote();
  return true;
}

Outcome Context::admit_snapshot(std::uint64_t serial, const TableCore* table, std::string_view key) const {
  if (!worker_.bound_here()) return Outcome::kWrongThread;
  if (serial != serial_ || state_ != State::kSnapshot) return Outcome::kFinished;
  return check_target(table, key);
}

GetResult Context::snapshot_get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer) {
  const Outcome admitted = admit_snapshot(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (const auto home = home_elsewhere(*table, key)) [[unlikely]] {
    std::string value;
    const Outcome outcome = snapshot_get_elsewhere(*table, *home, key, value);
    return outcome == Outcome::kOk ? copy_out(value, buffer) : GetResult{outcome, 0};
  }
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  const kvstore::ordered::Lookup at = table->index().find(key);
  if (at.value == 0) return {Outcome::kNotFound, 0};
  const auto* record = record::record_of(at.value);
  return result_of(record::read_record_snapshot(*record, key.size(), snapshot_epoch_, buffer.data(), buffer.size(),
                                                *worker_.state().waiter),
                   *record, worker_.shared());
}

Outcome Context::snapshot_get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value) {
  constexpr std::size_t kFirstTry = 256;
  if (value.capacity() < kFirstTry) value.reserve(kFirstTry);
  value.resize(value.capacity());
  for (;;) {
    const GetResult got = snapshot_get(serial, table, key, std::span<char>(value));
    if (got.outcome == Outcome::kBufferTooSmall) {
      value.resize(got.size);
      continue;
    }
    value.resize(got.outcome == Outcome::kOk ? got.size : 0);
    return got.outcome;
  }
}

Outcome Context::snapshot_multi_get(std::uint64_t serial, std::span<MultiGet> gets) {
  GetsElsewhere<RemoteSnapshotGet> elsewhere;
  const Outcome here = take_apart(
      gets, elsewhere, [&](const TableCore* table, std::string_view key) { return admit_snapshot(serial, table, key); },
      [this](const LocalGets& batch) { snapshot_read_together(batch); });
  return here != Outcome::kOk || elsewhere.gets.empty() ? here : snapshot_multi_get_elsewhere(elsewhere);
}

void Context::snapshot_read_together(const LocalGets& gets) {
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  LocalGets::Found found;
  gets.find(found);
  // Records that changed since the snapshot keep what it sees one version down, another miss away.
  for (std::size_t i = 0; i < gets.size(); ++i) {
    const auto* record = record::record_of(found[i].value);
    if (record != nullptr && record::epoch_of(record->tid()) >= snapshot_epoch_)
      gets[i].table.core()->prefetch(record->previous());
  }
  for (std::size_t i = 0; i < gets.size(); ++i) {
    MultiGet& get = gets[i];
    const auto* record = record::record_of(found[i].value);
    get.result =
        record == nullptr
            ? GetResult{Outcome::kNotFound, 0}
            : result_of(record::read_record_snapshot(*record, get.key.size(), snapshot_epoch_, get.buffer.data(),
                                                     get.buffer.size(), *worker_.state().waiter),
                        *record, worker_.shared());
  }
}

ScanResult Context::snapshot_scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit) {
  const Outcome admitted = admit_snapshot(serial, table, longest_bound(range));
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (!table->index().ordered()) [[unlikely]]
    return {Outcome::kUnordered, 0};
  if (const auto home = home_elsewhere(*table, range.from)) [[unlikely]]
    return snapshot_scan_elsewhere(*table, *home, range, visit);
  ScanResult result;
  Batch batch(snapshot_epoch_, worker_.state());
  std::string resume;
  ScanRange rest = range;
  while (result.count < range.limit) {
    batch.start(range.limit - result.count);
    {
      const epoch::Entered entered(worker_.shared().epochs, slot_);
      table->tree().scan(tree_range(rest), direction(rest), batch);
    }
    for (const Batch::Item& item : batch.items()) {
      ++result.count;
      if (!visit(batch.key(item), batch.value(item))) return result;
      if (serial != serial_ || state_ != State::kSnapshot) return {Outcome::kFinished, result.count};
    }
    result.outcome = batch.outcome();
    if (!batch.full()) return result;
    resume = batch.last_key();
    if (range.order == Order::kAscending) {
      rest.from = resume;
      rest.from_inclusive = false;
    } else {
      rest.to = resume;
      rest.to_inclusive = false;
    }
  }
  return result;
}

ScanResult Context::snapshot_scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit) {
  const Outcome admitted = admit_snapshot(serial, index, longest_bound(range));
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (const auto home = home_elsewhere(*index, range.from)) [[unlikely]]
    return snapshot_scan_elsewhere(*index, *home, range, visit);
  std::string value;
  Outcome outcome = Outcome::kOk;
  const auto visit_entry = [&](std::string_view, std::string_view primary_key) {
    outcome = snapshot_get(serial, index->base(), primary_key, value);
    if (outcome == Outcome::kNotFound)
      outcome = Outcome::kOk;  // cannot be in a consistent snapshot; nothing to hand on
    if (outcome != Outcome::kOk) return false;
    return visit(primary_key, value);
  };
  ScanResult result = snapshot_scan(serial, index, range, visit_entry);
  if (outcome != Outcome::kOk) result.outcome = outcome;
  return result;
}

}  // namespace granary::txn
