#pragma once
// Declares the steps that a commit takes at other nodes, as an interface. src/cluster/transaction/one_sided_commit.h
// implements it, and the participant Elsewhere (elsewhere.h) calls it. A transaction that touches this node only has no
// remote part, and pays nothing for it.

#include <cstdint>
#include <span>
#include <string_view>

#include <granary/outcome.h>

#include "src/base/soft_time.h"
#include "src/epoch/epoch.h"
#include "src/record/tid.h"

namespace granary::cc {

/// The end of an x-lock as a LeaseEnd, because an x-lock is held until its holder gives it back.
inline constexpr base::LeaseEnd kHeldForever{.end_us = ~std::uint64_t{0}};

/// A write to a record of another node, with all that its log entry says.
struct RemoteWrite {
  std::uint16_t node = 0;   ///< the record's home
  std::uint32_t table = 0;  ///< the table's number, which is the same on all nodes
  std::string_view key;
  std::string_view value;  ///< unused for a removal
  bool remove = false;
};

/// The steps come in the order of src/cc/commit.h: list_writes(), lock(), agree(), validate(), prepare(),
/// announce_decision(), write_back(). If an HTM region has aborted for good, those from agree() on are taken a second
/// time. validate() may also be called before the commit, to know whether the reads hold. X-locks are held from lock()
/// until write_back() or release(). A lock() that fails gives back what it has taken.
class RemoteCommit {
 public:
  virtual ~RemoteCommit() = default;

  /// Lists all writes, for the log. Returns false, and lists none, if the system has no memory for that.
  virtual bool list_writes() noexcept = 0;
  /// Returns the writes that list_writes() has listed. They are valid until the transaction ends.
  virtual std::span<const RemoteWrite> writes() const noexcept = 0;
  /// Returns the number of the worker's fiber that runs; 0 outside of fibers.
  virtual std::uint64_t fiber() const = 0;
  /// Whether this transaction, which was begun in the fiber with this number, or outside of fibers if it is 0, may end
  /// while another one of the worker waits, or is run again.
  virtual bool goes_on(std::uint64_t begun_in) const = 0;
  /// Prepares a commit that must not wait, as it runs in an HTM region (drtm/). Called after declare(), before the
  /// region opens. Agrees on an epoch, which is at least `here`, and keeps old versions of the x-locked records.
  /// Returns false if the transaction has touched a record that it does not hold, or if an owner does not answer. A
  /// transaction that has touched no other node is ready.
  virtual bool make_ready(epoch::Epoch here) = 0;
  /// X-locks every record to write, after naming the locks in the lock-ahead record (I10). READs E of every participant
  /// after the locks there (I7).
  virtual AbortReason lock() noexcept = 0;
  /// Chooses the transaction's epoch: the greatest of `here`, which is E of this node, of E of all participants, and of
  /// the epochs of the TIDs that were seen. Waits for a bounded time until E of every participant has reached it.
  /// `stamp` is that of validate(), as far as it is known. It is 0 if it is not known yet, or if the protocol does not
  /// stamp first.
  virtual AbortReason agree(epoch::Epoch here, record::TidWord stamp, epoch::Epoch& agreed) = 0;
  /// Checks that what was read is unchanged and not locked by anybody else, and that no key has appeared where one was
  /// missed. If the protocol stamps first (TicToc), it makes sure that all of this holds at least until the time
  /// `stamp`.
  virtual AbortReason validate(record::TidWord stamp) = 0;
  /// Called after lock(). Returns until when everything that was read is held, by the cluster's time: the end of the
  /// first lease that ends, or kHeldForever if all of it is x-locked. The end is 0 if something is neither leased nor
  /// x-locked.
  virtual base::LeaseEnd held_until() const = 0;
  /// Returns the greatest TID that was read or will be overwritten (I1).
  virtual record::TidWord greatest_tid() const = 0;
  /// Returns the least time that the transaction may have, under a protocol that stamps first. That time is not before
  /// any version that was read. It is later than every time until which anybody may rely on a version that will be
  /// overwritten. If keys were missed, it is of an epoch in which all removals have taken effect that left no trace.
  virtual record::TidWord least_time() const = 0;
  /// Keeps old versions where a snapshot may need them (I12). This is the last step that can fail at other nodes.
  virtual AbortReason prepare(epoch::Epoch epoch) = 0;
  /// Announces in the lock-ahead record that the transaction's entry will end at `log_end` of the worker's ring: it is
  /// decided when the ring's tail has come so far (I8, I10). Called right before the entry is published.
  virtual void announce_decision(record::TidWord tid, std::uint64_t log_end) = 0;
  /// Undoes announce_decision(): the HTM region aborted, so the transaction is not committed. Nothing may have been
  /// logged in between.
  virtual void take_back_announcement() = 0;
  /// Called when the log has the transaction (I8). Writes back and frees the records (I5), and then sets the completion
  /// mark (I10). In a fiber it may return while the writes are still under way (txn::RemoteAccess::under_way).
  virtual void write_back(record::TidWord tid) noexcept = 0;
  /// Gives back all x-locks without a change.
  virtual void release() noexcept = 0;
};

}  // namespace granary::cc
