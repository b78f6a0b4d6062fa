#pragma once
// Manages epochs (Silo 4.1, 4.8, 4.9): the global epoch E, each open transaction's e_w, snapshot epochs, and the epochs
// up to which garbage may be freed.
//
// I13: an open transaction's e_w is set as "store E, full fence, read E again, repeat if it changed", so
// E can be at most e_w + 1 while it is open. The full fence is the advancer's: before it reads the e_w
// words it makes every running thread of the process pass a full fence (membarrier). Either the
// worker's store comes before that fence and the advancer sees it, or the worker's second read of E
// comes after and sees the advancer's newest E. Where the system has no membarrier the worker fences itself.
//
// In a cluster, only the leader advances E, once every node's published min e_w is E (I7). So the nodes' epochs differ
// by at most 1, and no transaction that is open anywhere has an e_w below E - 1, whichever node's E is taken.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <granary/limits.h>
#include <granary/options.h>

#include "src/base/cache_line.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/epoch/control_block.h"

namespace granary::epoch {

/// The e_w of a slot with no open transaction.
inline constexpr Epoch kIdle = ~Epoch{0};

/// The words that one open transaction (or one guard) publishes, in one cache line. The owner writes them, except for
/// `revoked`, which the advancer sets when the slot held E back for too long.
struct alignas(base::kCacheLine) Slot {
  std::atomic<Epoch> local{kIdle};     // e_w
  std::atomic<Epoch> snapshot{kIdle};  // se_w while a snapshot transaction is open
  std::atomic<Epoch> answer{kIdle};    // the epoch of another node's snapshot while this node answers for that snapshot
  std::atomic<Epoch> revoked{0};       // the e_w with which the slot held E back for too long; 0: it never did
  std::atomic<bool> taken{false};
};

struct EpochOptions {
  std::uint32_t snapshot_epochs = Options().snapshot_epochs;  ///< k: a snapshot every k epochs
  /// The number of ticks that a slot may hold E back before it is revoked; 0 = for ever.
  std::uint32_t max_open_epochs = Options().max_open_epochs;
  Epoch first_epoch = 1;  ///< E at the start; a recovered database begins after all epochs it ever used
  /// The block of a node of a cluster, in which the leader advances E: zeroed memory, which outlives the manager. A
  /// node alone gives none.
  ControlBlock* control = nullptr;
};

class EpochManager {
 public:
  explicit EpochManager(EpochOptions options);
  EpochManager(const EpochManager&) = delete;
  EpochManager& operator=(const EpochManager&) = delete;

  /// Each worker may have a slot for each of its open transactions, and one to collect garbage in. Other users need
  /// only a few.
  static constexpr std::size_t kMaxSlots = kMaxWorkers * (kMaxOpenTransactions + 1) + 64;

  /// Returns a slot, or nullptr when all are taken. Slots are never freed, only reused. Thread-safe.
  Slot* acquire_slot();
  void release_slot(Slot* slot);

  /// Returns E. tick() or the cluster's leader writes it (release). The load is an acquire load, so that the caller
  /// sees all that was done before the advance.
  Epoch current() const { return control_->by_leader.epoch.load(std::memory_order_acquire); }

  /// Returns the word that holds E, for HTM regions.
  const std::atomic<Epoch>& word() const { return control_->by_leader.epoch; }

  /// Returns the words that other nodes see of this one.
  ControlBlock& control() { return *control_; }
  const ControlBlock& control() const { return *control_; }
  /// Whether the leader of a cluster advances E.
  bool in_cluster() const { return own_ == nullptr; }
  /// Whether the leader has let this node in, or there is no leader. Acquire: the caller sees what the leader stored
  /// before.
  bool serves() const { return !in_cluster() || control_->by_node.serving.load(std::memory_order_acquire) != 0; }

  /// Opens the slot: publishes e_w by the rule of I13 and returns it. Only the slot's owner calls it.
  Epoch enter(Slot& slot) {
    Epoch epoch = current();
    base::sync_point("epoch.seen");
    for (;;) {
      publish_in_slot(slot.local, epoch);
      base::sync_point("epoch.entered_as_seen");
      const Epoch now = current();
      if (now == epoch || base::injected("enter-without-look")) break;
      epoch = now;
    }
    // A node that joins a cluster jumps to the E of the others at once. It has no transactions then.
    base::debug_invariant("I13", [&] { return current() <= epoch + 1 || in_cluster(); });
    return epoch;
  }
  /// Closes the slot. Release: everything the transaction read or wrote happens before a reclaimer sees it idle.
  void leave(Slot& slot) {
    base::debug_invariant("I13", [&] { return slot.local.load(std::memory_order_relaxed) != kIdle; });
    slot.local.store(kIdle, std::memory_order_release);
  }

  /// Returns the snapshot epoch that a slot with this e_w reads at. The snapshot sees exactly the TIDs with a smaller
  /// epoch. snap(e) = k·⌊e/k⌋; SE = snap(E − k), and before the first snapshot 0, which sees nothing.
  Epoch snapshot_of(Epoch local) const { return local < k_ ? 0 : snap(local - k_); }
  /// Returns snap(e), the first epoch of e's snapshot period. Versions of one period overwrite each other in place.
  Epoch snap(Epoch epoch) const { return epoch - epoch % k_; }
  Epoch snapshot_epochs() const { return k_; }

