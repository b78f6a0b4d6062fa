// Implements Schema's part for the main headers of hash indexes: makes and frees them, and replaces them by others of
// another size while nobody uses the table.

#include <fmt/format.h>

#include "src/db/options_check.h"
#include "src/db/schema.h"

namespace granary::db {

/// Makes a main header for a hash index of so many keys; returns an empty one if there is no memory.
std::span<kvstore::hash::Bucket> Schema::make_main_header(std::uint64_t keys) {
  const std::uint64_t buckets = kvstore::hash::Table::buckets_for(keys);
  char* const header = shared_.slabs.take_run(buckets * sizeof(kvstore::hash::Bucket));
  if (header == nullptr) return {};
  main_header_bytes_.fetch_add(static_cast<std::int64_t>(buckets * sizeof(kvstore::hash::Bucket)),
                               std::memory_order_relaxed);
  return {reinterpret_cast<kvstore::hash::Bucket*>(header), buckets};
}

/// Gives the memory of a main header back. Precondition: nobody looks at it any more.
void Schema::free_main_header(std::span<kvstore::hash::Bucket> main_header) {
  main_header_bytes_.fetch_sub(static_cast<std::int64_t>(main_header.size_bytes()), std::memory_order_relaxed);
  shared_.slabs.give_run(reinterpret_cast<char*>(main_header.data()), main_header.size_bytes());
}

/// Moves all keys to a main header for so many. Returns false if there is no memory, and then the table is as before.
/// The main header that is not used any more, or not used after all, goes back to the pool, as nobody uses the table. A
/// former main header of a shared table stays, because other nodes may know where it is.
bool Schema::rebuild(txn::TableCore& table, std::uint64_t keys) {
  kvstore::hash::Table& index = table.index().hash();
  const std::span<kvstore::hash::Bucket> former = index.main_header(), made = make_main_header(keys);
  if (made.empty()) return false;
  const bool done = index.rebuild(made, nodes_);
  slabs_.release();  // the memory of the former chains is for the workers' records and nodes
  if (!done) free_main_header(made);
  if (done && !table.is_shared()) free_main_header(former);
  return done;
}

/// Tries a main header for all keys of a table, which may be more than it was made for. If there is no memory for that,
/// tries one for half as many, and so on.
void Schema::widen_recovered() {
  const std::lock_guard lock(mutex_);
  for (const auto& table : tables_) {
    if (table->index().ordered()) continue;
    const kvstore::hash::TableStatistics statistics = table->index().hash().statistics();
    if (statistics.keys <= statistics.buckets * kvstore::hash::kSlots) continue;
    std::uint64_t keys = statistics.keys;
    while (kvstore::hash::Table::buckets_for(keys) > statistics.buckets && !rebuild(*table, keys)) keys /= 2;
    if (keys == statistics.keys) manifest_->note_keys(table->id(), keys);
  }
}

Status Schema::check_resize(txn::TableCore* table, std::uint64_t expected_keys) const {
  if (table == nullptr || !table->belongs_to(shared_) || table->index().ordered()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("resize: the table handle is empty, of another database, or of a table without a hash index{}",
                        table == nullptr ? "" : fmt::format(" ('{}')", table->name()))};
  }
  if (table->is_shared()) {
    return {StatusCode::kInvalidArgument,
            fmt::format("shared table '{}' cannot be resized: other nodes know where its index is", table->name())};
  }
  return check_expected_keys(table->name(), expected_keys);
}

Status Schema::resize(txn::TableCore& table, std::uint64_t expected_keys) {
  const std::lock_guard lock(mutex_);
  if (!shared_.epochs.idle()) {
    return {StatusCode::kFailedPrecondition,
            fmt::format("table '{}' cannot be resized: a transaction is open; end all of them first", table.name())};
  }
  if (!rebuild(table, expected_keys)) return no_room_for_header(table.name(), expected_keys);
  if (manifest_ == nullptr) return {};
  return manifest_->change([&](recovery::Manifest& next) { next.tables[table.id()].hash_keys = expected_keys; });
}

std::int64_t Schema::index_bytes() const {
  return slabs_.index_bytes_in_use() + main_header_bytes_.load(std::memory_order_relaxed);
}

}  // namespace granary::db
