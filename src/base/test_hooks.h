#pragma once
// What only test builds have: bugs that can be switched on by name, to see that the tests notice, and sync
// points, to force an interleaving. In other builds every call here is a constant and vanishes.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace granary::base {

/// True in builds with -DGRANARY_TEST_HOOKS=ON.
inline constexpr bool kTestHooks = GRANARY_TEST_HOOKS;

/// Mistakes one could make in this code; each must be caught by the test suite (docs/testing.md).
enum class Bug : std::uint8_t {
  kNone,
  kSkipReadValidation,      ///< commit does not compare the TIDs it read
  kSkipOwnLockCheck,        ///< validation takes a record locked by another transaction as unchanged
  kSkipNodeValidation,      ///< commit does not check the node set: phantoms
  kReadDataBeforeVersion,   ///< a read copies the value before it loads the TID word, and does not check again
  kUnlockWithoutNewTid,     ///< a committed write leaves the old TID
  kInstallBeforeLocks,      ///< a write becomes visible before all locks are taken
  kIgnoreObservedTids,      ///< the new TID is not greater than those read
  kSnapshotReadsNext,       ///< a snapshot sees one snapshot period too much
  kOverwriteSnapshot,       ///< an old version that a snapshot needs is overwritten
  kFreeTooEarly,            ///< garbage is freed without waiting for its reclamation epoch
  kUnhookChanged,           ///< an absent record is unhooked although it was born again
  kInsertKeepsVersion,      ///< an insert into a leaf does not change its version
  kHalfCopy,                ///< a read copies only the first cache line
  kRegionOverwritesUnseen,  ///< a commit in an HTM region does not look at what it overwrites
  kRegionIgnoresEpoch,      ///< nor whether E is still the epoch of its TID
  kWaitInRegion,            ///< it waits there (I6)
  kAckBeforeSync,           ///< the durable epoch is published before the log is synced
  kIgnoreSyncError,         ///< a failed sync counts as done
  kGiveRoomBeforeSync,      ///< a ring's bytes may be written over once they are in the log file, synced or not
  kIgnoreRingPosition,      ///< recovery does not look whether the log is there up to where a ring goes on
  kIgnoreFirstSegment,      ///< nor whether the first segments are those that the manifest names
  kIgnoreNextSegment,       ///< nor whether the segment is there in which another says that the log goes on
  kDurableIsGreatest,       ///< D is the greatest of what the loggers have, not the least
  kReplayAnyOrder,          ///< recovery does not compare TIDs: the last one replayed wins
  kReplayPastDurable,       ///< recovery replays epochs that were not durable everywhere
  kSkipChecksum,            ///< recovery does not check the entries' checksums
  kOneLineVersion,          ///< a change in a hash bucket is marked in the bucket's first line only
  kOwnerIgnoresState,       ///< the owner of a shared record does not look whether another node holds it (I2)
  kOwnerLooksOnce,          ///< nor whether its lock bit is still there after that
  kOwnerTidBeforeState,     ///< validation loads the TID word of a shared record before the state
  kReadIgnoresLateLock,     ///< a read of a shared record does not look at the state after the copy
  kUnhookKeepsIncarnation,  ///< an unhooked record keeps its incarnation
  kReuseStoresState,        ///< a reused block gets a new state word
  kSkipDirectorySync,       ///< created and renamed files are not made durable in their directory
  kSleepWithoutLook,        ///< a worker that has said it sleeps does not look once more
  kRingByEarlierLook,       ///< a sender rings by a READ from before its message
  kWriteIgnoresFence,       ///< a fenced WRITE overtakes READs and atomics
  kCompletionBeforeEffect,  ///< a chain completes before its operations took effect
  kTornHeaderRead,          ///< a READ within a line loads words at different moments
  kBrokenGoesOn,            ///< what a broken connection has under way happens after its successor is there
  kSkipRemoteChecksum,      ///< what is READ of another node's record is taken as whole
  kIgnoreIncarnation,       ///< it may be another record with the same key, in the same place
  kUnlockBeforeWriteBack,   ///< the WRITE of the state word goes before that of the version
  kHeaderBeforeLock,        ///< the header is READ before the CAS that x-locks the record
  kTidBeforeState,          ///< the TID word is READ before the state word
  kIgnoreLockBit,           ///< a lock bit that is there when the x-lock was taken is taken for one that will go
  kResumeUnseen,            ///< after a lost connection an x-lock counts as held without a look at the state word
  kSkipRemoteValidation,    ///< a transaction does not look again at records that it READ on other nodes
  kSkipRemoteNodes,         ///< nor at the leaves and buckets there
  kSkipEpochWait,           ///< it does not wait until its participants have reached its epoch
  kEpochBeforeLocks,        ///< it READs their E before its locks
  kLogAfterWriteBack,       ///< it is logged only when all of its writes are there (I8)
  kNameAfterLock,           ///< the lock-ahead record names x-locks only when they have been taken (I10)
  kMarkBeforeWriteBack,     ///< the completion mark is there before they have been given back
  kAcceptTornBucket,        ///< a remote lookup does not compare the versions of a bucket's lines
  kIgnoreClockError,        ///< leases are judged by the raw clock (I9)
  kIgnoreSoftTimeAge,       ///< a softtime that was not refreshed counts on
  kIgnoreClockJump,         ///< the clock is believed right after it has jumped
  kTrustAnyLeaseEnd,        ///< a lease is shared however far ahead its end is, as others take it for over
  kHonourExpiredLease,      ///< a lease counts as valid past its end
  kOwnerIgnoresLease,       ///< the owner changes a record under a lease of another node
  kLeaseIgnoresLockBit,     ///< a lease does not wait for the owner's lock bit to go
  kFenceMovesLate,          ///< a member tells of a configuration before its fence has moved to it (I11)
  kFenceStaysOpen,          ///< the fence does not close when the membership is lost
  kFenceExtendedByRead,     ///< what a ZooKeeper server answers from its memory keeps the fence open
  kDeathBeforeFence,        ///< a member counts as dead as soon as its mark is missed, when its fence may still be open
  kFenceBeforeLastWait,     ///< a commit does not ask for its node's right behind the last wait
  kFenceIgnoresVerdict,     ///< a node that others have condemned commits until its own threads have seen it
  kCondemnAnyBeat,          ///< a node is condemned that has beaten meanwhile
  kCountOwnStandstill,      ///< what passes while the watcher stands still counts as silence of others
  kChangeAnyVersion,        ///< a change to the configuration does not look whether it is still the one that was seen
  kAdvanceUnseen,           ///< the leader advances E without a look at the nodes' open transactions
  kAdvanceUnfinished,       ///< nor does it wait for nodes where E is not there yet
  kJoinFromOwnEpoch,        ///< a node that joins serves with the E that it came with
  kEnterWithoutLook,        ///< a transaction does not read E again when it has published its e_w (I13)
  kLeaveBeforeCommit,       ///< its e_w ends when its commit begins
};

/// The bug that is switched on in this process; kNone unless a test chose one.
Bug injected_bug();
void inject_bug(Bug bug);
/// The bug with this name ("skip-read-validation", ...), or kNone.
Bug bug_by_name(std::string_view name);
std::string_view name(Bug bug);
/// All of them, without kNone.
std::vector<Bug> all_bugs();

inline bool injected([[maybe_unused]] Bug bug) {
  if constexpr (kTestHooks) {
    return injected_bug() == bug;
  } else {
    return false;
  }
}

/// Called at sync points of test builds; may block, run another transaction, or do nothing.
using SyncHook = std::function<void(std::string_view point)>;
/// Installs a hook for the calling thread (empty: none).
void set_sync_hook(SyncHook hook);
/// Installs a hook for threads without one of their own, those of a database included. Before they start; called by all.
void set_process_sync_hook(SyncHook hook);
void run_sync_hook(std::string_view point);

/// A named place where a test may stop this thread.
inline void sync_point([[maybe_unused]] std::string_view point) {
  if constexpr (kTestHooks) run_sync_hook(point);
}

}  // namespace granary::base
