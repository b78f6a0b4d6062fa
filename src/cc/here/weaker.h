#pragma once
// Makes this node a participant in the commit of a transaction below serializable: under snapshot isolation or
// repeatable read (TicToc, SIGMOD 2016, section 5.4), for all protocols. The order of the commit and all that concerns
// writes is that of `Here`. These participants ask less of the reads.

#include <algorithm>
#include <vector>

#include "src/base/test_hooks.h"
#include "src/cc/here/here.h"

namespace granary::cc {

/// Whether each claimed record that the transaction has also read still has the version that it read.
inline AbortReason check_claimed_reads(const AccessSet& access) {
  if (base::injected("repeatable-read-loses-updates")) return AbortReason::kNone;
  const Claims claims(access.locks);
  for (const ReadEntry& read : access.reads) {
    if (claims.has(read.record) && record::unlocked(read.record->tid()) != read.tid) return AbortReason::kReadChanged;
  }
  return AbortReason::kNone;
}

/// Whether no record was read in two versions. A record that is not the latest any more counts as changed: its key may
/// have been read again as another record, which cannot be told from the read set. Sorts the read set.
inline AbortReason check_read_again(AccessSet& access) {
  if (base::injected("unrepeatable-read")) return AbortReason::kNone;
  std::vector<ReadEntry>& reads = access.reads;
  std::sort(reads.begin(), reads.end(), [](const ReadEntry& a, const ReadEntry& b) { return a.record < b.record; });
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i > 0 && reads[i].record == reads[i - 1].record && reads[i].tid != reads[i - 1].tid)
      return AbortReason::kReadChanged;
    if (!record::is_latest(reads[i].record->tid())) return AbortReason::kReadChanged;
  }
  return AbortReason::kNone;
}

/// Repeatable read: a record that is read and written has not changed in between. A record that is only read may have
/// changed since, but was read in one version.
template <Protocol P>
class RepeatableReadHere : public Here<P> {
 public:
  using Here<P>::Here;
  AbortReason validate(epoch::Epoch) const {
    if (const AbortReason no = check_claimed_reads(this->access_); failed(no)) return no;
    return check_read_again(this->access_);
  }
};

/// Snapshot isolation for protocols without times. The reads hold at one moment before the claims, and the records to
/// write have not changed since that moment.
///
/// Order: lock() notes the TID words of the records to write, validates the reads, claims the records, and compares the
/// words. TID words never come back (I1). So a record whose word is equal had that word at the moment when the reads
/// held, and no version has been installed since. If another transaction held the record at that moment, it gave the
/// record back unchanged; otherwise the word is another one now.
template <Protocol P>
class SnapshotHere : public Here<P> {
 public:
  using Here<P>::Here;
  AbortReason lock() {
    std::vector<TidWord>& noted = this->access_.planned_words;
    noted.clear();
    const std::vector<WriteEntry>& writes = this->access_.writes.entries();
    for (const WriteEntry& write : writes) noted.push_back(record::unlocked(write.record->tid()));
    if (!base::injected("snapshot-reads-unchecked")) {
      const epoch::Epoch epoch = this->worker_.shared.epochs.current();
      const AbortReason no = cc::validate<P>(this->access_, moment_of_reads<P>(this->access_, epoch), this->worker_);
      if (failed(no)) return no;
    }
    base::sync_point("snapshot.reads_checked");
    if (const AbortReason no = Here<P>::lock(); failed(no)) return no;
    if (base::injected("snapshot-loses-updates")) return AbortReason::kNone;
    for (std::size_t i = 0; i < writes.size(); ++i) {
      if (record::unlocked(writes[i].record->tid()) == noted[i]) continue;
      this->release();
      return AbortReason::kReadChanged;
    }
    return AbortReason::kNone;
  }
  AbortReason validate(epoch::Epoch) const { return AbortReason::kNone; }
};

/// Snapshot isolation for protocols with times. The reads hold at one time, which is not before any version that will
/// be overwritten. The writes take effect at the stamp, which may be later. So if somebody has overwritten a record
/// since the transaction read it, and the transaction overwrites it too, its read fails at that time: no update is
/// lost.
template <StampsReads P>
class TimedSnapshotHere : public Here<P> {
 public:
  using Here<P>::Here;
  AbortReason validate(epoch::Epoch epoch) const {
    if (base::injected("snapshot-reads-unchecked")) return AbortReason::kNone;
    TidWord reads_at = P::stamp_reads(this->access_);
    if (!base::injected("snapshot-loses-updates")) {
      for (const LockEntry& lock : this->access_.locks)
        reads_at = std::max(reads_at, record::tid_of(lock.record->tid(std::memory_order_relaxed)));
    }
    return cc::validate<P>(this->access_, {.epoch = epoch, .stamp = reads_at}, this->worker_);
  }
};

}  // namespace granary::cc
