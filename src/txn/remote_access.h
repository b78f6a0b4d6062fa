#pragma once
// Declares a transaction's accesses to other nodes, as an interface: Execution (execution.h) reads and writes keys
// whose home is another node through it. src/cluster/transaction implements it. In a cluster each context has a
// RemoteAccess; contexts of other databases have none.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <granary/outcome.h>
#include <granary/transaction.h>

#include "src/cc/elsewhere/remote_commit.h"
#include "src/txn/table_core.h"
#include "src/txn/write_rule.h"

namespace granary::txn {

/// A key of another node.
struct RemoteKey {
  const TableCore* table = nullptr;
  std::uint16_t home = 0;
  std::string_view key;
};

/// One element of RemoteAccess::get(). The caller sets `key` and `will_write`, and gets the rest.
struct RemoteGet {
  RemoteKey key;
  bool will_write = false;  ///< MultiGet::will_write
  bool found = false;
  std::string_view value = {};  ///< valid until the transaction ends
};

/// One element of RemoteSnapshots::get(). The caller sets `key`, and gets the rest.
struct RemoteSnapshotGet {
  RemoteKey key;
  Outcome outcome = Outcome::kNotFound;  ///< kOk, kNotFound, or why the value is not known
  std::string_view value = {};           ///< valid until the next get
};

/// One element of RemoteAccess::declare().
struct DeclaredKey {
  RemoteKey key;
  bool write = false;
};

/// Tells whether a transaction that ends may be run again.
enum class Ending : std::uint8_t {
  kForGood,      ///< it has committed, or the application has aborted it
  kMayRunAgain,  ///< it has failed, and the application may run it again
};

/// Reads at other nodes for a snapshot, whose epoch this node pins.
class RemoteSnapshots {
 public:
  virtual ~RemoteSnapshots() = default;
  virtual void get(epoch::Epoch epoch, std::span<RemoteSnapshotGet> gets) = 0;
  /// Visits a range of an ordered table, or of an index, at one node.
  virtual ScanResult scan(epoch::Epoch epoch, const TableCore& table, std::uint16_t home, const ScanRange& range,
                          ScanFn visit) = 0;
};

class RemoteAccess {
 public:
  virtual ~RemoteAccess() = default;
  /// Whether the transaction has touched another node.
  virtual bool used() const = 0;
  // The functions that return an AbortReason return kNone, or why the transaction must end.

  /// Reads all keys, in one round trip if it is known where their records are. A key that the transaction has written
  /// reads as its own write.
  virtual AbortReason get(std::span<RemoteGet> gets) = 0;
  /// Fetches all keys and holds their records until end(): it x-locks those that will be written, and leases the
  /// others.
  virtual AbortReason declare(std::span<const DeclaredKey> keys) = 0;
  /// Buffers a write, if the rule allows it. `outcome` becomes the rule's outcome.
  virtual AbortReason write(const RemoteKey& key, std::string_view value, const WriteRule& rule, Outcome& outcome) = 0;
  /// Visits a range of `table`, or of its secondary index `index` if that is not nullptr, at one node. The
  /// transaction's own writes are visited, too.
  virtual AbortReason scan(const TableCore& table, const TableCore* index, std::uint16_t home, const ScanRange& range,
                           ScanFn visit, ScanResult& result) = 0;
  /// Notes that a lease on a record of this node, which ends at `end_us`, has kept the transaction from writing. tidy()
  /// will wait for the lease's end.
  virtual void note_lease(std::uint64_t end_us) = 0;
  /// Whether writes of the committed transaction are still under way. The transaction holds its epoch until this is
  /// false, and then end() is called.
  virtual bool under_way() noexcept = 0;
  /// Ends the transaction at other nodes: gives back what it holds there, and forgets its accesses. Returns whether
  /// tidy() has something to do.
  virtual bool end(Ending ending) noexcept = 0;
  /// Does what may take long, such as waiting for a lease's end. Called after a transaction that holds nothing any more
  /// and has left its epoch, or when the worker has no open transaction.
  virtual void tidy() = 0;

  /// The part of the commit that happens at other nodes.
  virtual cc::RemoteCommit& remote_commit() = 0;
  virtual RemoteSnapshots& snapshots() = 0;
};

}  // namespace granary::txn
