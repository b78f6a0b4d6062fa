#include "bench/store/two_pc/rows.h"

#include <algorithm>

namespace granary::bench::two_pc {

StoredRow* Branch::lock_row(const RowKey& key, bool to_write) {
  if (key.table >= rows_.parts.size()) return nullptr;
  StoredRow& row = rows_.parts[key.table][key.key];
  return lock(key, row, to_write) ? &row : nullptr;
}

bool Branch::lock(const RowKey& key, StoredRow& row, bool to_write) {
  auto held = held_.end();
  if (!row.is_free())  // a free row is in no transaction's list
    held = std::find_if(held_.begin(), held_.end(), [&](const Held& one) { return one.row == &row; });
  const bool read = held != held_.end() && held->read, written = held != held_.end() && held->written;
  if (written || (read && !to_write)) return true;
  if (row.written || (to_write && row.readers != (read ? 1u : 0u))) return false;
  if (held == held_.end()) held = held_.insert(held, {key, &row, false, false});
  if (to_write) {
    held->written = row.written = true;
  } else {
    held->read = true;
    ++row.readers;
  }
  return true;
}

bool Branch::prepare_one(Write& write) {
  StoredRow* const row = lock_row(write.key, true);
  const bool insert = write.kind == Write::Kind::kInsert;
  if (row == nullptr || row->present == insert) return false;
  if (insert) {
    const auto in_the_way = [&](const Part::Scanned& seen) {
      return seen.by != this && seen.from <= write.key.key && write.key.key < seen.to;
    };
    const std::vector<Part::Scanned>& scanned = rows_.parts[write.key.table].scanned;
    if (std::any_of(scanned.begin(), scanned.end(), in_the_way)) return false;
  }
  prepared_.push_back({row, write.kind != Write::Kind::kRemove, std::move(write.value)});
  return true;
}

bool Branch::prepare_all(std::vector<Write>& writes) {
  return std::all_of(writes.begin(), writes.end(), [this](Write& write) { return prepare_one(write); });
}

void Branch::commit_all() {
  for (Prepared& prepared : prepared_) {
    prepared.row->present = prepared.present;
    prepared.row->value = std::move(prepared.value);
  }
  release_all();
}

void Branch::release_all() {
  prepared_.clear();
  for (const Held& held : held_) {
    if (held.read) --held.row->readers;
    if (held.written) held.row->written = false;
    if (!held.row->present && held.row->is_free()) rows_.parts[held.key.table].erase(held.key.key);
  }
  held_.clear();
  for (const std::uint32_t table : scanned_)
    std::erase_if(rows_.parts[table].scanned, [this](const Part::Scanned& seen) { return seen.by == this; });
  scanned_.clear();
}

bool Branch::prepare(std::vector<Write>& writes) {
  const std::lock_guard held(rows_.latch);
  return prepare_all(writes);
}

void Branch::commit() {
  if (has_nothing()) return;
  const std::lock_guard held(rows_.latch);
  commit_all();
}

bool Branch::finish(std::vector<Write>& writes) {
  const std::lock_guard held(rows_.latch);
  const bool ready = prepare_all(writes);
  ready ? commit_all() : release_all();
  return ready;
}

void Branch::release() {
  if (has_nothing()) return;
  const std::lock_guard held(rows_.latch);
  release_all();
}

}  // namespace granary::bench::two_pc