  /// Pins a snapshot in an entered slot: the versions that it sees are kept until unpin_snapshot(), even while the slot
  /// is left and entered again between operations. Returns the snapshot's epoch, which is snapshot_of(e_w), or the
  /// limit of limit_snapshots() if that is less.
  Epoch pin_snapshot(Slot& slot) {
    const Epoch local = slot.local.load(std::memory_order_relaxed);
    base::invariant("I13", local != kIdle);
    Epoch snapshot = limited_snapshot_of(local);
    for (;;) {
      base::sync_point("epoch.snapshot_chosen");
      publish_in_slot(slot.snapshot, snapshot);
      const Epoch now = limited_snapshot_of(local);
      if (now == snapshot || base::injected("pin-without-look")) return snapshot;
      snapshot = now;
    }
  }
  void unpin_snapshot(Slot& slot) { slot.snapshot.store(kIdle, std::memory_order_release); }

  /// Keeps, until unpin_answer(), the versions of this node that another node's snapshot at this epoch sees. Returns
  /// false if some of them may be gone already. The other node has pinned its snapshot on all nodes, but it may die
  /// while it is answered, and its pin dies with it.
  ///
  /// The pin is published before the caller looks at the epoch up to which the leader allows versions to be freed.
  /// look() reads that epoch first, then makes all threads pass a fence, and then reads the pins. So either look() sees
  /// this pin, or the caller sees an epoch that is at least the one look() has seen.
  bool pin_answer(Slot& slot, Epoch snapshot) {
    if (!base::injected("answer-without-pin")) publish_in_slot(slot.answer, snapshot);
    const bool kept = keeps_snapshot(snapshot);
    base::sync_point("epoch.answer_pinned");
    return kept;
  }
  void unpin_answer(Slot& slot) { slot.answer.store(kIdle, std::memory_order_release); }

  /// Limits snapshots until unlimit_snapshots(): none begins here that is later than `latest`, and all nodes of the
  /// cluster keep what such snapshots see. Returns the epoch of the latest snapshot that can begin. That is `latest`,
  /// rounded down to a whole snapshot period. It is more if versions that a snapshot at `latest` sees need not be kept
  /// any more, and less if there was a lower limit before, since a limit is never raised. A snapshot that was pinned
  /// before stays as it is. Called by one thread at a time.
  ///
  /// This serves a cluster in which a dead node owes something: it may have decided a transaction and written back only
  /// a part of it, or may be about to be rebuilt. A snapshot sees all epochs before its own. So a snapshot with an
  /// epoch after that transaction's would find one record as the transaction left it, and another one locked. A
  /// transaction of a member has an epoch of at least E - 1, and E passes a member only once the member is known to be
  /// dead. So the limit is set when that is known, before this node acts in the configuration that says so. No snapshot
  /// that began here by then is later than SE of the present E, and all that the dead node may owe has later epochs.
  Epoch limit_snapshots(Epoch latest);
  void unlimit_snapshots();

  /// Notes that the node's records were loaded from logs with transactions of epochs up to `latest`. The node has only
  /// the newest version of each record, so it does not know what a snapshot of these epochs sees. Its own snapshots
  /// begin after these epochs, as E does. Other nodes may have older snapshots, which began before the node was loaded.
  /// Thread-safe.
  void note_loaded(Epoch latest);
  /// Whether the node has every version that a snapshot at this epoch sees, if some node has such a snapshot. It does
  /// if nothing that the snapshot sees was freed, and the snapshot is later than all that was loaded. A snapshot at 0
  /// sees nothing.
  bool keeps_snapshot(Epoch snapshot) const {
    const Epoch loaded = base::injected("answer-snapshot-before-load") ? 0 : loaded_.load(std::memory_order_acquire);
    return snapshot == 0 || (snapshot_reclamation() < snapshot && loaded < snapshot);
  }

  /// Returns an epoch with no readers left of index nodes and records that became unreachable in it or before (min e_w
  /// − 1).
  Epoch tree_reclamation() const { return tree_reclamation_.load(std::memory_order_acquire); }
  /// Returns an epoch with no present or future snapshot, on any node, of versions superseded in it or before (min se_w
  /// − 1).
  Epoch snapshot_reclamation() const {
    return control_->by_leader.snapshot_reclamation.load(std::memory_order_acquire);
  }
  /// Returns an epoch such that versions superseded in it or before may be freed here: they are not read for another
  /// node, either (pin_answer()).
  Epoch version_reclamation() const { return version_reclamation_.load(std::memory_order_acquire); }

  /// Whether a snapshot or a limit of snapshots, here or on another node, keeps versions that would have been freed by
  /// now otherwise.
  bool snapshot_holds() const {
    constexpr Epoch kNotice = 4;  // epochs until all nodes have published theirs, with room to spare
    const Epoch now = current();
    return now > kNotice && snapshot_reclamation() + 1 < snapshot_of(now - kNotice);
  }

