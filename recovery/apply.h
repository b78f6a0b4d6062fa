#pragma once
// Puts what was logged straight into the tables: of each key the write with the greatest TID wins, whatever the order
// in which writes come and however many threads bring them. A removal is such a write, too: it leaves an absent record,
// so that older values that come later, perhaps from another log, find that they are older; remove_absents() takes
// those out. A part of a value waits beside the tables (pending_parts.h), as what it is a part of may come later;
// fold() lays it over that.
//
// A record is changed under its lock bit, as by a commit (src/cc/install.cc), but there are no readers, snapshots
// or old versions to care for, nor other nodes: these are let in later.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/limits.h>

#include "recovery/logged_write.h"
#include "recovery/packed_indexes.h"
#include "recovery/pending_parts.h"
#include "src/cc/worker_state.h"
#include "src/txn/table_core.h"

namespace granary::recovery {

/// A removal that has left an absent record.
struct Absent {
  txn::TableCore* table;
  record::Record* record;
  std::string key;
};

/// Takes those records out of their tables that are still absent, and frees them. One thread calls it, when no older
/// write of any key can come any more. False if there was no epoch slot left.
[[nodiscard]] bool remove_absents(std::span<const Absent> absents, cc::WorkerState& worker);

/// Records of which the log has a part, and not the value that it is a part of.
struct Baseless {
  std::uint64_t records = 0;
  std::string first;  ///< what is missing of one of them

  void add(const Baseless& more) {
    if (records == 0) first = more.first;
    records += more.records;
  }
};

/// Applies the writes that one thread brings. add() gathers them; keys and values must stay where they are until
/// flush().
class Applier {
 public:
  enum class Outcome : std::uint8_t { kOk, kUnknownTable, kTooLarge, kPartOfShared, kOutOfMemory };

  /// `tables` by id; holes are null. `worker`, whose memory is used, is this applier's alone; its database runs no
  /// transactions. `pending`, which all appliers share, gets the parts of values. `frugal`: it is the only applier.
  /// Then indexes are kept packed, what was replaced is freed at once, and a write that finds no memory is left out and
  /// counted.
  Applier(std::span<txn::TableCore* const> tables, cc::WorkerState& worker, PendingParts& pending,
          PackedIndexes* frugal = nullptr);
  ~Applier();
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;
  /// False if there was no epoch slot left.
  bool ok() const { return slot_ != nullptr; }

  /// Tells the log's file from which writes come until the next flush(); the name outlives what is pending.
  void read_from(const std::string& file) { file_ = &file; }
  [[nodiscard]] Outcome add(std::uint32_t table, const LoggedWrite& write) {
    if (table >= tables_.size() || tables_[table] == nullptr) [[unlikely]]
      return Outcome::kUnknownTable;
    if (write.bytes_after() > tables_[table]->max_value_bytes() ||
        write.key.size() > tables_[table]->max_stored_key_bytes()) [[unlikely]]
      return Outcome::kTooLarge;
    if (write.part && tables_[table]->is_shared()) [[unlikely]]
      return Outcome::kPartOfShared;
    Batch& batch = batches_[table];
    if (batch.count == 0) touched_.push_back(table);
    batch.writes[batch.count++] = write;
    return batch.count == kBatch ? apply(table) : Outcome::kOk;
  }
  [[nodiscard]] Outcome flush();

  /// After all appliers have flushed, and have applied all that may be older than what is pending: lays the parts over
  /// their records, which the appliers share among them, and counts those whose record is not there.
  void fold(Baseless& baseless);

  /// Frees what was replaced, and adds to `absents` what was removed. To be called by one thread at a time, after all
  /// appliers have flushed.
  void finish(std::vector<Absent>& absents);

  std::uint64_t applied() const { return applied_; }  ///< writes that were the newest of their key when they came
  /// An estimate of the memory that the writes which were left out would take.
  std::uint64_t missing_bytes() const { return missing_bytes_; }

 private:
  static constexpr std::size_t kBatch = 32;
  struct Batch {
    std::array<LoggedWrite, kBatch> writes;
    std::size_t count = 0;
  };

  Outcome apply(std::uint32_t table);
  bool keep_part(const txn::TableCore& table, const LoggedWrite& write, const record::Record* record);
  bool apply_one(txn::TableCore& table, const LoggedWrite& write, record::Record* record,
                 kvstore::ordered::LeafHint& hint);
  bool overwrite(txn::TableCore& table, const LoggedWrite& write, record::Record& record, record::TidWord locked);
  record::Record* make_record(const txn::TableCore& table, const LoggedWrite& write);
  void free_replaced();
  void note_absent(txn::TableCore& table, const LoggedWrite& write, record::Record* record);

  const std::span<txn::TableCore* const> tables_;
  cc::WorkerState& worker_;
  epoch::Slot* const slot_;
  const std::unique_ptr<Batch[]> batches_;  // by table
  std::vector<std::uint32_t> touched_;      // tables whose batch is not empty
  std::vector<Absent> absents_;
  std::vector<record::Record*> replaced_;  // others may still look at them until all have flushed
  PendingParts& pending_;
  const std::string* file_ = nullptr;
  std::uint64_t applied_ = 0;
  PackedIndexes* const frugal_;
  std::uint64_t missing_bytes_ = 0;
};

}  // namespace granary::recovery
