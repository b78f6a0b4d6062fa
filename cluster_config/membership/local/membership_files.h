#pragma once
// Keeps the files of a `local` board, below a directory that belongs to one user:
//
//   node-N.alive      node N's mark: locked by its process, so that the end of the process, however it comes, frees it.
//                     The text says who it is. The file itself stays. If the process is killed, a child that it has
//                     forked keeps the lock; then the heartbeat that stands still tells of the end.
//   node-N.beat       node N's heartbeat (heartbeat.h), which tells a process that goes on from one that was stopped.
//                     It stays as well.
//   configuration.V   the document of version V. The greatest V counts; a change is the making of V + 1 by link(2),
//                     which fails for all but one. So a process that is stopped in the middle holds up no other. The
//                     last kKept documents stay, unless a member is alone. Older ones are removed in the order of
//                     their versions, so a process that was stopped for that long, and makes a removed document again,
//                     notices it by the missing document before it.
//   bell-R           a pipe by which the other boards wake a board (bells.h); that of a killed process stays until
//                    another board comes across it
//   draft-R           a document that a process is writing, with a name that no other draws; it stays if the
//                     process is killed meanwhile

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <granary/status.h>

#include "cluster_config/membership/board.h"

namespace granary::membership {

class MembershipFiles {
 public:
  /// Makes the directory below `run_directory` if need be. Returns kUnavailable if it is not this user's alone.
  static Result<MembershipFiles> open(const std::string& run_directory);

  const std::string& directory() const { return directory_; }

  /// Locks the node's mark and returns the descriptor, which holds the lock until unlock_mark(), or until no process
  /// has the descriptor any more, as a child of this process inherits it. Returns kAlreadyExists if another process has
  /// the lock.
  Result<int> lock_mark(NodeId id, const std::string& who) const;
  /// Gives up the lock that the process `taker` took by lock_mark(), even if a child of that process has inherited the
  /// descriptor, and closes the descriptor. In any other process the descriptor is only closed, as a child must not
  /// give up the mark of its parent.
  static void unlock_mark(int descriptor, pid_t taker);
  /// Whether the descriptor is still that of the mark. It is not if the directory was emptied.
  bool is_mark(int descriptor, NodeId id) const;
  std::string heartbeat(NodeId id) const;
  /// Returns the nodes whose marks are locked.
  Result<std::vector<NodeId>> locked_marks() const;

  /// How many documents stay. Only a process that was stopped meanwhile can miss one of them.
  static constexpr std::uint64_t kKept = 256;

  /// Returns the document of the greatest version, or kNotFound if there is none. If a power loss has taken its bytes,
  /// the newest document with bytes counts.
  Result<Document> newest() const;
  /// Makes the document of version `version` + 1. Returns false if there is or was one. `writer` has its mark.
  Result<bool> add(std::uint64_t version, const std::string& text, NodeId writer) const;

 private:
  explicit MembershipFiles(std::string directory) : directory_(std::move(directory)) {}
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  Result<std::vector<std::uint64_t>> versions() const;
  Result<std::string> read_whole(const std::vector<std::uint64_t>& versions) const;
  bool is_next(std::uint64_t version) const;
  void remove_old(std::uint64_t newest, NodeId writer) const;

  std::string directory_;
};

}  // namespace granary::membership
