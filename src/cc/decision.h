#pragma once
// Decides a transaction (I8). There is no other place that does. Participants call it in install(), before they store
// any value.
//
// The worker writes the entry after the tail of its log ring, where no logger looks. If other nodes take part, it then
// writes into the lock-ahead record where the entry will end (I10). Last it stores the ring's tail, which publishes the
// entry. The transaction is committed from that store on, whatever becomes of this process, and none of its writes can
// be seen before. A log that is copied to other nodes would wait for the copies here.

#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/elsewhere/remote_commit.h"
#include "src/cc/log_entry.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

class Decision {
 public:
  /// Writes the entry of a transaction with this TID, and does not publish it. Precondition: room was reserved.
  /// `elsewhere` is the transaction's part at other nodes, or nullptr.
  Decision(const LoggedWrites& writes, WorkerState& worker, TidWord tid, RemoteCommit* elsewhere)
      : worker_(worker),
        elsewhere_(elsewhere),
        tid_(tid) {
    if (worker.ring == nullptr) return;
    bytes_ = write_log_entry(writes, worker, tid);
    base::debug_invariant("I30", [&] { return worker.ring->has_room(bytes_); });
    end_ = worker.ring->end_after(bytes_);
    if (elsewhere == nullptr) return;
    elsewhere->announce_decision(tid, end_);
    base::sync_point("across.deciding");
  }
  ~Decision() {
    if (late_) worker_.ring->publish(bytes_);
  }
  Decision(const Decision&) = delete;
  Decision& operator=(const Decision&) = delete;

  bool across_nodes() const { return elsewhere_ != nullptr; }
  /// Whether the entry is published, or nothing is logged. Must be true before another node may see a write (I8).
  bool logged() const { return worker_.ring == nullptr || worker_.ring->end_after(0) >= end_; }

  /// Publishes the entry, which decides the transaction. The caller makes the writes visible afterwards. So a
  /// transaction that sees one of them, and has the same epoch or a later one, becomes durable in no earlier turn of
  /// the loggers; and after a crash of the process the ring has this entry.
  void publish() {
    check_announced();
    decided();
    if (worker_.ring == nullptr) return;
    if (elsewhere_ != nullptr && base::injected("log-after-write-back")) {
      late_ = true;
      return;
    }
    worker_.ring->publish(bytes_);
  }

  /// Publishes the entry by a store inside an HTM region. The transaction is decided when the region commits; the
  /// caller then calls published(). If the region aborts, the caller calls take_back() before anything else is logged.
  template <typename Memory>
  void publish_in(Memory& memory) {
    if (worker_.ring != nullptr) worker_.ring->publish_in(memory, bytes_);
  }
  void published() {
    check_announced();
    decided();
    if (worker_.ring != nullptr) worker_.ring->published(bytes_);
  }
  void take_back() {
    if (elsewhere_ != nullptr) elsewhere_->take_back_announcement();
  }

 private:
  /// The entry ends where the lock-ahead record says it will. It would not if something else had been published
  /// meanwhile.
  void check_announced() const {
    if (worker_.ring != nullptr && elsewhere_ != nullptr)
      base::invariant("I10", worker_.ring->end_after(bytes_) == end_);
  }
  void decided() {
    worker_.last_tid = std::max(worker_.last_tid, tid_);  // a worker's TIDs may descend under TicToc
  }

  WorkerState& worker_;
  RemoteCommit* const elsewhere_;
  const TidWord tid_;
  std::size_t bytes_ = 0;
  std::uint64_t end_ = 0;  // where the entry ends in the ring
  bool late_ = false;      // an injected bug publishes in the destructor
};

}  // namespace granary::cc
