#pragma once
// Represents a table or a secondary index inside the engine: its index from keys to records, and its properties. The
// schema (src/db) makes tables; transactions, recovery and the answers to other nodes use them.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/limits.h>
#include <granary/outcome.h>
#include <granary/table.h>

#include "src/cc/index.h"
#include "src/cc/records.h"
#include "src/cc/worker_state.h"
#include "src/record/shared_record.h"
#include "src/txn/index_key.h"

namespace granary::txn {

/// TableCore::sealed_from() of a table that is not sealed. No epoch is so great.
inline constexpr epoch::Epoch kNotSealed = ~epoch::Epoch{0};

/// Says which node of the cluster is the home of which keys of a table.
struct Placement {
  std::uint16_t self = 0;  ///< this node
  /// Returns the home of a key. It gives the same answer on all nodes, at any time. Thread-safe.
  std::function<std::uint16_t(std::string_view key)> home;
};

class TableCore {
 public:
  TableCore(std::uint32_t id, std::string name, std::uint32_t max_value_bytes, const cc::DatabaseState& shared,
            kvstore::NodeMemory& memory)
      : TableCore(id, std::move(name), max_value_bytes, shared, memory, {}, nullptr) {}
  /// Makes a table with a hash index, if `main` is not empty: its main header, in the region that begins at
  /// `region_base`.
  TableCore(std::uint32_t id, std::string name, std::uint32_t max_value_bytes, const cc::DatabaseState& shared,
            kvstore::NodeMemory& memory, std::span<kvstore::hash::Bucket> main, const void* region_base)
      : shared_(&shared),
        max_value_bytes_(max_value_bytes),
        id_(id),
        index_(main.empty() ? cc::Index(memory) : cc::Index(main, region_base)),
        name_(std::move(name)) {}

  std::uint32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  cc::Index& index() { return index_; }
  /// Precondition: the table is ordered.
  kvstore::ordered::Tree& tree() { return index_.tree(); }
  std::uint32_t max_value_bytes() const { return max_value_bytes_; }
  /// Returns the longest key that an application may use.
  std::uint32_t max_key_bytes() const { return max_key_bytes_; }
  /// Returns the longest key that the log may have of this table. Of an index it is that of an entry.
  std::size_t max_stored_key_bytes() const { return base_ == nullptr ? kMaxKeyBytes : kMaxEntryKeyBytes; }
  /// Whether its records are shared ones (src/record/shared_record.h). Set before the table holds any record.
  bool is_shared() const { return is_shared_; }
  void make_shared() { is_shared_ = true; }
  /// Whether it can be sealed (TableOptions::immutable). Set before the table holds any record.
  bool is_immutable() const { return immutable_; }
  void make_immutable() { immutable_ = true; }
  /// Whether transactions of this node may write the table. Relaxed: the sealing thread waits for every transaction
  /// that may have seen this true (I31).
  bool takes_writes() const { return !closed_.load(std::memory_order_relaxed); }
  /// Closes the table for writes. The exchange is a full fence on x86-64; the caller reads E and the slots after it
  /// (Schema::seal).
  void close(bool closed = true) { closed_.exchange(closed, std::memory_order_seq_cst); }
  /// Returns the epoch from which the table is sealed. Transactions whose e_w is at least that rely on it that nothing
  /// in the table ever changes (I31), since all that it holds is of earlier epochs.
  epoch::Epoch sealed_from() const { return sealed_from_.load(std::memory_order_acquire); }
  /// Release: a transaction that finds the table sealed finds all that was written to it.
  void seal(epoch::Epoch from) { sealed_from_.store(from, std::memory_order_release); }
  /// Makes an unborn record for this table, which is in no index yet; nullptr at the memory limit.
  record::Record* make_record(cc::WorkerState& worker, std::string_view key, std::size_t value_bytes) const {
    return is_shared_ ? cc::make_shared_placeholder(worker, key, max_value_bytes_)
                      : cc::make_placeholder(worker, value_bytes);
  }
  /// Estimates the memory that a record with such a key and value takes, with its share of the index; rather too much.
  std::uint64_t likely_bytes(std::size_t key_bytes, std::size_t value_bytes) const {
    constexpr std::uint64_t kIndexBytes = 96;
    const std::size_t block =
        is_shared_ ? record::shared_block_bytes(key_bytes, max_value_bytes_) : record::record_bytes(value_bytes);
    return memory::class_bytes(memory::size_class(block)) + kIndexBytes + 2 * key_bytes;
  }
  /// Prefetches header and value of a record that is about to be read, as far as that is worthwhile.
  void prefetch(const record::Record* record) const {
    base::prefetch_range(record, std::min<std::size_t>(sizeof(record::Record) + max_value_bytes_, kWorthwhile));
  }
  /// Prefetches the record and a part of its value, from the byte `from` on.
  void prefetch_part(const record::Record* record, std::size_t from, std::size_t bytes) const {
    base::prefetch(record);
    if (from >= max_value_bytes_) return;
    base::prefetch_range(reinterpret_cast<const char*>(record->value_words()) + from,
                         std::min({bytes, max_value_bytes_ - from, kWorthwhile}));
  }
  /// Returns the placement of a table that is partitioned over the nodes of a cluster. nullptr of any other table, also
  /// of one that is replicated on every node.
  const Placement* placement() const { return placement_.get(); }
  /// Called before anybody uses the table. Entries of its indexes live where the records do.
  void place(std::shared_ptr<const Placement> placement) { placement_ = std::move(placement); }
  /// Whether the table belongs to that database.
  bool belongs_to(const cc::DatabaseState& shared) const { return shared_ == &shared; }

