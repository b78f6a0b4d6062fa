#pragma once
// Reads and writes what the data directory of a node remembers of the node's lives as a member of its cluster. The
// directory says of which life its data are before anybody else learns of that life. A node without a directory
// remembers nothing.

#include <granary/status.h>

#include "cluster_config/config.h"
#include "cluster_config/membership/life.h"

namespace granary::db {

/// Returns the life that a node's directory remembers; an empty one if it holds no data, or the node has no directory.
/// Data without the file MEMBER, or with one that is older than they are, are refused. A node that salvages takes such
/// data for its own, and their manifest tells of which life they are.
Result<membership::Life> read_life(const cluster_config::ClusterConfig& config, const cluster_config::NodeConfig& node,
                                   bool salvage);

class NodeLife {
 public:
  /// Both outlive this.
  NodeLife(const cluster_config::ClusterConfig& config, const cluster_config::NodeConfig& own)
      : config_(config),
        own_(own) {}

  /// Reads the former life. Unless the node salvages, it returns an error if the directory is empty though another node
  /// on this host has data of a cluster that has served: the data may be mounted later, so nothing is noted there. It
  /// also returns an error if root would take the data away from another user.
  Status read(bool salvage);
  /// Whether the directory has data.
  bool finds_data() const { return finds_data_; }
  const membership::Life& former() const { return former_; }
  /// Whether the directory's data are of a cluster that has served.
  bool served() const { return served_; }

  /// Notes which life begins, with what is known of the cluster from the former life. The cluster's id follows once the
  /// node has joined.
  Status note_begun(membership::Generation generation) const;
  /// Notes the life as it is known once the node has joined. If the directory was in a cluster before, it keeps that
  /// cluster's id until note_served().
  Status note_joined(membership::Life life) const;
  /// Takes back what this life has noted in a directory that had neither data nor a note before, and has no data yet. A
  /// later life does not need the note of a life without data. Called by a life that does not start, while it is a
  /// member: then no other life of the node notes anything.
  void take_back() const;
  /// Notes that the cluster serves: from then on a directory without data has lost them, and the data belong to the
  /// cluster of this life.
  Status note_served(const membership::Life& life);

 private:
  const cluster_config::ClusterConfig& config_;
  const cluster_config::NodeConfig& own_;
  Status check_present() const;

  membership::Life former_;
  bool finds_data_ = false;
  bool served_ = false;
};

}  // namespace granary::db
