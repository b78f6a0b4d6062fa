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

/// Thread-safe. Guests are added and given up by the watcher's thread only.
class Guests {
 public:
  /// Names a guest; not used twice.
  using Ticket = std::uint64_t;
  static constexpr Ticket kNone = 0;

  /// `watcher` outlives this and calls no handler any more when this is destroyed.
  explicit Guests(Watcher& watcher) : watcher_(watcher) {}

  /// From now on hang_up() finds the guest.
  Ticket add(NodeId node, Generation generation, Process named, int socket);
  /// The guest's socket is about to be closed.
  void forget_socket(Ticket guest);
  /// The guest has ended or has unmapped the memory. It may have been removed already.
  void remove(Ticket guest);
  /// Breaks the locks that guests whose processes have ended have left in this process's line table (watched_memory.h).
  void break_locks_of_ended();
  /// Hangs up the sockets of the lives of `node` up to `last`, and returns their processes.
  Processes hang_up(NodeId node, Generation last);

 private:
  struct Guest {
    NodeId node;
    Generation generation;
    std::shared_ptr<const Process> process;
    int socket;  ///< -1 if it is closed
  };

  Watcher& watcher_;
  std::mutex mutex_;
  Ticket last_ = kNone;
  std::map<Ticket, Guest> guests_;
};

}  // namespace granary::rdma::shm
