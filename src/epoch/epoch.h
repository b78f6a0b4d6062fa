#pragma once
// Epochs (Silo 4.1, 4.8, 4.9): the global epoch E, each open transaction's e_w, snapshot epochs, and how
// far garbage may be freed.
//
// I13: an open transaction's e_w is set as "store E, full fence, read E again, repeat if it changed", so
// E can be at most e_w + 1 while it is open. The full fence is the advancer's: before it reads the e_w
// words it makes every running thread of the process pass a full fence (membarrier). Either the
// worker's store comes before that fence and the advancer sees it, or the worker's second read of E
// comes after and sees the advancer's newest E. Where the system has no membarrier the worker fences itself.
//
// In a cluster E is the leader's to advance, which it does only once every node's published min e_w is E (I7). So nodes
// differ by at most 1, and no transaction that is open anywhere has an e_w below E - 1, whichever node's E that is.

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

/// e_w of a slot with no open transaction.
inline constexpr Epoch kIdle = ~Epoch{0};

/// What one open transaction (or one guard) publishes. One cache line, written by its owner except for
/// `revoked`, which the advancer sets when the slot held E back for too long.
struct alignas(base::kCacheLine) Slot {
  std::atomic<Epoch> local{kIdle};     // e_w
  std::atomic<Epoch> snapshot{kIdle};  // se_w while a snapshot transaction is open
  std::atomic<Epoch> answer{kIdle};    // the epoch of another node's snapshot while this node answers what it sees here
  std::atomic<Epoch> revoked{0};       // the e_w with which the slot held E back for too long; 0: none has
  std::atomic<bool> taken{false};
};

struct EpochOptions {
  std::uint32_t snapshot_epochs = Options().snapshot_epochs;  ///< k: a snapshot every k epochs
  /// Ticks that a slot may hold E back before it is revoked; 0 = for ever.
  std::uint32_t max_open_epochs = Options().max_open_epochs;
  Epoch first_epoch = 1;  ///< E at the start; a recovered database goes on behind all it ever used
  /// Of a node of a cluster, whose leader advances E in it: zeroed memory, which outlives the manager. None: a node
  /// alone.
  ControlBlock* control = nullptr;
};

class EpochManager {
 public:
  explicit EpochManager(EpochOptions options);
  EpochManager(const EpochManager&) = delete;
  EpochManager& operator=(const EpochManager&) = delete;

  /// Each worker may have a slot for each of its open transactions, and one to collect garbage in. Others are few.
  static constexpr std::size_t kMaxSlots = kMaxWorkers * (kMaxOpenTransactions + 1) + 64;

  /// Slots are never freed, only reused. nullptr when all are taken. Thread-safe.
  Slot* acquire_slot();
  void release_slot(Slot* slot);

  /// E. Written by tick() or the cluster's leader (release); acquire here, so that what was done before the advance is
  /// seen.
  Epoch current() const { return control_->by_leader.epoch.load(std::memory_order_acquire); }

  /// The word that holds E, for HTM regions.
  const std::atomic<Epoch>& word() const { return control_->by_leader.epoch; }

  /// What other nodes see of this one.
  ControlBlock& control() { return *control_; }
  const ControlBlock& control() const { return *control_; }
  /// True if the leader of a cluster advances E.
  bool in_cluster() const { return own_ == nullptr; }
  /// True if the leader has let this node in, or there is none. Acquire: what the leader stored before is there.
  bool serves() const { return !in_cluster() || control_->by_node.serving.load(std::memory_order_acquire) != 0; }

