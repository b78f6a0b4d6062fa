#pragma once
// Declares the place where the members of a cluster meet. It has a document that is changed by compare-and-set, and a
// mark for each node that lives, which goes when the node's process does. The rules for both are the same for all kinds
// of boards (membership.h).
//
//   local/      files of a run directory, for processes of one host
//   zookeeper/  znodes of an ensemble
//   MemoryBoard objects of one process, for tests and simulated clusters (memory_board.h)

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/lifetime.h"

namespace granary::membership {

/// How often a waiting node asks, while it joins, whether to give up.
inline constexpr std::uint64_t kGiveUpLook_us = 100'000;

struct Document {
  std::uint64_t version = 0;  ///< counted by the kind itself; 0: there is no document yet
  std::string text;
};

struct Marks {
  std::vector<NodeId> nodes;
  /// The time, by lifetime_us(), until which no member counts this node as dead, whatever happens to its process or its
  /// network. It is at most fence_lasts_us() after a moment at which the mark was there for certain.
  std::uint64_t own_valid_until_us = 0;
};

/// A board of one node. An error kMembershipLost means that this object's mark is gone for good, and the board cannot
/// be used with it any more. Unless it is said below, any other error means that the board could not be reached or used
/// now, and may be later. One thread at a time makes calls, except for wait() and wake(), which may run beside another
/// call.
class Board {
 public:
  /// Takes this process's mark away.
  virtual ~Board() = default;

  /// Returns a name for messages, such as "the run directory '/run/granary'".
  virtual std::string name() const = 0;

  /// Makes the mark of node `id`. Returns kAlreadyExists, with the owner, if another living process has the mark.
  virtual Status mark(NodeId id, const std::string& who) = 0;
  /// Takes this process's mark away, if there is one. After an error it may be called again. A mark that another
  /// process has made meanwhile stays.
  virtual Status unmark() = 0;
  /// Returns the marks. Returns kMembershipLost if this process had made a mark that is gone.
  virtual Result<Marks> marks() = 0;

  /// Returns the document. Returns kNotFound if none was ever written. The document is no older than those that this
  /// object has read before.
  virtual Result<Document> read() = 0;
  /// Replaces the document by `text` if it is still of `version` (0: if there is none). Returns false if it is not.
  /// Then either nothing was done, or `text` was written and another document has replaced it meanwhile.
  virtual Result<bool> replace(std::uint64_t version, const std::string& text) = 0;

  /// Returns a word that this node's fence asks (fence.h). Its lowest bit is set before any member counts this node as
  /// dead, and stays set. The word is there once the mark has been made, and lives as long as the board. Returns
  /// nullptr if the kind has no such word; then the nodes' fences go by own_valid_until_us alone.
  virtual const std::atomic<std::uint64_t>* verdict() const { return nullptr; }

  /// Returns when something may have changed, after wake(), or after this long.
  virtual void wait(std::uint64_t timeout_us) = 0;
  /// Ends the wait() that is running, or else the next one. Thread-safe.
  virtual void wake() = 0;
  /// Returns how long a mark may outlive its process.
  virtual std::uint64_t linger_us() const = 0;
  /// Returns how long a node may go on committing after its mark has gone. No member counts the node as dead before it
  /// has missed the mark for so long.
  virtual std::uint64_t fence_lasts_us() const { return 0; }
  /// Returns how long wait() may last at most, so that own_valid_until_us does not run out.
  virtual std::uint64_t pulse_us() const = 0;
};

}  // namespace granary::membership
