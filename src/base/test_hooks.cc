#include "src/base/test_hooks.h"

#include <array>
#include <atomic>
#include <utility>

#include "src/base/region_mark.h"

namespace granary::base {
namespace {

struct NamedBug {
  Bug bug;
  std::string_view name;
};

constexpr std::array kBugs = {
    NamedBug{Bug::kSkipReadValidation, "skip-read-validation"},
    NamedBug{Bug::kSkipOwnLockCheck, "skip-own-lock-check"},
    NamedBug{Bug::kSkipNodeValidation, "skip-node-validation"},
    NamedBug{Bug::kReadDataBeforeVersion, "read-data-before-version"},
    NamedBug{Bug::kUnlockWithoutNewTid, "unlock-without-new-tid"},
    NamedBug{Bug::kInstallBeforeLocks, "install-before-locks"},
    NamedBug{Bug::kIgnoreObservedTids, "ignore-observed-tids"},
    NamedBug{Bug::kSnapshotReadsNext, "snapshot-reads-next"},
    NamedBug{Bug::kOverwriteSnapshot, "overwrite-snapshot"},
    NamedBug{Bug::kFreeTooEarly, "free-too-early"},
    NamedBug{Bug::kUnhookChanged, "unhook-changed"},
    NamedBug{Bug::kInsertKeepsVersion, "insert-keeps-version"},
    NamedBug{Bug::kHalfCopy, "half-copy"},
    NamedBug{Bug::kRegionOverwritesUnseen, "region-overwrites-unseen"},
    NamedBug{Bug::kRegionIgnoresEpoch, "region-ignores-epoch"},
    NamedBug{Bug::kWaitInRegion, "wait-in-region"},
    NamedBug{Bug::kAckBeforeSync, "ack-before-sync"},
    NamedBug{Bug::kIgnoreSyncError, "ignore-sync-error"},
    NamedBug{Bug::kGiveRoomBeforeSync, "give-room-before-sync"},
    NamedBug{Bug::kIgnoreRingPosition, "ignore-ring-position"},
    NamedBug{Bug::kIgnoreFirstSegment, "ignore-first-segment"},
    NamedBug{Bug::kIgnoreNextSegment, "ignore-next-segment"},
    NamedBug{Bug::kDurableIsGreatest, "durable-is-greatest"},
    NamedBug{Bug::kReplayAnyOrder, "replay-any-order"},
    NamedBug{Bug::kReplayPastDurable, "replay-past-durable"},
    NamedBug{Bug::kSkipChecksum, "skip-checksum"},
    NamedBug{Bug::kOneLineVersion, "one-line-version"},
    NamedBug{Bug::kOwnerIgnoresState, "owner-ignores-state"},
    NamedBug{Bug::kOwnerLooksOnce, "owner-looks-once"},
    NamedBug{Bug::kOwnerTidBeforeState, "owner-tid-before-state"},
    NamedBug{Bug::kReadIgnoresLateLock, "read-ignores-late-lock"},
    NamedBug{Bug::kUnhookKeepsIncarnation, "unhook-keeps-incarnation"},
    NamedBug{Bug::kReuseStoresState, "reuse-stores-state"},
    NamedBug{Bug::kSkipDirectorySync, "skip-directory-sync"},
    NamedBug{Bug::kSleepWithoutLook, "sleep-without-look"},
    NamedBug{Bug::kRingByEarlierLook, "ring-by-earlier-look"},
    NamedBug{Bug::kWriteIgnoresFence, "write-ignores-fence"},
    NamedBug{Bug::kCompletionBeforeEffect, "completion-before-effect"},
    NamedBug{Bug::kTornHeaderRead, "torn-header-read"},
    NamedBug{Bug::kBrokenGoesOn, "broken-goes-on"},
    NamedBug{Bug::kSkipRemoteChecksum, "skip-remote-checksum"},
    NamedBug{Bug::kIgnoreIncarnation, "ignore-incarnation"},
    NamedBug{Bug::kUnlockBeforeWriteBack, "unlock-before-write-back"},
    NamedBug{Bug::kHeaderBeforeLock, "header-before-lock"},
    NamedBug{Bug::kTidBeforeState, "tid-before-state"},
    NamedBug{Bug::kIgnoreLockBit, "ignore-lock-bit"},
    NamedBug{Bug::kResumeUnseen, "resume-unseen"},
    NamedBug{Bug::kAcceptTornBucket, "accept-torn-bucket"},
    NamedBug{Bug::kIgnoreClockError, "ignore-clock-error"},
    NamedBug{Bug::kIgnoreSoftTimeAge, "ignore-softtime-age"},
    NamedBug{Bug::kIgnoreClockJump, "ignore-clock-jump"},
    NamedBug{Bug::kTrustAnyLeaseEnd, "trust-any-lease-end"},
    NamedBug{Bug::kHonourExpiredLease, "honour-expired-lease"},
    NamedBug{Bug::kOwnerIgnoresLease, "owner-ignores-lease"},
    NamedBug{Bug::kLeaseIgnoresLockBit, "lease-ignores-lock-bit"},
    NamedBug{Bug::kFenceMovesLate, "fence-moves-late"},
    NamedBug{Bug::kFenceStaysOpen, "fence-stays-open"},
    NamedBug{Bug::kFenceExtendedByRead, "fence-extended-by-read"},
    NamedBug{Bug::kDeathBeforeFence, "death-before-fence"},
    NamedBug{Bug::kFenceBeforeLastWait, "fence-before-last-wait"},
    NamedBug{Bug::kFenceIgnoresVerdict, "fence-ignores-verdict"},
    NamedBug{Bug::kCondemnAnyBeat, "condemn-any-beat"},
    NamedBug{Bug::kCountOwnStandstill, "count-own-standstill"},
    NamedBug{Bug::kChangeAnyVersion, "change-any-version"},
    NamedBug{Bug::kAdvanceUnseen, "advance-unseen"},
    NamedBug{Bug::kAdvanceUnfinished, "advance-unfinished"},
    NamedBug{Bug::kJoinFromOwnEpoch, "join-from-own-epoch"},
    NamedBug{Bug::kSkipRemoteValidation, "skip-remote-validation"},
    NamedBug{Bug::kSkipRemoteNodes, "skip-remote-nodes"},
    NamedBug{Bug::kSkipEpochWait, "skip-epoch-wait"},
    NamedBug{Bug::kEpochBeforeLocks, "epoch-before-locks"},
    NamedBug{Bug::kLogAfterWriteBack, "log-after-write-back"},
    NamedBug{Bug::kNameAfterLock, "name-after-lock"},
    NamedBug{Bug::kMarkBeforeWriteBack, "mark-before-write-back"},
    NamedBug{Bug::kEnterWithoutLook, "enter-without-look"},
    NamedBug{Bug::kLeaveBeforeCommit, "leave-before-commit"},
};

// Written by the test before it starts threads; relaxed suffices.
std::atomic<Bug> current_bug{Bug::kNone};
thread_local SyncHook sync_hook;
SyncHook process_sync_hook;  // written before there are threads that read it

}  // namespace

Bug injected_bug() { return current_bug.load(std::memory_order_relaxed); }
void inject_bug(Bug bug) { current_bug.store(bug, std::memory_order_relaxed); }

Bug bug_by_name(std::string_view name) {
  for (const NamedBug& entry : kBugs) {
    if (entry.name == name) return entry.bug;
  }
  return Bug::kNone;
}

std::string_view name(Bug bug) {
  for (const NamedBug& entry : kBugs) {
    if (entry.bug == bug) return entry.name;
  }
  return "none";
}

std::vector<Bug> all_bugs() {
  std::vector<Bug> all;
  for (const NamedBug& entry : kBugs) all.push_back(entry.bug);
  return all;
}

void set_sync_hook(SyncHook hook) { sync_hook = std::move(hook); }
void set_process_sync_hook(SyncHook hook) { process_sync_hook = std::move(hook); }
void run_sync_hook(std::string_view point) {
  const SyncHook& hook = sync_hook ? sync_hook : process_sync_hook;
  if (!hook) return;
  const RegionPause another_thread_could_do_this;
  hook(point);
}

}  // namespace granary::base
