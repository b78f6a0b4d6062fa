#pragma once
// Where the members of a cluster meet: a document that is changed by compare-and-set, and a mark for each node that
// lives, which goes when its process does. What follows from them is the same for all kinds (membership.h).
//
//   local/      files of a run directory: processes of one host
//   zookeeper/  znodes of an ensemble
//   MemoryBoard one process: tests, simulated clusters (memory_board.h)

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/lifetime.h"

namespace granary::membership {

/// How often a node that waits while it joins asks whether to give up.
inline constexpr std::uint64_t kGiveUpLook_us = 100'000;

struct Document {
  std::uint64_t version = 0;  ///< of the kind's own counting; 0: there is none yet
  std::string text;
};

struct Marks {
  std::vector<NodeId> nodes;
  /// Until then, by lifetime_us(), nobody counts this node as dead, whatever happens to its process or its network. It
  /// is at most fence_lasts_us() after a moment at which the mark was there for certain.
  std::uint64_t own_valid_until_us = 0;
};

/// Errors: kMembershipLost means that this object's mark is gone for good, and with it its reach; any other, unless it
/// is said below, that the board could not be reached or used now, and may be later. Calls are for one thread at a
/// time, except wait() and wake(), which may run beside another call.
class Board {
 public:
  /// Takes this process's mark away.
  virtual ~Board() = default;

  /// "the run directory '/run/granary'": for messages.
  virtual std::string name() const = 0;

  /// Makes the mark of node `id`. kAlreadyExists, with who it is, if another living process has it.
  virtual Status mark(NodeId id, const std::string& who) = 0;
  virtual Status unmark() = 0;
  /// kMembershipLost if this process had made a mark, and it is there no more.
  virtual Result<Marks> marks() = 0;

  /// kNotFound if nobody has written one. What is read here is no older than what this object read before.
  virtual Result<Document> read() = 0;
  /// Puts `text` in the place of the document if that is still of `version` (0: if there is none). False if it is not:
  /// then either nothing was done, or it was and somebody has put another in its place meanwhile.
  virtual Result<bool> replace(std::uint64_t version, const std::string& text) = 0;

  /// A word whose lowest bit is set before anybody counts this node as dead, and stays set: so a node's fence asks it
  /// (fence.h). There once the mark has been made, as long as the board. nullptr: the kind has none, and its nodes'
  /// fences go by own_valid_until_us alone.
  virtual const std::atomic<std::uint64_t>* verdict() const { return nullptr; }

  /// Returns when something may have changed, after wake(), or after this long.
  virtual void wait(std::uint64_t timeout_us) = 0;
  /// Ends a wait(), the next one if none is running. Thread-safe.
  virtual void wake() = 0;
  /// How long a mark may outlive its process.
  virtual std::uint64_t linger_us() const = 0;
  /// How long a node may go on committing after its mark has gone: nobody counts it as dead before it has missed the
  /// mark for so long.
  virtual std::uint64_t fence_lasts_us() const { return 0; }
  /// How long wait() may last at most, so that own_valid_until_us does not run out.
  virtual std::uint64_t pulse_us() const = 0;
};

}  // namespace granary::membership
