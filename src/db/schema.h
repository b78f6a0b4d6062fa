#pragma once
// Makes and finds the tables and secondary indexes of a database, declares them once more after a recovery, seals
// (seal.cc) and resizes (resize.cc) tables, and has the memory of their roots and of the main headers of their hash
// indexes. An application sees no table that is not in the manifest.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <granary/function_ref.h>
#include <granary/options.h>
#include <granary/status.h>
#include <granary/table.h>

#include "recovery/manifest.h"
#include "src/cc/database_state.h"
#include "src/db/durable_manifest.h"
#include "src/memory/region.h"
#include "src/memory/slab.h"
#include "src/txn/table_core.h"

namespace granary::db {

class Schema {
 public:
  /// All that is passed outlives this. `manifest` is nullptr for a database in memory only.
  Schema(const Options& options, cc::DatabaseState& shared, const memory::Region& region, DurableManifest* manifest);

  /// Makes the tables and indexes that the manifest has, still empty, before anybody else uses the database. If
  /// `frugal`, their main headers are no larger than they must be to load the data.
  Status restore(bool frugal);
  /// Makes each recovered table's main header as wide as its keys need, or else as wide as memory allows. Precondition:
  /// nobody uses the tables.
  void widen_recovered();

  /// Seals the recovered tables again that were sealed, unless Options::salvage may have lost some of their rows.
  /// Precondition: E is already this life's.
  Status restore_seals();

  // The following are thread-safe.

  Result<txn::TableCore*> create_table(std::string_view name, const TableOptions& table_options);
  Result<txn::TableCore*> create_index(txn::TableCore* base, std::string_view name, const IndexOptions& index_options);
  Result<txn::TableCore*> find(std::string_view name, bool index) const;
  /// Returns all tables and secondary indexes, by id.
  std::vector<txn::TableCore*> tables() const;
  /// Returns an error if this table cannot be resized to so many keys.
  Status check_resize(txn::TableCore* table, std::uint64_t expected_keys) const;
  /// Moves a table to another main header. Precondition: no checkpoint is in progress, and no worker is taken or given
  /// back meanwhile. Returns kFailedPrecondition if a transaction is open.
  Status resize(txn::TableCore& table, std::uint64_t expected_keys);
  /// Returns an error if this table cannot be sealed.
  Status check_seal(const txn::TableCore* table) const;
  /// Waits until an epoch is released, for at most the given number of microseconds.
  using WaitReleased = FunctionRef<Status(epoch::Epoch, std::uint64_t)>;
  /// Does what Database::seal() promises.
  Status seal(txn::TableCore& table, std::uint64_t timeout_us, WaitReleased wait_released);
  /// Returns the bytes of roots, index nodes and main headers that this has taken, less those that it has given back.
  /// Workers and this give back what the other has taken, too, so it may be below 0: only the sum over all is exact.
  std::int64_t index_bytes() const;

 private:
  Result<txn::TableCore*> add(const recovery::TableEntry& entry);
  Status check_new(const recovery::TableEntry& entry) const;
  Result<txn::TableCore*> declare(const recovery::TableEntry& entry);
  void forget_last();
  void forget_unsaved(const recovery::TableEntry& entry);
  Status take_back_last();
  void stop_writing(std::string_view index, const Status& cause);
  std::span<kvstore::hash::Bucket> make_main_header(std::uint64_t keys);
  void free_main_header(std::span<kvstore::hash::Bucket> main_header);
  bool rebuild(txn::TableCore& table, std::uint64_t keys);
  void close(txn::TableCore& table, bool closed);
  void publish_seal(txn::TableCore& table, epoch::Epoch from);

  const Options& options_;
  cc::DatabaseState& shared_;
  const memory::Region& region_;
  DurableManifest* const manifest_;

  std::mutex sealing_mutex_;  // held while a table is sealed; taken before mutex_
  mutable std::mutex mutex_;  // guards the tables and the memory of their roots
  memory::SlabCache slabs_;
  kvstore::NodeMemory nodes_;
  /// The bytes of all main headers. Changed under mutex_; read for statistics, so relaxed.
  std::atomic<std::int64_t> main_header_bytes_{0};
  std::vector<std::unique_ptr<txn::TableCore>> tables_;
  std::map<std::string, txn::TableCore*, std::less<>> tables_by_name_;
  std::set<std::string, std::less<>> undeclared_;  // recovered, but not yet declared by create_table or create_index
};

}  // namespace granary::db