  // Secondary indexes. They are added before the table holds records, so transactions read the list without a lock.
  const std::vector<TableCore*>& indexes() const { return indexes_; }
  void add_index(TableCore* index) {
    indexes_.push_back(index);
    if (index->is_shared()) max_key_bytes_ = kMaxIndexedSharedKeyBytes;
  }

  // These functions are those of an index: they tell its base table, and how its keys are made.
  void make_index_of(TableCore* base, IndexOptions options) {
    base_ = base;
    index_options_ = std::move(options);
  }
  TableCore* base() const { return base_; }
  const IndexOptions& index_options() const { return index_options_; }

 private:
  const cc::DatabaseState* const shared_;
  std::shared_ptr<const Placement> placement_;
  static constexpr std::size_t kWorthwhile = 512;  ///< the most bytes that are prefetched
  const std::uint32_t max_value_bytes_;
  std::uint32_t max_key_bytes_ = kMaxKeyBytes;
  const std::uint32_t id_;
  bool is_shared_ = false;
  bool immutable_ = false;
  /// Both are written by the thread that seals, under a lock (Schema::seal), and read by all transactions. They lie
  /// beside members that every operation reads anyway.
  std::atomic<bool> closed_{false};
  std::atomic<epoch::Epoch> sealed_from_{kNotSealed};
  cc::Index index_;
  const std::string name_;
  std::vector<TableCore*> indexes_;
  TableCore* base_ = nullptr;
  IndexOptions index_options_;
};

/// Returns the key's home if that is another node.
inline std::optional<std::uint16_t> home_elsewhere(const TableCore& table, std::string_view key) {
  const Placement* const placement = table.placement();
  if (placement == nullptr) [[likely]]
    return std::nullopt;
  const std::uint16_t home = placement->home(key);
  return home == placement->self ? std::nullopt : std::optional(home);
}

/// Returns kOk if the table is one of this database and may have such a key.
inline Outcome check_target(const TableCore* table, std::string_view key, const cc::DatabaseState& shared) {
  if (table == nullptr || !table->belongs_to(shared)) [[unlikely]]
    return Outcome::kUnknownTable;
  if (key.size() > table->max_key_bytes()) [[unlikely]]
    return Outcome::kKeyTooLong;
  return Outcome::kOk;
}

}  // namespace granary::txn
