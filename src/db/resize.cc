// Main headers of other sizes, while nobody uses the table.

#include <fmt/format.h>

#include "src/db/engine.h"
#include "src/db/options_check.h"

namespace granary::db {

/// Moves all keys to a main header for so many. False if there is no memory: the table is as before. The main header that is not used
/// any more, or not after all, goes back to the pool, as nobody uses the table. Only that of a shared table does not: other nodes may
/// know where it is.
bool Engine::rebuild(txn::TableCore& table, std::uint64_t keys) {
  kvstore::hash::Table& index = table.index().hash();
  const std::span<kvstore::hash::Bucket> former = index.main_header(), made = make_main_header(keys);
  if (made.empty()) return false;
  const bool done = index.rebuild(made, *schema_nodes_);
  schema_slabs_->release();  // the former chains are for the workers' records and nodes
  if (!done) free_main_header(made);
  if (done && !table.is_shared()) free_main_header(former);
  return done;
}

/// Makes each recovered table's main header as wide as its keys need, or else as wide as memory allows. A table may have more keys than
/// it was made for, or was loaded with a narrow main header because memory is short; without this its chains would stay long.
void Engine::widen_recovered_tables() {
  const std::lock_guard lock(schema_mutex_);
  for (const auto& table : tables_) {
    if (table->index().ordered()) continue;
    const kvstore::hash::TableStatistics statistics = table->index().hash().statistics();
    if (statistics.keys <= statistics.buckets * kvstore::hash::kSlots) continue;
    std::uint64_t keys = statistics.keys;
    while (kvstore::hash::Table::buckets_for(keys) > statistics.buckets && !rebuild(*table, keys)) keys /= 2;
    if (keys == statistics.keys) storage_->manifest().note_keys(table->id(), keys);
  }
}

Status Engine::resize(txn::TableCore* table, std::uint64_t expected_keys) {
  if (table == nullptr || !table->belongs_to(shared_) || table->index().ordered()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("resize: the table handle is empty, of another database, or of a table without a hash index{}",
                        table == nullptr ? "" : fmt::format(" ('{}')", table->name()))};
  }
  if (table->is_shared()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("shared table '{}' cannot be resized: other nodes know where its index is", table->name())};
  }
  if (const Status good = check_expected_keys(table->name(), expected_keys); !good.ok()) return good;
  const auto no_checkpoint =
      storage_ == nullptr ? std::unique_lock<std::timed_mutex>() : storage_->checkpoints().hold_off();
  const std::lock_guard schema_lock(schema_mutex_);
  const std::lock_guard workers_lock(workers_mutex_);  // idle workers' garbage waits
  if (!epochs_.idle()) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("table '{}' cannot be resized: a transaction is open; end all of them first", table->name())};
  }
  if (!rebuild(*table, expected_keys)) return no_room_for_header(table->name(), expected_keys);
  if (storage_ == nullptr) return {};
  return storage_->manifest().change(
      [&](recovery::Manifest& next) { next.tables[table->id()].hash_keys = expected_keys; });
}

}  // namespace granary::db
