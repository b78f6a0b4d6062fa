#pragma once
// This node's part of a transaction below serializable: snapshot isolation and repeatable read (TicToc, SIGMOD 2016, section 5.4), for all
// protocols. The order of the commit stays, and so does what a write needs; only what is asked of the reads is less.

#include <algorithm>
#include <vector>

#include "src/base/test_hooks.h"
#include "src/cc/here/here.h"

namespace granary::cc {

/// Whether each claimed record is as the transaction has read it, if it has.
inline AbortReason check_claimed_reads(const AccessSet& access) {
  if (base::injected("repeatable-read-loses-updates")) return AbortReason::kNone;
  const Claims claims(access.locks);
  for (const ReadEntry& read : access.reads) {
    if (claims.has(read.record) && record::unlocked(read.record->tid()) != read.tid) return AbortReason::kReadChanged;
  }
  return AbortReason::kNone;
}

/// Whether no key was read in two versions. A record that is no longer its key's may have been read again under its new address, which
/// cannot be told from here, so it counts as changed.
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

/// Repeatable read: what is read and written has not changed in between, and what is only read is not looked at again.
template <Protocol P>
class RepeatableReadHere : public Here<P> {
 public:
  using Here<P>::Here;
  AbortReason validate(epoch::Epoch) const {
    if (const AbortReason no = check_claimed_reads(this->access_); failed(no)) return no;
    return check_read_again(this->access_);
  }
};

/// Snapshot isolation. The reads hold at a moment before the claims, and what is claimed has not changed since.
///
/// The words are noted before the reads are checked, and compared behind the claims. So an equal word was the record's at the moment when
/// the reads held, and nobody else has installed anything until this transaction does. A holder that was on its way at that moment
/// either gave back the word unchanged, or has put a new one there.
template <Protocol P>
class SnapshotHere : public Here<P> {
 public:
  using Here<P>::Here;
  AbortReason lock() {
    std::vector<TidWord>& noted = this->worker_.planned_words;
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

/// Snapshot isolation with two times: the reads hold at one that is not before any version that will be overwritten, and the writes take
/// effect at the stamp, which may be later. So whoever has overwritten a record since its version was read makes that read fail.
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
