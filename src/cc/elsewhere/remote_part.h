#pragma once
// The steps that a commit takes at other nodes; src/cluster/transaction implements them. A transaction that touches this node only
// has no remote part, and pays nothing for it.

#include <cstdint>
#include <span>
#include <string_view>

#include <granary/outcome.h>

#include "src/base/soft_time.h"
#include "src/epoch/epoch.h"
#include "src/record/tid.h"

namespace granary::cc {

/// The end of what is x-locked: it is held as long as its holder likes.
inline constexpr base::LeaseEnd kHeldForever{.end_us = ~std::uint64_t{0}};

/// A write to a record of another node, as the log has it.
struct RemoteWrite {
  std::uint16_t node = 0;   ///< the record's home
  std::uint32_t table = 0;  ///< its number, the same on all nodes
  std::string_view key;
  std::string_view value;  ///< unused for a removal
  bool remove = false;
};

/// Its functions are called in this order (src/cc/commit.h); those from agree() on once more if an HTM region was
/// tried in vain, validate() also before all, to know. Between lock() and write_back() or release() the
/// x-locks are held; after a lock() that failed nothing is.
class RemotePart {
 public:
  virtual ~RemotePart() = default;

  /// All writes, for the log. Valid until the transaction ends.
  virtual std::span<const RemoteWrite> writes() = 0;
  /// Makes ready for a commit that may not wait (drtm/): behind declare() and before anything is written. Epochs are agreed on, at least `here`, and
  /// old versions kept of what is x-locked. False, if something was touched that is not held, or an owner does not answer. A transaction that
  /// has touched no other node is ready.
  virtual bool make_ready(epoch::Epoch here) = 0;
  /// Step 1: x-locks every record to write, named in the lock-ahead record before, and reads E of every participant, after its
  /// locks (I7).
  virtual AbortReason lock() = 0;
  /// Step 2: the transaction's epoch, at least `here`, which is E of this node: the greatest of all participants' E and of the
  /// epochs of the TIDs that were seen. Waits, bounded, until E of every participant is not less. `stamp`: as for validate(), as far as it is
  /// known; 0: not yet.
  virtual AbortReason agree(epoch::Epoch here, record::TidWord stamp, epoch::Epoch& agreed) = 0;
  /// Step 2: what was read is unchanged and nobody else's, and no key has appeared where one was missed. If the protocol stamps first (TicToc),
  /// all of this holds at least until the time `stamp`.
  virtual AbortReason validate(record::TidWord stamp) = 0;
  /// After lock(): until when everything that was read is x-locked or leased, by this node's time (kHeldForever: as long as it likes); 0 if
  /// something is not.
  virtual base::LeaseEnd held_until() const = 0;
  /// The greatest TID that was read or is overwritten (I1).
  virtual record::TidWord greatest_tid() const = 0;
  /// Returns the least time that a transaction of a protocol that stamps first may have. It is not before any version that was read, and behind
  /// the time until which a version that will be overwritten may be known to be valid.
  virtual record::TidWord least_time() const = 0;
  /// Old versions are kept where a snapshot needs them (I12). The last thing that can fail at other nodes.
  virtual AbortReason prepare(epoch::Epoch epoch) = 0;
  /// Step 3, right before the log gets the transaction: its entry will end at `log_end` of the worker's ring, and it is decided
  /// when the ring has come so far (I8).
  virtual void decide(record::TidWord tid, std::uint64_t log_end) = 0;
  /// It was not, in a region that was in vain, and nothing else has been logged since.
  virtual void take_back_decision() = 0;
  /// Step 4, once the log has the transaction (I8): writes back and frees (I5); then the completion mark. What was written may still be under way
  /// when it returns (txn::RemoteAccess::under_way).
  virtual void write_back(record::TidWord tid) = 0;
  /// Frees what lock() took; nothing has changed.
  virtual void release() = 0;
};

}  // namespace granary::cc