  /// Returns an epoch such that every transaction with an epoch ≤ it has ended, and all its writes happen before the
  /// call returns (I13: no open slot has a smaller e_w, and none will). So all log entries of such transactions are in
  /// their rings when a logger calls it. Thread-safe.
  Epoch complete() const;

  /// Notes that no slot is entered, nor ever will be again. From now on complete() counts E itself, because a node of a
  /// cluster cannot move E on when it closes.
  void end() { ended_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  /// Makes every thread of the process pass a full fence, for the advancer (I13) and for the borrower in
  /// txn::Lending::borrow().
  void fence() const;

  /// Whether no slot is entered. A caller that must stay alone has to keep others from entering. Thread-safe.
  bool idle() const;

  /// Takes one turn of the epoch-advancing activity: recomputes the reclamation epochs, revokes slots that hold E back,
  /// and advances E if every slot has caught up. In a cluster it publishes instead of advancing. One caller at a time
  /// calls it, once per epoch period. `durable` is as for publish(). Returns whether E has advanced since the last
  /// turn.
  bool tick(Epoch durable = kIdle);

  /// Tells the leader of the cluster how far this node is. The more often, the sooner E advances. Only the caller of
  /// tick() calls it. `durable` is the log's durable epoch. If it is not given, all that is complete counts as durable,
  /// as nothing is logged.
  void publish(Epoch durable = kIdle);

  /// The number of ticks in a row in which a slot kept E from advancing, and the index of that slot. For the watchdog.
  struct Stall {
    std::uint64_t ticks = 0;
    std::size_t slot = 0;
  };
  Stall stall() const;
  const Slot* slot_at(std::size_t index) const { return &slots_[index]; }

 private:
  /// The epochs beyond which the slots let nothing go.
  struct Oldest {
    Epoch now;               ///< E, read before the slots
    Epoch open;              ///< min e_w
    Epoch snapshot;          ///< min se_w, of snapshots to come as well
    Epoch versions;          ///< neither snapshots nor answers see versions superseded in epochs ≤ it
    std::size_t holder = 0;  ///< a slot with min e_w
  };

  /// Stores a word of the slot so that the store comes before all that its owner reads next. This is the first half of
  /// the protocol by which the owner may rely on the word. Release: the owner's earlier frees and reads stay before it.
  /// The advancer's acquire load pairs with it.
  void publish_in_slot(std::atomic<Epoch>& word, Epoch epoch) const {
    if (asymmetric_fence_) [[likely]] {
      word.store(epoch, std::memory_order_release);
      std::atomic_signal_fence(
          std::memory_order_seq_cst);  // the compiler keeps the order; the advancer's membarrier does the rest
    } else {
      word.exchange(epoch, std::memory_order_seq_cst);  // a full fence on x86-64
    }
  }
  Epoch limited_snapshot_of(Epoch local) const {
    return std::min(snapshot_of(local), latest_snapshot_.load(std::memory_order_acquire));
  }

  Oldest look();
  void raise_reclamation(const Oldest& oldest);
  void publish(const Oldest& oldest, Epoch durable);
  bool advance(const Oldest& oldest);
  void count_stall(const Oldest& oldest);

  const Epoch k_;
  const std::uint64_t max_open_epochs_;
  const bool asymmetric_fence_;

  const std::unique_ptr<ControlBlock> own_;  ///< a node alone owns its block
  ControlBlock* const control_;

  alignas(base::kCacheLine) std::atomic<Epoch> tree_reclamation_{0};
  std::atomic<Epoch> version_reclamation_{0};
  alignas(base::kCacheLine) std::atomic<std::size_t> high_water_{0};
  std::atomic<bool> ended_{false};
  /// The limit of snapshots; kIdle: there is none. It is written under promise_mutex_ (release) and read by workers
  /// that pin a snapshot, and by look() (acquire). A worker pins a snapshot within the limit and reads the limit again,
  /// repeating if it has changed. look() reads the limit before the fence and the slots after it, as with E in I13. So
  /// either look() sees the pin, or the worker sees the limit that look() saw.
  std::atomic<Epoch> latest_snapshot_{kIdle};
  /// The greatest epoch that was loaded; it only grows. A thread that loads writes it (release) before other nodes
  /// learn that this node serves. A thread that answers other nodes reads it (acquire).
  std::atomic<Epoch> loaded_{0};
  std::mutex promise_mutex_;  // guards promised_snapshot_; look() and a change of the limit exclude each other
  /// The greatest min se_w that look() has returned. Versions that older snapshots see may be freed by now.
  Epoch promised_snapshot_ = 0;
  Epoch last_seen_;  // E at the last tick; only the caller of tick() uses it
  std::atomic<std::uint64_t> stall_ticks_{0};
  std::atomic<std::size_t> stall_slot_{0};
  std::mutex slots_mutex_;
  std::vector<Slot> slots_;
};

}  // namespace granary::epoch
