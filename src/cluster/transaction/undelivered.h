#pragma once
// Keeps the records that transactions of a worker have left locked at other nodes that live, because one connection
// after the other broke. The worker gives them back later, with the new version if the transaction was decided (I5,
// I10).
//
// Only the endpoint that took a lock may give it back, so only this worker may. It tries between its transactions and
// snapshots (RemoteTransaction::tidy), or when the application calls Worker::collect_garbage(). If the worker ends, its
// node tries instead (db::ClusterThreads). The pauses between two tries are long beside the time that a try takes. If
// the node that holds the records' memory dies, or this node does, recovery settles what is left.
//
// A try waits for a connection to each home that has none, and, if records were removed, for the homes' answers to
// messages::NoteRemoved.

#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include "src/cluster/record_access/release.h"
#include "src/cluster/transaction/buffers.h"
#include "src/log/lock_ahead.h"

namespace granary::cluster {

struct Reach;

/// A decided removal of which the record's owner has to be told (messages::NoteRemoved).
struct Removal {
  rdma::NodeId node = 0;
  std::uint32_t table = 0;
  std::string key = {};
  record::TidWord tid = 0;
};

/// The undelivered locks of one worker, whose fibers share them.
class Undelivered {
 public:
  /// Takes over the locks of a transaction that has ended: the steps to resume, the removals to tell the owners of when
  /// all have been given back, the registered memory in which the steps work, and the names of the locks in the
  /// lock-ahead record, which stay there until then.
  void keep(std::deque<Release> releases, std::vector<Removal> removals, Buffers room, log::NamedLocks named);
  bool empty() const { return all_.empty(); }
  /// Whether the worker may not take more locks at other nodes until some were given back. These locks keep registered
  /// memory, of which the node's other workers need their share.
  bool full() const { return bytes_ >= kMostBytes; }
  /// Nodes that did not answer. Each of them is waited for once by the tries that share the list.
  using Silent = std::vector<rdma::NodeId>;
  /// Tries to give back all locks, if it is time to and no other fiber does. It does not while this node may not commit
  /// (I11). It waits for other nodes, so the worker must be in no epoch.
  void try_again(Reach& reach, Silent& silent);
  void try_again(Reach& reach) {
    Silent silent;
    try_again(reach, silent);
  }
  /// Does so without regard to when the last try was.
  void try_now(Reach& reach, Silent& silent);
  /// Tries until nothing is left, for `patience_us` at most.
  void finish(Reach& reach, std::uint64_t patience_us);

 private:
  struct LeftLocks {
    std::deque<Release> releases;
    std::vector<Removal> removals;
    Buffers room;
    log::NamedLocks named;
  };
  void try_all(Reach& reach, Silent& silent);
  static void tell(Reach& reach, const std::vector<Removal>& removals, Silent& silent);
  static bool has_ended(Reach& reach, Release& release, Silent& silent);

  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;  ///< a quarter of a worker's share of 4 MiB

  std::list<LeftLocks> all_;   ///< other fibers add to it while one tries
  std::size_t bytes_ = 0;      ///< the registered memory of all of them
  bool trying_ = false;        ///< a fiber is in try_all()
  std::uint64_t next_us_ = 0;  ///< when to try again
};

}  // namespace granary::cluster
