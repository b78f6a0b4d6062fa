#pragma once
// Keeps the memory of a node's data directory, in its file MEMBER: which node's data it holds, of which cluster, and
// the node's last life there. So no node takes another one's data for its own, no node with data joins another cluster,
// or a board that forgot the node, and no node takes a generation for the second time (a board that was wiped would
// count from 1).

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "src/base/file.h"

namespace granary::membership {

inline constexpr std::string_view kLifeName = "MEMBER";

struct Life {
  std::string cluster = {};  ///< the name of the cluster
  NodeId node = 0;
  std::uint64_t cluster_id = 0;  ///< 0: the directory was in no cluster yet
  Generation generation = 0;     ///< the node's last life
  bool served = false;           ///< whether the cluster has served with these data
  bool operator==(const Life&) const = default;
};

/// Reads the file in a directory that this node of this cluster is to use. Returns an empty Life if there is no such
/// file; kFailedPrecondition if the data are another node's or another cluster's; kDamaged if the file is none of ours.
Result<Life> read_life(base::FileSystem& files, const std::string& directory, const std::string& cluster, NodeId node);
/// Returns the error for a node's data of an older life than the one that `board` names.
Status older_data(NodeId node, const std::string& place, Generation found, Generation newest, std::string_view board);
/// Returns the error for data in `directory` that lack the file MEMBER, so it is not known whose they are: kDamaged,
/// with the file's name.
Status lost_life(const std::string& directory);
/// Returns the error for data that a later life has written than the one in their file MEMBER: kDamaged, with the
/// file's name.
Status older_life(const std::string& directory, Generation told, Generation written);
/// Returns the error for a data directory that is empty though the cluster has served with data there: kDamaged.
/// `whose` names the directory, or its owner.
Status lost_data(const std::string& whose);
/// Reads the file like read_life(), but does not ask which cluster and node the data belong to.
Result<Life> read_any_life(base::FileSystem& files, const std::string& directory);
/// Writes the life, and makes the directory if need be. Both are durable when it returns.
Status write_life(base::FileSystem& files, const std::string& directory, const Life& life);

}  // namespace granary::membership
