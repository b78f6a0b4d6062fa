#pragma once
// One open transaction or snapshot: execution (Silo 4.5 to 4.7, 4.9) over the access sets; commit is the protocol's (src/cc).
//
// A context is used again and again; a serial number tells the handle of a finished transaction from the
// next one's. All functions run on the worker's thread; the first thing each does is to check that.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <granary/outcome.h>
#include <granary/transaction.h>

#include "src/base/arena.h"
#include "src/cc/access_set.h"
#include "src/cc/participant.h"
#include "src/epoch/epoch.h"
#include "src/record/stable_read.h"
#include "src/txn/lookup_cache.h"
#include "src/txn/remote.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"

namespace granary::txn {

class LocalGets;
template <typename Get>
struct GetsElsewhere;

class Context {
 public:
  Context(WorkerCore& worker, epoch::Slot& slot) : worker_(worker), slot_(slot) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  epoch::Slot& slot() { return slot_; }
  bool idle() const { return state_ == State::kIdle; }
  /// How transactions reach other nodes; nullptr: there are none. While idle.
  void set_remote(std::unique_ptr<RemoteAccess> remote) { remote_ = std::move(remote); }
  /// RemoteAccess::tidy(), of a worker that has other nodes.
  void tidy_remote() { remote_->tidy(); }

