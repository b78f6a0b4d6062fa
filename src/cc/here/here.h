#pragma once
// Makes this node a participant of a commit, with locks (Silo 4.4, Figure 2): `Here` for transactions that write,
// `ReadHere` for those that only read. Also the validation of the read set and the node set (I14), which other
// participants share.

#include <algorithm>
#include <vector>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/garbage.h"
#include "src/cc/participant.h"
#include "src/cc/protocol.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Whether every leaf and bucket in the node set has the version that was seen (Silo 4.6).
inline AbortReason validate_nodes(const AccessSet& access) {
  if (base::injected("skip-node-validation")) return AbortReason::kNone;
  for (const NodeSet<IndexNode>::Seen& seen : access.nodes) {
    if (!seen.place.unchanged(seen.version)) return AbortReason::kNodeChanged;
  }
  return AbortReason::kNone;
}

/// Validates reads of local and shared records. A function by itself, so that the code for transactions that read local
/// records only stays short.
template <ReachesShared P>
[[gnu::noinline]] AbortReason validate_reads_of_both_kinds(const AccessSet& access, const Moment& moment,
                                                           const WorkerState& worker) {
  const Claims claims(access.locks);
  for (const ReadEntry& read : access.reads) {
    const AbortReason reason = record::is_shared(read.record) ? P::check_shared(read, claims, moment, worker)
                                                              : P::check_local(read, claims, moment, worker);
    if (failed(reason)) return reason;
  }
  return AbortReason::kNone;
}

template <Protocol P>
AbortReason validate_reads(const AccessSet& access, const Moment& moment, const WorkerState& worker) {
  if (base::injected("skip-read-validation")) return AbortReason::kNone;
  const Claims claims(access.locks);
  for (const ReadEntry& read : access.reads) {
    if constexpr (ReachesShared<P>) {
      if (record::is_shared(read.record)) [[unlikely]]
        return validate_reads_of_both_kinds<P>(access, moment, worker);
    }
    const AbortReason reason = P::check_local(read, claims, moment, worker);
    if (failed(reason)) [[unlikely]]
      return reason;
  }
  return AbortReason::kNone;
}

/// Validates the read set and the node set at the moment.
template <Protocol P>
AbortReason validate(const AccessSet& access, const Moment& moment, WorkerState& worker) {
  if (const AbortReason no = validate_reads<P>(access, moment, worker); failed(no)) [[unlikely]]
    return no;
  if constexpr (StampsReads<P>) {
    if (!access.nodes.empty()) P::announce_miss_time(access, worker, moment);
  }
  return validate_nodes(access);
}

/// Returns the moment at which the transaction would commit now if it only read. `epoch` is E.
template <Protocol P>
Moment moment_of_reads(const AccessSet& access, epoch::Epoch epoch) {
  if constexpr (StampsReads<P>) return {.epoch = epoch, .stamp = P::stamp_reads(access)};
  return {.epoch = epoch};
}

/// The participant for a transaction that writes nothing at any node. It claims nothing.
template <Protocol P>
class ReadHere {
 public:
  static constexpr bool kWrites = false;
  static constexpr bool kStampsFirst = P::kStampsFirst;
  static constexpr CommitPoints points(bool across) {
    return across ? CommitPoints{.validated = "across.validated"}
                  : CommitPoints{.locked = "commit.locked", .validated = "commit.validated"};
  }

  ReadHere(const AccessSet& access, WorkerState& worker) : access_(access), worker_(worker) {}

  static constexpr AbortReason lock() { return AbortReason::kNone; }
  AbortReason validate(epoch::Epoch epoch) const {
    return cc::validate<P>(access_, {.epoch = epoch, .stamp = stamp_}, worker_);
  }
  /// `remote_bound`: the least time that the reads at other nodes allow.
  AbortReason stamp(epoch::Epoch epoch, TidWord remote_bound) {
    stamp_ = std::max(moment_of_reads<P>(access_, epoch).stamp, remote_bound);
    if constexpr (StampsReads<P>) {
      if (!base::injected("tictoc-session-ignores-reads")) stamp_ = std::max(stamp_, P::session_time(worker_));
    }
    return AbortReason::kNone;
  }
  /// Notes the time for the worker's later transactions. Called after the validation, under a protocol with stamps.
  void note_time() { P::note_read_time(worker_, stamp_); }
  TidWord read_time() const { return stamp_; }
  /// Returns the epoch that has to be durable before the result of a transaction with a stamp may be shown. A missed
  /// key may have been removed lately. While its record is in the index, the removal is among the reads. After that,
  /// unhooked_up_to() bounds the epoch of the removal; it is loaded after the miss, and only grows. The bound is before
  /// the transaction's e_w, so the reads hold in that epoch, too. (For misses at other nodes see
  /// RemoteCommit::least_time.)
  epoch::Epoch epoch_of_reads() const {
    const bool missed = !access_.nodes.empty() && !base::injected("tictoc-shows-removals-early");
    const epoch::Epoch removed = missed ? unhooked_up_to(worker_.shared) : 0;
    return std::max({record::epoch_of(stamp_), removed, epoch::Epoch{1}});
  }
  static constexpr TidWord tid() { return 0; }
  static constexpr AbortReason prepare(epoch::Epoch) { return AbortReason::kNone; }
  static constexpr AbortReason install(Decision&) { return AbortReason::kNone; }
  static constexpr void release() {}

