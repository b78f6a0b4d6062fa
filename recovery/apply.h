#pragma once
// Puts logged writes straight into the tables. Of each key the write with the greatest TID wins, whatever the order in
// which writes come and however many threads bring them. A removal is such a write, too: it leaves an absent record, so
// that an older value that comes later, perhaps from another log, turns out to be older. remove_absents() takes the
// absent records out. A part of a value waits beside the tables (pending_parts.h), as the value that it belongs to may
// come later; fold() lays the part over that value.
//
// A record is changed under its lock bit, as by a commit (src/cc/install.cc). But there are no readers, snapshots or
// old versions to care for, nor other nodes: these are let in later.

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

/// Takes the records that are still absent out of their tables, and frees them. One thread calls it, when no older
/// write of any key can come any more. Returns false if there was no epoch slot left.
[[nodiscard]] bool remove_absents(std::span<const Absent> absents, cc::WorkerState& worker);

/// Counts records of which the log has a part, but not the value that the part belongs to.
struct Baseless {
  std::uint64_t records = 0;
  std::string first;  ///< says what is missing of one of them

  void add(const Baseless& more) {
    if (records == 0) first = more.first;
    records += more.records;
  }
};

/// Applies the writes that one thread brings. add() gathers them. Keys and values must stay where they are until
/// flush().
class Applier {
 public:
  enum class Outcome : std::uint8_t { kOk, kUnknownTable, kTooLarge, kPartOfShared, kOutOfMemory };

  /// `tables` are by id; holes are null. `worker`, whose memory is used, belongs to this applier alone, and its
  /// database runs no transactions. All appliers share `pending`, which gets the parts of values. `frugal` is given to
  /// an applier that is the only one. Then indexes are kept packed, records that were replaced are freed at once, and a
  /// write that finds no memory is left out and counted.
  Applier(std::span<txn::TableCore* const> tables, cc::WorkerState& worker, PendingParts& pending,
          PackedIndexes* frugal = nullptr);
  ~Applier();
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;
  /// Whether there was an epoch slot left.
  bool ok() const { return slot_ != nullptr; }

  /// Says from which file of the log the writes come until the next flush(). The name must outlive the pending parts.
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

  /// Lays the pending parts over their records, and counts those whose record is not there. It is called after all
  /// appliers have flushed, when nothing older than a pending part can come any more. The appliers share the records
  /// among them.
  void fold(Baseless& baseless);

  /// Frees the records that were replaced, and adds to `absents` those that were removed. One thread at a time calls
  /// it, after all appliers have flushed.
  void finish(std::vector<Absent>& absents);

  std::uint64_t applied() const { return applied_; }  ///< writes that were the newest of their key when they came
  /// Returns an estimate of the memory that the writes which were left out would take.
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
  const std::unique_ptr<Batch[]> batches_;  // by table id
  std::vector<std::uint32_t> touched_;      // tables whose batch is not empty
  std::vector<Absent> absents_;
  std::vector<record::Record*> replaced_;  // other appliers may still look at them until all have flushed
  PendingParts& pending_;
  const std::string* file_ = nullptr;
  std::uint64_t applied_ = 0;
  PackedIndexes* const frugal_;
  std::uint64_t missing_bytes_ = 0;
};

}  // namespace granary::recovery
