#pragma once
// Results of the hot path: what one operation did, and why a transaction aborted.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <granary/export.h>

namespace granary {

/// Tells what an operation of a transaction did. kNotFound and kAlreadyExists are facts that commit validates. Only kOk
/// gives a value: with any other outcome a buffer or string that was to be filled means nothing, unless the call was
/// refused before it looked for the key; then it is as it was.
enum class [[nodiscard]] Outcome : std::uint8_t {
  kOk,
  kNotFound,       ///< get, update, remove: no record has this key
  kAlreadyExists,  ///< insert: a record has this key
  kAborted,        ///< the transaction is doomed; commit() or abort() ends it and tells the reason
  kFinished,       ///< the transaction was already committed or aborted
  /// The transaction belongs to a worker that another thread uses, or to the process of which this one is a fork, or
  /// was not begun by the body that uses it now (Worker::run_many, Worker::run_together, ClusterWorker::run_together).
  kWrongThread,
  kKeyTooLong,  ///< the key exceeds kMaxKeyBytes
  /// The value exceeds kMaxValueBytes, or the table's declared maximum; of another node's snapshot: it is too long for
  /// a message (256 KiB).
  kValueTooLarge,
  kBufferTooSmall,   ///< the caller's buffer is smaller than the value; its size is reported
  kOutOfMemory,      ///< the memory limit is reached; the transaction can still abort
  kUnknownTable,     ///< the table handle is empty or belongs to another database
  kTooManyAccesses,  ///< the transaction holds kMaxAccesses operations
  kUnordered,        ///< a scan of a table with a hash index, which keeps no order
  /// A snapshot's key lives on a node that does not answer or does not keep what the snapshot sees, or a node that is
  /// dead held its record.
  kUnreachable,
  kBusy,       ///< a snapshot met a record of a shared table that another node held on to; try again
  kImmutable,  ///< a write to a table that is sealed (Database::seal), or to another node's keys of one that will be
  kPartBeyondValue,  ///< update_part: the part would reach beyond the value's end
};

/// Why a transaction did not commit. Counted per reason (Database::statistics()).
enum class [[nodiscard]] AbortReason : std::uint8_t {
  kNone,            ///< committed
  kUser,            ///< the application called abort(), or dropped the transaction
  kReadChanged,     ///< a record that was read has a newer TID (Silo 4.4, phase 2)
  kReadLocked,      ///< a record that was read is locked by another transaction at validation
  kNodeChanged,     ///< a scanned or missed key range changed: a phantom (Silo 4.6)
  kWriteLocked,     ///< a record to write stayed locked by another transaction (bounded wait)
  kRecordBusy,      ///< a record to read stayed locked during execution (bounded wait)
  kRecordReplaced,  ///< a record to write was unhooked or moved before it could be locked
  /// Open for more than the limit of epochs (Options::max_open_epochs); Worker::run() gives up after ten in a row.
  kOpenTooLong,
  /// The memory limit was reached while installing or inserting: this node's, or that of another one whose records are
  /// written. Or the system had no memory for a write, or for an operation on keys of other nodes.
  kOutOfMemory,
  kUniqueViolation,  ///< a unique secondary index already holds the key
  kTidsUsedUp,       ///< the epoch has no greater TID left (I1); the next epoch, milliseconds later, has
  /// E has come to the last epoch there can be, 2^34 (21 years of 40 ms): nothing is written any more, reads go on
  kEpochsUsedUp,
  /// What it writes, or locks elsewhere, does not fit into the worker's log ring (Options::ring_bytes).
  kLogEntryTooLarge,
  kLogFailed,       ///< the log could not be written: nothing commits any more, reads go on (Database::log_status())
  kRemotelyLocked,  ///< a record of a shared table, to be written, stayed locked by another node (bounded wait)
  // Of transactions across nodes.
  /// A node that the transaction needs does not answer: it is dead, or cut off; or it was holding a record when it
  /// died, which stays locked until it is recovered.
  kNodeUnreachable,
  /// The same, but the node's recovery is under way, or it is on its way back, or has just come back: what needs it
  /// goes on once it serves again.
  kNodeRecovering,
  /// A message to another node would be too long: too many keys declared of a table that is scanned, or an ordered
  /// table has several keys next to each other that share some 50 KiB.
  kMessageTooLarge,
  kTooMuchUndelivered,  ///< the worker has left too much locked at nodes that it cannot reach; first that is given back
  kEpochsApart,         ///< the nodes did not reach the transaction's epoch in time (bounded wait)
  kLeaseExpired,        ///< a lease on a record of another node ran out before the transaction had ended
  kConfigurationChanged,  ///< a node joined or left before the commit
  /// This node may not commit anything: it is no longer a member of its cluster, or has not heard from ZooKeeper for
  /// too long to know whether it is (Cluster::status() tells which).
  kMembershipLost,
  /// commit() of a transaction that had ended, or from another thread or body, or in a child of a fork; or a call with
  /// an empty worker or procedure, of a worker with kMaxOpenTransactions open, or with an isolation that is none. This
  /// call has done nothing. Or commit() by a piece of a chain (procedure.h): that piece has done nothing. Or an
  /// operation on a key whose home by the table's placement is no node of the cluster file.
  kMisuse,
  /// Another open transaction of the same worker holds a lock that this one needs, and keeps it while this one waits:
  /// under two-phase locking, or of another node by Transaction::declare(); end that one first.
  kLockedByOwnWorker,
  /// This node's buffers for records of other nodes, which are no part of the memory limit, have no room for those of
  /// the transaction. They have 4 MiB for each of 2 × workers + 3, and all of the node's transactions share them.
  kBuffersUsedUp,
};
inline constexpr std::size_t kAbortReasons = 27;

/// Short lower-case name for tables and JSON, e.g. "read_changed".
GRANARY_EXPORT std::string_view name(AbortReason reason);
/// One sentence: what happened and what usually helps.
GRANARY_EXPORT std::string_view meaning(AbortReason reason);
/// Short lower-case name, e.g. "not_found".
GRANARY_EXPORT std::string_view name(Outcome outcome);

/// True for aborts that a retry can mend (conflicts, and kNodeRecovering, which may take a while); false for kNone,
/// kUser, kOutOfMemory, kUniqueViolation, kEpochsUsedUp, kLogEntryTooLarge, kLogFailed, kNodeUnreachable,
/// kMessageTooLarge, kTooMuchUndelivered, kMembershipLost, kMisuse, kLockedByOwnWorker and kBuffersUsedUp. A retry
/// mends kOpenTooLong only if the transaction was held up by accident.
GRANARY_EXPORT bool is_retryable(AbortReason reason);

}  // namespace granary