 private:
  const AccessSet& access_;
  WorkerState& worker_;
  TidWord stamp_ = 0;
};

/// The participant for a transaction that writes, here or at another node.
template <Protocol P>
class Here {
 public:
  static constexpr bool kWrites = true;
  static constexpr bool kStampsFirst = P::kStampsFirst;
  static constexpr CommitPoints points(bool across) {
    return across ? CommitPoints{.locked = "",
                                 .validated = "across.validated",
                                 .prepared = "across.prepared",
                                 .logged = "across.logged",
                                 .installed = "across.installed",
                                 .written_back = "across.written_back"}
                  : CommitPoints{.locked = "commit.locked",
                                 .validated = "commit.validated",
                                 .prepared = "commit.prepared",
                                 .logged = "commit.logged",
                                 .installed = "commit.installed",
                                 .written_back = ""};
  }

  Here(AccessSet& access, WorkerState& worker) : access_(access), worker_(worker) {}

  // lock() and install() are always inlined. The three kinds of commits that take these steps (protocols.h) would
  // otherwise share one copy of each, and the calls cost a transaction that writes some 80 instructions.

  /// Claims the records to write in the order of their addresses, so that transactions which wait for each other's
  /// claims never form a cycle. Two-phase locking also holds locks from before the commit, and prevents cycles by
  /// itself. If a claim fails, all are given back.
  [[gnu::always_inline]] AbortReason lock() {
    if (base::injected("install-before-locks")) install_unlocked();
    if constexpr (StampsReads<P>) {
      if (const AbortReason no = P::reason_to_give_up_early(access_, worker_); failed(no)) return no;
    }
    std::vector<LockEntry>& locks = access_.locks;
    for (WriteEntry& write : writes()) locks.push_back({write.record, &write});
    if (locks.size() > 1)
      std::sort(locks.begin(), locks.end(), [](const LockEntry& a, const LockEntry& b) { return a.record < b.record; });
    if (const AbortReason no = claim_all_in_turns(); failed(no)) [[unlikely]]
      return no;
    // Claims searches the locks by address, so they must be sorted, each record once.
    base::debug_invariant("I14", [&] {
      const auto wrong = [](const LockEntry& a, const LockEntry& b) { return a.record >= b.record; };
      return std::adjacent_find(locks.begin(), locks.end(), wrong) == locks.end();
    });
    return AbortReason::kNone;
  }
  AbortReason validate(epoch::Epoch epoch) const {
    return cc::validate<P>(access_, {.epoch = epoch, .stamp = tid_}, worker_);
  }
  AbortReason stamp(epoch::Epoch epoch, TidWord remote_bound) {
    tid_ = P::stamp(access_, worker_, epoch, remote_bound);
    return tid_ == 0 ? P::reason_for_no_stamp(epoch) : AbortReason::kNone;
  }
  TidWord read_time() const { return tid_; }
  TidWord tid() const { return tid_; }
  AbortReason prepare(epoch::Epoch epoch) {
    const epoch::Epoch period = worker_.shared.epochs.snap(epoch);
    for (WriteEntry& write : writes()) {
      ++prepared_;
      if (!P::prepare(write, worker_, period)) [[unlikely]]
        return AbortReason::kOutOfMemory;
    }
    return AbortReason::kNone;
  }
  [[gnu::always_inline]] AbortReason install(Decision& decision) {
    const CommitPoints at = points(decision.across_nodes());
    decision.publish();
    stop_at(at.logged);
    const epoch::Epoch period = worker_.shared.epochs.snap(record::epoch_of(tid_));
    base::debug_invariant("I8", [&] { return worker_.last_tid >= tid_; });
    for (WriteEntry& write : writes()) P::install(write, worker_, tid_, period);
    stop_at(at.installed);
    return AbortReason::kNone;
  }
  void release() {
    for (std::size_t i = 0; i < prepared_; ++i) P::unprepare(writes()[i], worker_);
    give_back(access_.locks.size());
  }

 protected:
  AccessSet& access_;
  WorkerState& worker_;

 private:
  std::vector<WriteEntry>& writes() { return access_.writes.entries(); }
  void give_back(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) P::give_back(*access_.locks[i].record);
  }

  [[gnu::always_inline]] AbortReason claim_all() {
    const std::vector<LockEntry>& locks = access_.locks;
    for (std::size_t i = 0; i < locks.size(); ++i) {
      const AbortReason reason = P::claim(*locks[i].record, worker_, access_);
      if (failed(reason)) [[unlikely]] {
        give_back(i);
        return reason;
      }
      base::sync_point("commit.locked_one");
    }
    return AbortReason::kNone;
  }
  [[gnu::always_inline]] AbortReason claim_all_in_turns() {
    AbortReason reason = claim_all();
    if constexpr (StampsReads<P>) {
      for (std::uint32_t turn = 0; failed(reason) && P::claims_again(reason, worker_, turn); ++turn) {
        worker_.waiter->pause(turn);
        reason = claim_all();
      }
    }
    return reason;
  }

  /// An injected bug: makes the first write visible before any lock is held.
  void install_unlocked() {
    if (writes().empty() || writes().front().remove || writes().front().is_part()) return;
    WriteEntry& write = writes().front();
    if (write.value.size() <= write.record->size())
      base::copy_to_shared(write.record->value_words(), write.value.data(), write.value.size());
  }

  TidWord tid_ = 0;
  std::size_t prepared_ = 0;  // writes
};

}  // namespace granary::cc
