#pragma once
// Keeps the processes that were let in and have this node's memory mapped.
//
// A guest stays one until its process has ended, even if its socket is closed, because it may store to this node's
// memory as long as it runs. Only a farewell ends that earlier. A guest sends it when it has unmapped the memory.

#include <map>
#include <mutex>

#include "rdma/shm/process.h"
#include "rdma/shm/watcher.h"

namespace granary::rdma::shm {

/// The guests of one fabric. Only the watcher's thread adds them. Thread-safe.
class Guests {
 public:
  /// Names a guest. A ticket is not used twice.
  using Ticket = std::uint64_t;
  static constexpr Ticket kNone = 0;

  /// `watcher` must outlive this object, and calls no handler any more when this is destroyed.
  explicit Guests(Watcher& watcher) : watcher_(watcher) {}

  /// Adds a guest. From now on hang_up() finds it.
  Ticket add(NodeId node, Generation generation, Process named, int socket);
  /// Reads the last event at the guest's socket: its farewell, or the end. The socket is about to be closed.
  void hear_last(Ticket guest);
  /// Removes a guest that has ended or was given nothing. It may have been removed already.
  void remove(Ticket guest);
  /// Breaks the locks that guests whose processes have ended have left in this process's line table (watched_memory.h).
  void break_locks_of_ended();
  /// Hangs up the sockets of the lives of `node` up to `last`, and returns their processes. A process that has said
  /// farewell by now is no guest any more, even if the watcher has not heard it yet.
  Processes hang_up(NodeId node, Generation last);

 private:
  struct Guest {
    NodeId node;
    Generation generation;
    std::shared_ptr<const Process> process;
    int socket;  ///< -1 if the socket is closed
  };
  using Entries = std::map<Ticket, Guest>;

  static bool says_farewell(const Guest& guest);
  Entries::iterator erase(Entries::iterator guest);

  Watcher& watcher_;
  std::mutex mutex_;
  Ticket last_ = kNone;
  Entries guests_;
};

}  // namespace granary::rdma::shm
