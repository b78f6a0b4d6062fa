#pragma once
// The one place where a transaction is decided (I8): its entry is written behind the end of the worker's log ring, where nobody looks,
// whoever recovers is told where it will end, and then the ring is published. From there on the transaction is committed, whatever becomes
// of this process, and nothing of it can be seen before. Copies of the log at other nodes would be awaited here.

#include <cstddef>
#include <cstdint>

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/elsewhere/remote_part.h"
#include "src/cc/log_entry.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

class Decision {
 public:
  /// Writes the entry of a transaction with this TID; room was reserved. `elsewhere`: its part at other nodes, or nullptr.
  Decision(const LoggedWrites& writes, WorkerState& worker, TidWord tid, RemotePart* elsewhere)
      : worker_(worker),
        elsewhere_(elsewhere),
        tid_(tid) {
    if (worker.ring == nullptr) return;
    bytes_ = write_log_entry(writes, worker, tid);
    base::debug_invariant("I30", [&] { return worker.ring->has_room(bytes_); });
    end_ = worker.ring->end_after(bytes_);
    if (elsewhere == nullptr) return;
    elsewhere->decide(tid, end_);
    base::sync_point("across.deciding");
  }
  ~Decision() {
    if (late_) worker_.ring->publish(bytes_);
  }
  Decision(const Decision&) = delete;
  Decision& operator=(const Decision&) = delete;

  bool across_nodes() const { return elsewhere_ != nullptr; }
  /// Whether the entry is in the ring, if there is one: before another node may see the transaction (I8).
  bool logged() const { return worker_.ring == nullptr || worker_.ring->end_after(0) >= end_; }

  /// Decides. In the ring before it is visible: whoever sees a write of this transaction finds it logged, if it is of the same epoch
  /// in the same or an earlier turn of the loggers, and after a crash of the process as well.
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

  /// The same inside an HTM region; decided once that has ended well, which the caller says by published().
  template <typename Memory>
  void publish_in(Memory& memory) {
    if (worker_.ring != nullptr) worker_.ring->publish_in(memory, bytes_);
  }
  void published() {
    check_announced();
    decided();
    if (worker_.ring != nullptr) worker_.ring->published(bytes_);
  }
  /// The region was in vain, and nothing else has been logged since.
  void take_back() {
    if (elsewhere_ != nullptr) elsewhere_->take_back_decision();
  }

 private:
  /// The entry ends where other nodes' x-locks say: nothing else has been published since.
  void check_announced() const {
    if (worker_.ring != nullptr && elsewhere_ != nullptr)
      base::invariant("I10", worker_.ring->end_after(bytes_) == end_);
  }
  void decided() {
    worker_.last_tid = std::max(worker_.last_tid, tid_);  // TIDs of TicToc do not ascend
  }

  WorkerState& worker_;
  RemotePart* const elsewhere_;
  const TidWord tid_;
  std::size_t bytes_ = 0;
  std::uint64_t end_ = 0;  // of the entry in the ring
  bool late_ = false;      // by an injected bug
};

}  // namespace granary::cc
