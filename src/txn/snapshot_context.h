#pragma once
// Runs snapshot transactions (Silo 4.9). A snapshot reads the state at the end of a snapshot period and never aborts.
// It pins its epoch, which keeps the versions that it sees. It enters its epoch slot only within an operation, so
// however long it is open, it never holds back E or the freeing of tree nodes. Snapshot (include/granary) is the
// application's handle of one.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <granary/transaction.h>

#include "src/base/arena.h"
#include "src/epoch/epoch.h"
#include "src/txn/dropped_handle.h"
#include "src/txn/remote_access.h"
#include "src/txn/worker_core.h"

namespace granary::txn {

class LocalGets;
template <typename Get>
struct GetsElsewhere;

/// The snapshots of one context, one after the other. The functions run on the worker's thread; those with a serial
/// check that.
class SnapshotContext {
 public:
  SnapshotContext(WorkerCore& worker, epoch::Slot& slot) : worker_(worker), slot_(slot) {}
  SnapshotContext(const SnapshotContext&) = delete;
  SnapshotContext& operator=(const SnapshotContext&) = delete;

  /// Sets how snapshots reach other nodes; nullptr: there are no other nodes. No snapshot is open.
  void set_remote(RemoteAccess* remote) { remote_ = remote; }
  bool open() const { return open_; }
  epoch::Epoch epoch() const { return epoch_; }
  /// Returns the epoch of the snapshot with this serial, and 0 if it is finished.
  epoch::Epoch epoch_of(std::uint64_t serial) const { return serial == serial_ && open_ ? epoch_ : 0; }

  /// Opens a snapshot and returns its serial.
  std::uint64_t begin();
  /// Opens one at the epoch of another node's snapshot. Returns 0, and opens none, if what that sees here may be gone.
  std::uint64_t begin_at(epoch::Epoch epoch);
  GetResult get(std::uint64_t serial, TableCore* table, std::string_view key, std::span<char> buffer);
  Outcome get(std::uint64_t serial, TableCore* table, std::string_view key, std::string& value);
  GetResult get_part(std::uint64_t serial, TableCore* table, std::string_view key, std::size_t from,
                     std::span<char> buffer);
  Outcome multi_get(std::uint64_t serial, std::span<MultiGet> gets);
  ScanResult scan(std::uint64_t serial, TableCore* table, const ScanRange& range, ScanFn visit);
  ScanResult scan_index(std::uint64_t serial, TableCore* index, const ScanRange& range, ScanFn visit);
  /// Scans what this node has of an ordered table or an index, whatever the range's home is: the lower end of a range
  /// of entries (index_range.h) may be the key of another node. The snapshot is open.
  ScanResult scan_here(std::uint64_t serial, TableCore& table, const ScanRange& range, ScanFn visit);
  /// Ends the snapshot. Returns false, and leaves it open, if the calling thread is not the worker's, or another body
  /// has begun it (WorkerCore::may_use).
  bool finish(std::uint64_t serial);
  /// Notes that another thread than the worker's has dropped the handle of the snapshot. Called by that thread.
  void note_dropped(std::uint64_t serial) {
    if (dropped_.note(serial)) worker_.note_dropped();
  }
  /// Ends the open snapshot if its handle was dropped so, as Context::end_dropped() does.
  void end_dropped() {
    if (dropped_.serial() == serial_) body_ = worker_.body();
    (void)finish(dropped_.serial());
  }
  /// Ends the open snapshot, if there is one. Its handle finds it finished.
  void end();

 private:
  void unpin();
  Outcome admit(std::uint64_t serial) const;
  Outcome admit(std::uint64_t serial, const TableCore* table, std::string_view key) const;
  void get_together(const LocalGets& gets);
  GetResult read(const cc::Record* record, std::size_t key_bytes, std::span<char> buffer) const;
  GetResult read_part(const cc::Record* record, std::size_t key_bytes, std::size_t from, std::span<char> buffer);
  template <typename Copy, typename ReadHere>
  GetResult get_by(std::uint64_t serial, TableCore* table, std::string_view key, Copy&& copy, ReadHere&& read_here);
  Outcome get_elsewhere(std::uint16_t home, TableCore& table, std::string_view key, std::string& value);
  void multi_get_elsewhere(GetsElsewhere<RemoteSnapshotGet>& elsewhere);
  ScanResult scan_elsewhere(std::uint16_t home, const TableCore& table, const ScanRange& range, ScanFn visit);

  WorkerCore& worker_;
  epoch::Slot& slot_;
  RemoteAccess* remote_ = nullptr;
  bool open_ = false;
  std::uint64_t serial_ = 0;
  DroppedHandle dropped_;
  std::uint64_t body_ = 0;    // in which the snapshot began (WorkerCore::may_use)
  epoch::Epoch epoch_ = 0;    // se: the snapshot sees versions of earlier epochs
  epoch::Epoch entered_ = 0;  // e_w when it began
  base::Arena arena_;         // memory of the operation under way
  std::string whole_;         // the value of a shared record of which a part is wanted, for a moment
};

}  // namespace granary::txn
