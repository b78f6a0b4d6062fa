#pragma once
// A transaction's accesses to other nodes, as its context sees them: keys whose home is elsewhere are read and written through this
// (src/cluster/transaction). One for each context of a worker of a cluster; contexts of other databases have none.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <granary/outcome.h>
#include <granary/transaction.h>

#include "src/cc/elsewhere/remote_part.h"
#include "src/txn/table_core.h"
#include "src/txn/write_rule.h"

namespace granary::txn {

/// A key of another node.
struct RemoteKey {
  const TableCore* table = nullptr;
  std::uint16_t home = 0;
  std::string_view key;
};

/// One element of get(): the key goes in, the rest comes out.
struct RemoteGet {
  RemoteKey key;
  bool will_write = false;  ///< goes in, too: MultiGet::will_write
  bool found = false;
  std::string_view value = {};  ///< valid until the transaction ends
};

/// One element of snapshot_get(): the key goes in, the rest comes out.
struct RemoteSnapshotGet {
  RemoteKey key;
  Outcome outcome = Outcome::kNotFound;  ///< kOk, kNotFound, or why it is not known
  std::string_view value = {};           ///< valid until the next get
};

/// One element of declare().
struct DeclaredKey {
  RemoteKey key;
  bool write = false;
};

/// Reads at other nodes for a snapshot, whose epoch this node pins.
class RemoteSnapshots {
 public:
  virtual ~RemoteSnapshots() = default;
  virtual void get(epoch::Epoch epoch, std::span<RemoteSnapshotGet> gets) = 0;
  /// Visits a range of an ordered table, or of an index, of one node.
  virtual ScanResult scan(epoch::Epoch epoch, const TableCore& table, std::uint16_t home, const ScanRange& range,
                          ScanFn visit) = 0;
};

class RemoteAccess {
 public:
  virtual ~RemoteAccess() = default;
  /// Whether the transaction has touched another node.
  virtual bool used() const = 0;
  /// Reads them all, in one round trip if it is known where they are. Own writes win. kNone, or why the transaction must end.
  virtual AbortReason get(std::span<RemoteGet> gets) = 0;
  /// Fetches them all and holds them until end(): x-locks what will be written, leases what will be read.
  virtual AbortReason declare(std::span<const DeclaredKey> keys) = 0;
  /// Buffers a write, if the rule allows it. `outcome` is the rule's.
  virtual AbortReason write(const RemoteKey& key, std::string_view value, const WriteRule& rule, Outcome& outcome) = 0;
  /// Visits a range of an ordered table, or of an index (`index`, of base table `table`), of one node; own writes win.
  virtual AbortReason scan(const TableCore& table, const TableCore* index, std::uint16_t home, const ScanRange& range,
                           ScanFn visit, ScanResult& result) = 0;
  /// A lease on a record of this node, which ends then, keeps the transaction from writing it: tidy() will wait for that.
  virtual void note_lease(std::uint64_t end_us) = 0;
  /// Whether what a transaction that has committed wrote is still on its way. It holds its epoch until this is false, and end() comes then.
  virtual bool under_way() = 0;
  /// The transaction has ended: forgets everything. `over`: it will not be tried again, as it has committed or the application has
  /// aborted it. True if tidy() has something to do.
  virtual bool end(bool over) = 0;
  /// What takes its time, after a transaction that holds nothing any more and has left its epoch, or when the worker has none.
  virtual void tidy() = 0;

  /// The part of the commit that happens at other nodes.
  virtual cc::RemotePart& part() = 0;
  virtual RemoteSnapshots& snapshots() = 0;
};

}  // namespace granary::txn
