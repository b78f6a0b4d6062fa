#include "src/txn/snapshot_context.h"

#include <algorithm>
#include <vector>

#include "src/base/test_hooks.h"
#include "src/cc/holder_liveness.h"
#include "src/epoch/entered.h"
#include "src/record/shared_read.h"
#include "src/txn/local_access.h"
#include "src/txn/look_for.h"
#include "src/txn/multi_get.h"
#include "src/txn/index_range.h"
#include "src/txn/scan_range.h"

namespace granary::txn {

using cc::Record;
using record::ReadState;

namespace {

/// Returns the outcome of a read that has waited for another node to give back the record.
Outcome outcome_of_wait(const Record& record, const cc::DatabaseState& shared) {
  return cc::held_by_dead(&record, shared) ? Outcome::kUnreachable : Outcome::kBusy;
}

/// Copies a batch of records out of the tree while the slot is entered. The application gets them after the slot is
/// left.
class ScanBatch final : public kvstore::ordered::ScanVisitor {
 public:
  static constexpr std::size_t kRecords = 256;
  static constexpr std::size_t kBytes = 64 * 1024;

  struct Item {
    std::size_t key_at, key_size, value_size;
  };

  ScanBatch(std::uint64_t snapshot, const cc::WorkerState& worker) : snapshot_(snapshot), worker_(worker) {}