  // --- read-write transactions ---
  /// Opens a transaction and returns its serial.
  std::uint64_t begin();
  GetResult get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer);
  Outcome get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value);
  Outcome multi_get(std::uint64_t serial, std::span<MultiGet> gets);
  Outcome declare(std::uint64_t serial, std::span<const Declared> keys);
  void prefetch(std::uint64_t serial, TableCore* table, std::string_view key);
  Outcome write(std::uint64_t serial, TableCore* table, std::string_view key, std::string_view value, WriteMode mode);
  ScanResult scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit);
  ScanResult scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit);
  CommitResult commit(std::uint64_t serial);
  void abort(std::uint64_t serial);
  bool open(std::uint64_t serial) const;
  AbortReason doom(std::uint64_t serial) const;

  // --- snapshots ---
  std::uint64_t begin_snapshot();
  /// At an epoch that another node's snapshot pins.
  std::uint64_t begin_snapshot_at(epoch::Epoch epoch);
  std::uint64_t snapshot_epoch() const { return snapshot_epoch_; }
  GetResult snapshot_get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer);
  Outcome snapshot_get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value);
  Outcome snapshot_multi_get(std::uint64_t serial, std::span<MultiGet> gets);
  ScanResult snapshot_scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit);
  ScanResult snapshot_scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit);
  /// False if the snapshot is another thread's, and goes on.
  bool finish_snapshot(std::uint64_t serial);

  /// Ends whatever is open without effect.
  void end();

 private:
  enum class State : std::uint8_t {
    kIdle,
    kOpen,      ///< a transaction; the slot is entered
    kDoomed,    ///< a transaction that can only be ended; the slot is left, so that it holds nothing back
    kSnapshot,  ///< a snapshot; the slot pins its epoch and is entered only within operations
  };

  friend class ScanCursor;

  Outcome admit(std::uint64_t serial) {
    if (worker_.bound_here() && serial == serial_ && state_ == State::kOpen &&
        !slot_.revoked.load(std::memory_order_relaxed)) [[likely]] {
      return Outcome::kOk;
    }
    return refuse(serial);
  }
  Outcome admit(std::uint64_t serial, const TableCore* table, std::string_view key) {
    const Outcome outcome = admit(serial);
    if (outcome != Outcome::kOk) [[unlikely]]
      return outcome;
    return check_target(table, key);
  }
  Outcome check_target(const TableCore* table, std::string_view key) const {
    if (table == nullptr || !table->belongs_to(worker_.state().shared)) [[unlikely]]
      return Outcome::kUnknownTable;
    if (key.size() > table->max_key_bytes()) [[unlikely]]
      return Outcome::kKeyTooLong;
    return Outcome::kOk;
  }
  [[gnu::cold]] Outcome refuse(std::uint64_t serial);
  Outcome admit_snapshot(std::uint64_t serial, const TableCore* table, std::string_view key) const;

  cc::CommitOutcome commit_in_cluster(cc::Right right);
  /// Why a transaction ends that fails for `reason`: nothing is tried again on a node that may not commit.
  AbortReason for_good_if_out(AbortReason reason) const;
  /// Dooms the transaction: undoes it at once, keeps the reason for commit().
  [[gnu::cold]] Outcome doom_with(AbortReason reason);
  /// Forgets the access sets and leaves the slot. `over`: RemoteAccess::end().
  void release(bool over);
  /// The same for a transaction that does not commit: registers its placeholders first.
  [[gnu::cold]] void undo(bool over);

  // Execution on records (read.cc).
  cc::Record* find(TableCore& table, std::string_view key);
  /// The same, if it is not remembered from before in this transaction.
  cc::Record* look_up(TableCore& table, std::string_view key);
  /// Reads `record`, or what has taken its place; keeps the read set. `own` writes win.
  GetResult read(TableCore& table, std::string_view key, cc::Record* record, std::span<char> buffer);
  Outcome read_string(std::optional<std::uint16_t> home, TableCore& table, std::string_view key, std::string& value);
  template <typename Get, typename Admitted, typename ReadTogether>
  Outcome take_apart(std::span<MultiGet> gets, GetsElsewhere<Get>& elsewhere, Admitted&& admitted,
                     ReadTogether&& read_together);
  void read_together(const LocalGets& gets);
  void snapshot_read_together(const LocalGets& gets);
  Outcome note_read(cc::Record* record, cc::TidWord tid);
  Outcome note_node(const cc::Leaf* leaf, cc::Version version);

  // What lives on other nodes (remote.cc).
  /// The key's home if that is another node.
  static std::optional<std::uint16_t> home_elsewhere(const TableCore& table, std::string_view key) {
    const Placement* const placement = table.placement();
    if (placement == nullptr) [[likely]]
      return std::nullopt;
    const std::uint16_t home = placement->home(key);
    return home == placement->self ? std::nullopt : std::optional(home);
  }
  Outcome get_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::string_view& value);
  GetResult read_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::span<char> buffer);
  Outcome write_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::string_view value,
                          WriteMode mode);
  Outcome multi_get_elsewhere(GetsElsewhere<RemoteGet>& elsewhere);
  Outcome snapshot_get_elsewhere(TableCore& table, std::uint16_t home, std::string_view key, std::string& value);
  Outcome snapshot_multi_get_elsewhere(GetsElsewhere<RemoteSnapshotGet>& elsewhere);
  ScanResult snapshot_scan_elsewhere(const TableCore& table, std::uint16_t home, const ScanRange& range, ScanFn visit);
  ScanResult scan_elsewhere(TableCore& table, TableCore* index, std::uint16_t home, const ScanRange& range,
                            ScanFn visit);
  static GetResult copy_out(std::string_view value, std::span<char> buffer) {
    if (value.size() > buffer.size()) return {Outcome::kBufferTooSmall, value.size()};
    std::copy(value.begin(), value.end(), buffer.begin());
    return {Outcome::kOk, value.size()};
  }

  // Writes (write.cc).
  Outcome write_record(TableCore& table, std::string_view key, std::string_view value, WriteMode mode);
  Outcome write_own(cc::WriteEntry& own, std::string_view value, WriteMode mode);
  Outcome write_new(TableCore& table, std::string_view key, std::string_view value, cc::Record** present);
  Outcome note_own_insert(const kvstore::ordered::InsertResult& inserted);
  void set_value(cc::WriteEntry& entry, std::string_view value, bool remove);
  // Here, or at the other node that is the record's home and its index entries'.
  using Home = std::optional<std::uint16_t>;
  Outcome write_at(Home home, TableCore& table, std::string_view key, std::string_view value, WriteMode mode) {
    return home ? write_elsewhere(table, *home, key, value, mode) : write_record(table, key, value, mode);
  }
  Outcome write_indexed(Home home, TableCore& table, std::string_view key, std::string_view value, WriteMode mode);
  Outcome move_index_entry(Home home, TableCore& index, std::string_view key, const std::string* old_value,
                           const std::string_view* new_value);
  /// Whether everything that was read would still pass validation.
  bool seen_consistently(Home home);

  /// A buffer for values during a scan at this nesting depth.
  std::string& scratch();

  WorkerCore& worker_;
  epoch::Slot& slot_;
  std::unique_ptr<RemoteAccess> remote_;
  State state_ = State::kIdle;
  AbortReason doom_ = AbortReason::kNone;
  std::uint64_t serial_ = 0;
  std::uint64_t configuration_ = 0;  // noted by begin(), in a cluster
  epoch::Epoch epoch_ = 0;           // e_w of the open transaction
  epoch::Epoch snapshot_epoch_ = 0;  // of the open snapshot
  cc::AccessSet access_;
  base::Arena arena_;
  LookupCache lookups_;
  InsertHints insert_hints_;
  std::deque<std::string> scratch_;  // one per scan depth; addresses stay
  std::size_t scan_depth_ = 0;
};

}  // namespace granary::txn
