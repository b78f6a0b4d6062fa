#include "recovery/mend_indexes.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "src/record/shared_read.h"
#include "src/txn/index_key.h"

namespace granary::recovery {
namespace {

using kvstore::ordered::Direction;
using record::Record;
using txn::TableCore;

/// Calls a function for each entry of a tree.
template <typename Each>
class Entries final : public kvstore::ordered::ScanVisitor {
 public:
  explicit Entries(Each each) : each_(std::move(each)) {}
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view key, kvstore::ordered::Value value) override {
    each_(key, *record::record_of(value));
    return true;
  }

 private:
  Each each_;
};

/// Calls `each(key, record)` for each record of a table.
template <typename Each>
void visit(TableCore& table, Each each) {
  if (!table.index().ordered()) {
    const kvstore::hash::Table& hash = table.index().hash();
    hash.visit(0, hash.buckets(),
               [&](std::string_view key, kvstore::hash::Value value) { each(key, *record::record_of(value)); });
    return;
  }
  Entries<Each> entries(std::move(each));
  table.index().tree().scan({}, Direction::kForward, entries);
}

class Mending {
 public:
  Mending(std::span<TableCore* const> tables, cc::WorkerState& worker, epoch::Epoch greatest)
      : worker_(worker),
        applier_(tables, worker, no_parts_),
        slot_(worker.shared.epochs.acquire_slot()),
        removal_(record::make_tid(greatest, record::kMaxSequence - 1)),
        addition_(record::make_tid(greatest, record::kMaxSequence)) {}
  ~Mending() {
    if (slot_ != nullptr) worker_.shared.epochs.release_slot(slot_);
  }
  Mending(const Mending&) = delete;
  Mending& operator=(const Mending&) = delete;

  bool ok() const { return applier_.ok() && slot_ != nullptr; }
  /// Mends one index. Returns false if there was no memory.
  bool mend(TableCore& index, MendedIndex& mended) { return remove_wrong(index, mended) && add_missing(index, mended); }
  void finish(std::vector<Absent>& absents) { applier_.finish(absents); }

 private:
  /// Returns the value of a record that is there. It is valid until the next call with the same `value`.
  std::optional<std::string_view> read(const Record& record, std::size_t key_bytes, std::string& value) {
    for (;;) {
      const record::StableRead seen =
          record::read_record(record, key_bytes, value.data(), value.size(), worker_.shared.waiter);
      if (seen.state == record::ReadState::kValue) return std::string_view(value.data(), seen.size);
      if (seen.state != record::ReadState::kTooSmall) return std::nullopt;
      value.resize(seen.size);
    }
  }
  std::optional<std::string_view> find(TableCore& table, std::string_view key, std::string& value) {
    const Record* const record = record::record_of(table.index().find(key).value);
    return record == nullptr ? std::nullopt : read(*record, key.size(), value);
  }
  const std::string& entry_key(TableCore& index, std::string_view key, std::string_view value) {
    entry_key_.clear();
    txn::append_index_key(index.index_options(), key, value, entry_key_);
    return entry_key_;
  }
  bool write(TableCore& index, const LoggedWrite& write) {
    return applier_.add(index.id(), write) == Applier::Outcome::kOk && applier_.flush() == Applier::Outcome::kOk;
  }

  bool remove_wrong(TableCore& index, MendedIndex& mended) {
    std::vector<std::string> wrong;
    worker_.shared.epochs.enter(*slot_);
    visit(index, [&](std::string_view at, const Record& entry) {
      const auto key = read(entry, at.size(), primary_key_);
      if (!key) return;
      const auto value = find(*index.base(), *key, value_);
      if (!value || entry_key(index, *key, *value) != at) wrong.emplace_back(at);
    });
    worker_.shared.epochs.leave(*slot_);
    mended.removed = wrong.size();
    for (const std::string& at : wrong) {
      if (!write(index, {.tid = removal_, .removed = true, .key = at, .value = {}})) return false;
    }
    return true;
  }
  bool add_missing(TableCore& index, MendedIndex& mended) {
    bool done = true;
    worker_.shared.epochs.enter(*slot_);
    visit(*index.base(), [&](std::string_view key, const Record& row) {
      const auto value = read(row, key.size(), value_);
      if (!value || !done) return;
      const std::string& at = entry_key(index, key, *value);
      const auto entry = find(index, at, primary_key_);
      if (entry && *entry == key) return;
      if (entry) {
        ++mended.unlisted;
        return;
      }
      ++mended.added;
      done = write(index, {.tid = addition_, .key = at, .value = key});
    });
    worker_.shared.epochs.leave(*slot_);
    return done;
  }

  cc::WorkerState& worker_;
  PendingParts no_parts_{0};
  Applier applier_;
  epoch::Slot* const slot_;
  const record::TidWord removal_, addition_;  ///< an entry that is removed may be added again, for another record
  std::string primary_key_, value_, entry_key_;
};

}  // namespace

Result<std::vector<MendedIndex>> mend_indexes(std::span<TableCore* const> tables, cc::WorkerState& worker,
                                              epoch::Epoch greatest, std::vector<Absent>& absents,
                                              std::string_view limit_name) {
  Mending mending(tables, worker, greatest);
  if (!mending.ok()) return Status(StatusCode::kResourceExhausted, "recovery: no epoch slot is left");
  std::vector<MendedIndex> all;
  for (TableCore* const table : tables) {
    if (table == nullptr || table->base() == nullptr) continue;
    MendedIndex mended{.name = std::string(table->name())};
    if (!mending.mend(*table, mended)) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("recovery: the memory limit of {} bytes is reached while the index '{}' is put in step "
                                "with its table; raise {}",
                                worker.shared.slabs.limit_bytes(), mended.name, limit_name));
    }
    if (mended.changed()) all.push_back(std::move(mended));
  }
  mending.finish(absents);
  return all;
}

}  // namespace granary::recovery
