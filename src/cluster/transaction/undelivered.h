#pragma once
// What transactions of a worker left locked at other nodes that live, because one connection after the other broke: it is given back later,
// with what was decided or without (I5). Only the endpoint that took a lock may, so only the worker; it tries between its
// transactions and snapshots, or when it is told to while it is idle (Worker::collect_garbage), seldom beside what trying costs it. What is left when a node dies is for its recovery.

#include <cstdint>
#include <deque>
#include <list>
#include <vector>

#include "src/cluster/record_access/release.h"
#include "src/cluster/transaction/buffers.h"
#include "src/log/lock_ahead.h"

namespace granary::cluster {

struct Reach;

/// Of one worker, whose fibers share it.
class Undelivered {
 public:
  /// Of a transaction that has ended: what is to be resumed, the memory where it is, and where it stays named until then.
  void keep(std::deque<Release> releases, Buffers room, log::LockRecord record);
  bool empty() const { return all_.empty(); }
  /// The worker may not lock any more elsewhere until something was given back: what it keeps is registered memory, of which the node's
  /// other workers need their share.
  bool full() const { return bytes_ >= kMostBytes; }
  /// Tries all once more, if it is time to, and nobody else does; not while this node may not commit (I11). Waits for connections, so the
  /// worker is in no epoch.
  void try_again(Reach& reach);
  /// Tries until nothing is left, or for so long.
  void finish(Reach& reach, std::uint64_t patience_us);

 private:
  struct OfOne {
    std::deque<Release> releases;
    Buffers room;
    log::LockRecord record;
  };
  void try_all(Reach& reach);
  static bool has_ended(Reach& reach, Release& release, std::vector<rdma::NodeId>& silent);

  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  ///< of a worker's 4 MiB

  std::list<OfOne> all_;   ///< other fibers add to it while one tries
  std::size_t bytes_ = 0;  ///< of all rooms
  bool trying_ = false;
  std::uint64_t next_us_ = 0;
};

}  // namespace granary::cluster