  /// Begins a batch of at most `limit` records.
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
    make_room(key.size());
    std::copy(key.begin(), key.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
    const std::size_t value_at = used_ + key.size();
    for (;;) {
      const auto* record = record::record_of(value);
      const record::StableRead seen = record::read_record_snapshot(
          *record, key.size(), snapshot_, bytes_.data() + value_at, bytes_.size() - value_at, *worker_.waiter);
      if (seen.state == ReadState::kTooSmall) {
        make_room(key.size() + seen.size);
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
    // Absent records count, too, so that the work of a batch is bounded.
    full_ = items_.size() >= limit_ || used_ >= kBytes || ++seen_ >= 4 * kRecords;
    if (full_) last_key_.assign(key);
    return !full_;
  }

  bool full() const { return full_; }
  /// If not kOk, the batch has ended before a record that another node did not give back.
  Outcome outcome() const { return outcome_; }
  /// If full(): the key behind which the scan goes on.
  const std::string& last_key() const { return last_key_; }
  const std::vector<Item>& items() const { return items_; }
  std::string_view key(const Item& item) const { return {bytes_.data() + item.key_at, item.key_size}; }
  std::string_view value(const Item& item) const {
    return {bytes_.data() + item.key_at + item.key_size, item.value_size};
  }

 private:
  /// Makes room for so many bytes behind those that are used.
  void make_room(std::size_t bytes) {
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

std::uint64_t SnapshotContext::begin() {
  epoch::EpochManager& epochs = worker_.shared().epochs;
  entered_ = epochs.enter(slot_);
  epoch_ = epochs.pin_snapshot(slot_);
  if (base::injected("snapshot-reads-next")) epoch_ += epochs.snapshot_epochs();
  epochs.leave(slot_);
  open_ = true;
  body_ = worker_.body();
  return ++serial_;
}

std::uint64_t SnapshotContext::begin_at(epoch::Epoch epoch) {
  epoch::EpochManager& epochs = worker_.shared().epochs;
  open_ = true;
  body_ = worker_.body();
  entered_ = epochs.current();
  epoch_ = epoch;
  ++serial_;
  if (epochs.pin_answer(slot_, epoch)) return serial_;
  end();
  return 0;
}

bool SnapshotContext::finish(std::uint64_t serial) {
  if (!worker_.bound_here()) return false;
  if (serial != serial_ || !open_) return true;
  if (!worker_.may_use(body_)) return false;
  unpin();
  worker_.counters().count_snapshot();
  worker_.collect_some(entered_);
  worker_.tidy_remote();
  return true;
}

void SnapshotContext::end() {
  if (open_) unpin();
  ++serial_;
}

void SnapshotContext::unpin() {
  worker_.shared().epochs.unpin_snapshot(slot_);
  worker_.shared().epochs.unpin_answer(slot_);
  open_ = false;
}

Outcome SnapshotContext::admit(std::uint64_t serial) const {
  if (!worker_.bound_here()) return worker_.refusal_elsewhere();
  if (serial != serial_ || !open_) return Outcome::kFinished;
  return worker_.may_use(body_) ? Outcome::kOk : Outcome::kWrongThread;
}

Outcome SnapshotContext::admit(std::uint64_t serial, const TableCore* table, std::string_view key) const {
  const Outcome admitted = admit(serial);
  return admitted == Outcome::kOk ? check_target(table, key, worker_.shared()) : admitted;
}

/// Reads a record, with the slot entered. nullptr means that the key has no record.
GetResult SnapshotContext::read(const Record* record, std::size_t key_bytes, std::span<char> buffer) const {
  if (record == nullptr) return {Outcome::kNotFound, 0};
  const record::StableRead seen =
      record::read_record_snapshot(*record, key_bytes, epoch_, buffer.data(), buffer.size(), *worker_.state().waiter);
  switch (seen.state) {
    case ReadState::kValue: return {Outcome::kOk, seen.size};
    case ReadState::kTooSmall: return {Outcome::kBufferTooSmall, seen.size};
    case ReadState::kBusy: return {outcome_of_wait(*record, worker_.shared()), 0};
    default: return {Outcome::kNotFound, 0};
  }
}

/// Gets a value, or a part of it. `copy` takes it from the whole value that another node holds, and `read_here` from a
/// record of this node, with the slot entered.
template <typename Copy, typename ReadHere>
GetResult SnapshotContext::get_by(std::uint64_t serial, TableCore* table, std::string_view key, Copy&& copy,
                                  ReadHere&& read_here) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (const auto home = home_elsewhere(*table, key)) [[unlikely]] {
    std::string value;
    const Outcome outcome = get_elsewhere(*home, *table, key, value);
    return outcome == Outcome::kOk ? copy(value) : GetResult{outcome, 0};
  }
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  return read_here(record::record_of(look_for(worker_, table->index(), key).value));
}

GetResult SnapshotContext::get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer) {
  return get_by(
      serial, table, key, [&](std::string_view value) { return copy_out(value, buffer); },
      [&](const Record* record) { return read(record, key.size(), buffer); });
}

Outcome SnapshotContext::get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value) {
  const Outcome admitted = admit(serial, table, key);
  if (admitted != Outcome::kOk) [[unlikely]]
    return admitted;
  return read_into(value, [&](std::span<char> buffer) { return get(serial, table, key, buffer); });
}

GetResult SnapshotContext::get_part(std::uint64_t serial, TableCore* table, std::string_view key, std::size_t from,
                                    std::span<char> buffer) {
  return get_by(
      serial, table, key, [&](std::string_view value) { return copy_part_out(value, from, buffer); },
      [&](const Record* record) { return read_part(record, key.size(), from, buffer); });
}

Outcome SnapshotContext::multi_get(std::uint64_t serial, std::span<MultiGet> gets) {
  if (const Outcome admitted = admit(serial); admitted != Outcome::kOk) [[unlikely]]
    return refuse_all(gets, admitted);
  arena_.clear();
  GetsElsewhere<RemoteSnapshotGet> elsewhere(arena_, gets.size());
  (void)split_by_home(gets, worker_.shared(), elsewhere,
                      [this](const LocalGets& batch) { return get_together(batch), Outcome::kOk; });
  if (!elsewhere.gets.empty()) multi_get_elsewhere(elsewhere);
  return Outcome::kOk;
}

void SnapshotContext::get_together(const LocalGets& gets) {
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  LocalGets::Found found;
  gets.find(found);
  if (Together* const others = worker_.in_turns(); others != nullptr) others->turn();
  // If a record has changed since the snapshot, the version that the snapshot sees is an older one, which costs another
  // miss.
  for (std::size_t i = 0; i < gets.size(); ++i) {
    const auto* record = record::record_of(found[i].value);
    if (record == nullptr || record::epoch_of(record->tid()) < epoch_) continue;
    if (const Record* const older = record->previous(); older != nullptr)
      LocalGets::fetch_ahead(*gets[i].table.core(), gets[i], older);
  }
  for (std::size_t i = 0; i < gets.size(); ++i) {
    const cc::Record* const record = record::record_of(found[i].value);
    MultiGet& get = gets[i];
    get.result = get.is_part() ? read_part(record, get.key.size(), get.part_from, get.buffer)
                               : read(record, get.key.size(), get.buffer);
  }
}

/// Reads a part of a record, with the slot entered. Of a shared record it reads the whole value, and copies the part.
GetResult SnapshotContext::read_part(const Record* record, std::size_t key_bytes, std::size_t from,
                                     std::span<char> buffer) {
  if (record == nullptr) return {Outcome::kNotFound, 0};
  if (record::is_shared(record)) [[unlikely]] {
    const Outcome got = read_into(whole_, [&](std::span<char> whole) { return read(record, key_bytes, whole); });
    return got == Outcome::kOk ? copy_part_out(whole_, from, buffer) : GetResult{got, 0};
  }
  const record::StableRead seen =
      record::read_snapshot_part(*record, epoch_, from, buffer.data(), buffer.size(), *worker_.state().waiter);
  if (seen.state != ReadState::kValue) return {Outcome::kNotFound, 0};
  return {Outcome::kOk, part_bytes(from, buffer.size(), seen.size)};
}

ScanResult SnapshotContext::scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit) {
  const Outcome admitted = admit(serial, table, longest_bound(range));
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  if (!table->index().ordered()) [[unlikely]]
    return {Outcome::kUnordered, 0};
  if (const auto home = home_elsewhere(*table, range.from)) [[unlikely]]
    return scan_elsewhere(*home, *table, range, visit);
  return scan_here(serial, *table, range, visit);
}

ScanResult SnapshotContext::scan_here(std::uint64_t serial, TableCore& table, const ScanRange& range, ScanFn visit) {
  ScanResult result;
  ScanBatch batch(epoch_, worker_.state());
  std::string resume;
  ScanRange rest = range;
  while (result.count < range.limit) {
    batch.start(range.limit - result.count);
    {
      const epoch::Entered entered(worker_.shared().epochs, slot_);
      table.tree().scan(tree_range(rest), direction(rest), batch);
    }
    for (const ScanBatch::Item& item : batch.items()) {
      ++result.count;
      if (!visit(batch.key(item), batch.value(item))) return result;
      result.outcome = admit(serial);
      if (result.outcome != Outcome::kOk) return result;
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

ScanResult SnapshotContext::scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit) {
  const Outcome admitted = admit(serial, index, longest_bound(range));
  if (admitted != Outcome::kOk) [[unlikely]]
    return {admitted, 0};
  const IndexRange entries(index->index_options(), range);
  if (entries.entries().limit == 0) return {};
  if (const auto home = home_elsewhere(*index, range.from)) [[unlikely]]
    return scan_elsewhere(*home, *index, entries.entries(), visit);
  std::string value;
  Outcome outcome = Outcome::kOk;
  std::size_t without_row = 0;
  const auto visit_entry = [&](std::string_view, std::string_view primary_key) {
    outcome = get(serial, index->base(), primary_key, value);
    // A snapshot has no such entry unless a salvage has lost its row. The entry is passed over.
    if (outcome == Outcome::kNotFound) {
      outcome = Outcome::kOk;
      ++without_row;
      return true;
    }
    return outcome == Outcome::kOk && visit(primary_key, value);
  };
  ScanResult result = scan_here(serial, *index, entries.entries(), visit_entry);
  result.count -= without_row;
  if (outcome == Outcome::kOk) return result;
  result.outcome = outcome;
  --result.count;  // the entry whose row could not be read
  return result;
}

// --- other nodes ---

Outcome SnapshotContext::get_elsewhere(std::uint16_t home, TableCore& table, std::string_view key, std::string& value) {
  if (remote_ == nullptr) return Outcome::kUnknownTable;
  RemoteSnapshotGet get{{&table, home, key}};
  remote_->snapshots().get(epoch_, {&get, 1});
  value = get.value;
  return get.outcome;
}

void SnapshotContext::multi_get_elsewhere(GetsElsewhere<RemoteSnapshotGet>& elsewhere) {
  if (remote_ == nullptr) return elsewhere.refuse(Outcome::kUnknownTable);
  remote_->snapshots().get(epoch_, elsewhere.gets);
  for (std::size_t i = 0; i < elsewhere.gets.size(); ++i) {
    const RemoteSnapshotGet& get = elsewhere.gets[i];
    MultiGet& asked = *elsewhere.asked[i];
    asked.result = get.outcome == Outcome::kOk ? hand_out(get.value, asked) : GetResult{get.outcome, 0};
  }
}

ScanResult SnapshotContext::scan_elsewhere(std::uint16_t home, const TableCore& table, const ScanRange& range,
                                           ScanFn visit) {
  if (remote_ == nullptr) return {Outcome::kUnknownTable, 0};
  const std::uint64_t serial = serial_;
  Outcome standing = Outcome::kOk;
  ScanResult result =
      remote_->snapshots().scan(epoch_, table, home, range, [&](std::string_view key, std::string_view value) {
        const bool more = visit(key, value);
        standing = admit(serial);  // the callback may have ended the snapshot
        return more && standing == Outcome::kOk;
      });
  if (standing != Outcome::kOk) result.outcome = standing;
  return result;
}

}  // namespace granary::txn
