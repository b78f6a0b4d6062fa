#pragma once
// Prepares directories before a node of a cluster opens its database: finds out whose directories the node sees, and
// sees to it that all nodes' logs have ended as all agree.

#include <cstdint>
#include <optional>

#include <granary/cluster.h>
#include <granary/options.h>
#include <granary/status.h>

#include "cluster_config/config.h"
#include "cluster_config/membership/membership.h"
#include "src/base/file.h"
#include "src/db/cluster_part.h"

namespace granary::db {

/// Returns the options of a node's database, as the cluster file has them.
Options database_options(const ClusterOptions& options, const cluster_config::ClusterConfig& config,
                         const cluster_config::NodeConfig& node);

/// Whether one node sees the other's directories.
bool sees(const cluster_config::ClusterConfig& config, const cluster_config::NodeConfig& own,
          const cluster_config::NodeConfig& other);
bool sees_all(const cluster_config::ClusterConfig& config, const cluster_config::NodeConfig& own);

/// Whether a node that became a member when the membership had the number `began` can come back by this configuration.
/// It can if nothing is owed, and all others that serve are quiet since then and have in their logs what they did
/// before.
bool may_return(const membership::Configuration& found, NodeNumber own, std::uint64_t began);
/// Whether a node other than this one serves.
bool others_serve(const membership::Configuration& found, NodeNumber own);
/// Returns how far the log of another node counts for a node that comes back by this configuration. Returns nothing if
/// the other node does not serve in it: then all of its former lives' log counts. Once that node serves, it writes
/// nothing that a node which has yet to serve needs.
std::optional<epoch::Epoch> counts_up_to(const membership::Configuration& found, NodeNumber node);
/// Returns where E must begin at a node that comes back, as far as the others' logs matter.
epoch::Epoch first_epoch_of_return(const membership::Configuration& found, epoch::Epoch snapshot_epochs);

/// The node that prepares. It is a member, and nobody steps its membership meanwhile, unless the node comes back.
struct PreparedNode {
  const ClusterOptions& options;
  const cluster_config::ClusterConfig& config;
  const cluster_config::NodeConfig& own;
  bool served = false;  ///< NodeLife::served()
  membership::Membership& membership;
  base::FileSystem& files;
};

/// Waits until the logs of the others have all that can still change records of a node that comes back, and returns the
/// configuration that says how far these logs count. Another thread steps the membership. Returns no configuration when
/// no other node serves any more: then there is nobody to come back to, and a start of all nodes together may have to
/// settle what the last one owes.
Result<std::optional<membership::Configuration>> await_return(const PreparedNode& node);

/// Recovers the whole cluster if need be, with the other nodes or for them, and fills in `part` for the database. The
/// node takes its own records from the logs of all nodes: from those that it sees when it opens its database, and from
/// the others when it starts. `returns_by` is the configuration by which the node comes back to others that serve; it
/// is empty if all nodes start together.
Status prepare_directories(const PreparedNode& node, ClusterPart& part,
                           const std::optional<membership::Configuration>& returns_by);

}  // namespace granary::db
