#pragma once
// The processes that were let in and have this node's memory mapped.
//
// A guest stays one until its process has ended, also when its socket is closed: as long as it runs it may store to
// this node's memory. Only a farewell, which a guest sends when it has unmapped the memory, ends that earlier.

#include <map>
#include <mutex>

#include "rdma/shm/process.h"
#include "rdma/shm/watcher.h"

namespace granary::rdma::shm {

/// Thread-safe. Guests are added by the watcher's thread only.
class Guests {
 public:
  /// Names a guest; not used twice.
  using Ticket = std::uint64_t;
  static constexpr Ticket kNone = 0;

  /// `watcher` outlives this and calls no handler any more when this is destroyed.
  explicit Guests(Watcher& watcher) : watcher_(watcher) {}

  /// From now on hang_up() finds the guest.
  Ticket add(NodeId node, Generation generation, Process named, int socket);
  /// Something has come at the guest's socket: its farewell, or the end. The socket is about to be closed.
  void hear_last(Ticket guest);
  /// The guest has ended or was given nothing. It may have been removed already.
  void remove(Ticket guest);
  /// Breaks the locks that guests whose processes have ended have left in this process's line table (watched_memory.h).
  void break_locks_of_ended();
  /// Hangs up the sockets of the lives of `node` up to `last`, and returns their processes. Whoever has said farewell
  /// by now is a guest no more, though the watcher may not have heard it yet.
  Processes hang_up(NodeId node, Generation last);

 private:
  struct Guest {
    NodeId node;
    Generation generation;
    std::shared_ptr<const Process> process;
    int socket;  ///< -1 if it is closed
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