  /// Opens the slot: publishes e_w by the rule of I13 and returns it. Owner of the slot only.
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
    // The E of a node that joins a cluster goes to that of the others at once; it has no transactions by then.
    base::debug_invariant("I13", [&] { return current() <= epoch + 1 || in_cluster(); });
    return epoch;
  }
  /// Closes the slot. Release: everything the transaction read or wrote happens before a reclaimer sees it idle.
  void leave(Slot& slot) {
    base::debug_invariant("I13", [&] { return slot.local.load(std::memory_order_relaxed) != kIdle; });
    slot.local.store(kIdle, std::memory_order_release);
  }

  /// The snapshot epoch that a slot with this e_w reads at: it sees exactly the TIDs with epoch < it.
  /// snap(e) = k·⌊e/k⌋; SE = snap(E − k), and 0 (sees nothing) before the first.
  Epoch snapshot_of(Epoch local) const { return local < k_ ? 0 : snap(local - k_); }
  /// snap(e): first epoch of e's snapshot period. Versions of one period overwrite each other in place.
  Epoch snap(Epoch epoch) const { return epoch - epoch % k_; }
  Epoch snapshot_epochs() const { return k_; }

  /// Pins a snapshot in an entered slot: from here on versions that it sees are kept until unpinned,
  /// even while the slot is left and entered again between operations. Its epoch is snapshot_of(e_w), or the limit of
  /// limit_snapshots() if that is less.
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
  /// false if some of them may be gone already. The other node pins its snapshot on all nodes, but it may die while it
  /// is answered, and its pin with it.
  ///
  /// The pin comes before the look at what the leader allows to be freed. look() reads that first, then makes all
  /// threads pass a fence, and then reads the pins. So either look() sees this one, or the caller sees at least what
  /// look() has seen.
  bool pin_answer(Slot& slot, Epoch snapshot) {
    if (!base::injected("answer-without-pin")) publish_in_slot(slot.answer, snapshot);
    const bool kept = keeps_snapshot(snapshot);
    base::sync_point("epoch.answer_pinned");
    return kept;
  }
  void unpin_answer(Slot& slot) { slot.answer.store(kIdle, std::memory_order_release); }

  /// From now on no snapshot begins here that is later than `latest`, until unlimit_snapshots(); what such snapshots
  /// see is kept on all nodes of the cluster. Returns the epoch of the latest snapshot that begins: `latest` down to a
  /// whole snapshot period, or more if versions that a snapshot at `latest` sees need not be kept any more, or less if
  /// there was a limit before, which is never raised. A snapshot that was pinned before stays as it is. By one thread
  /// at a time.
  ///
  /// For a cluster in which a dead node owes something: it may have decided a transaction and written back a part of it
  /// only, or may be about to be rebuilt. A snapshot sees all epochs before its own, so one of an epoch behind that
  /// transaction's would find one record as the transaction left it, and another one locked. A transaction of a member
  /// has an epoch of at least E - 1, and E passes a member only once it is known to be dead. So the limit is set when
  /// that is known, before this node acts in the configuration that says so: no snapshot that began here by then is
  /// later than SE of the present E, and all that the dead node may owe is behind it.
  Epoch limit_snapshots(Epoch latest);
  void unlimit_snapshots();

  /// Notes that the node's records were loaded from logs with transactions of epochs up to `latest`. It has the newest
  /// version of each record only, so it does not know what a snapshot of these epochs sees. Its own snapshots begin
  /// behind them, as E does; other nodes may have had older ones since before it was loaded. Thread-safe.
  void note_loaded(Epoch latest);
  /// Whether the node has every version that a snapshot at this epoch sees, if somebody has such a snapshot: nothing
  /// that it sees was freed, and it is later than all that was loaded. A snapshot at 0 sees nothing.
  bool keeps_snapshot(Epoch snapshot) const {
    const Epoch loaded = base::injected("answer-snapshot-before-load") ? 0 : loaded_.load(std::memory_order_acquire);
    return snapshot == 0 || (snapshot_reclamation() < snapshot && loaded < snapshot);
  }

  /// Nodes and records unreachable since an epoch ≤ this have no readers (min e_w − 1).
  Epoch tree_reclamation() const { return tree_reclamation_.load(std::memory_order_acquire); }
  /// Versions superseded in an epoch ≤ this are seen by no present or future snapshot of any node (min se_w − 1).
  Epoch snapshot_reclamation() const {
    return control_->by_leader.snapshot_reclamation.load(std::memory_order_acquire);
  }
  /// Versions superseded in an epoch ≤ this may be freed here: they are also not read for another node (pin_answer()).
  Epoch version_reclamation() const { return version_reclamation_.load(std::memory_order_acquire); }

  /// True if a snapshot or a limit of snapshots, here or on another node, keeps versions that the passing of epochs
  /// alone would have freed by now.
  bool snapshot_holds() const {
    constexpr Epoch kNotice = 4;  // epochs until all nodes have told how far they are, with room to spare
    const Epoch now = current();
    return now > kNotice && snapshot_reclamation() + 1 < snapshot_of(now - kNotice);
  }

  /// Every transaction with an epoch ≤ this has ended, and what it wrote happens before the call returns (I13: no open
  /// slot has a smaller e_w, and none will). For loggers: what such transactions logged is in their rings. Thread-safe.
  Epoch complete() const;

  /// No slot is entered, nor ever will be again: from now on complete() counts E itself. A node of a cluster cannot
  /// move E on when it closes.
  void end() { ended_.store(true, std::memory_order_release); }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  /// Makes every thread of the process pass a full fence: the advancer's side of I13, and of txn::Lending::borrow().
  void fence() const;

  /// True if no slot is entered. Thread-safe; who must stay alone sees to that by other means.
  bool idle() const;

  /// One turn of the epoch-advancing activity, once per epoch period, by one caller at a time: recomputes the
  /// reclamation epochs, revokes slots that hold E back, and advances E if every slot has caught up; in a cluster,
  /// publishes instead of advancing. `durable` as for publish(). Returns true if E advanced since the last turn.
  bool tick(Epoch durable = kIdle);

  /// In a cluster, and by the caller of tick() only: tells the leader how far this node is; the more often, the sooner
  /// E advances. `durable`: the log's durable epoch; what is not logged counts as durable once it is complete.
  void publish(Epoch durable = kIdle);

  /// Ticks in a row in which E could not advance because of a slot, and the slot index that held it; for the watchdog.
  struct Stall {
    std::uint64_t ticks = 0;
    std::size_t slot = 0;
  };
  Stall stall() const;
  const Slot* slot_at(std::size_t index) const { return &slots_[index]; }

 private:
  /// What the slots hold back.
  struct Oldest {
    Epoch now;               ///< E, read before the slots
    Epoch open;              ///< min e_w
    Epoch snapshot;          ///< min se_w, of snapshots to come as well
    Epoch versions;          ///< versions superseded in epochs ≤ it are seen neither by snapshots nor by answers
    std::size_t holder = 0;  ///< a slot with min e_w
  };

  /// The first half of what a slot's owner does before it relies on a word of it: the store comes before what it reads
  /// next. Release: its earlier frees and reads stay before; the advancer's acquire load pairs with it.
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

  const std::unique_ptr<ControlBlock> own_;  ///< of a node alone
  ControlBlock* const control_;

  alignas(base::kCacheLine) std::atomic<Epoch> tree_reclamation_{0};
  std::atomic<Epoch> version_reclamation_{0};
  alignas(base::kCacheLine) std::atomic<std::size_t> high_water_{0};
  std::atomic<bool> ended_{false};
  /// The limit of snapshots, kIdle: none. Written under promise_mutex_ (release); read by workers that pin a snapshot
  /// and by look() (acquire). A worker pins what the limit allows and reads the limit again, repeating if it has
  /// changed, while look() reads the limit before the fence and the slots behind it, as with E in I13: either look()
  /// sees what was pinned, or the worker sees what look() saw.
  std::atomic<Epoch> latest_snapshot_{kIdle};
  /// Only grows. Written by who loads (release), before others are told that the node serves; read by who answers them
  /// (acquire).
  std::atomic<Epoch> loaded_{0};
  std::mutex promise_mutex_;  // guards promised_snapshot_, and sets the limit apart from look()
  /// The greatest min se_w that look() has told: versions that older snapshots see may be freed by now.
  Epoch promised_snapshot_ = 0;
  Epoch last_seen_;  // E at the last tick, whose caller's it is
  std::atomic<std::uint64_t> stall_ticks_{0};
  std::atomic<std::size_t> stall_slot_{0};
  std::mutex slots_mutex_;
  std::vector<Slot> slots_;
};

}  // namespace granary::epoch
