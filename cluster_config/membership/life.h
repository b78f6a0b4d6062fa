#pragma once
// What a node's data directory remembers, in its file MEMBER: whose data it holds, of which cluster, and the node's
// last life there. So no node takes another one's data for its own, none with data joins a cluster that is not its own,
// or a board that forgot it, and none takes a generation for the second time (a board that was wiped would count from
// 1).

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "src/base/file.h"

namespace granary::membership {

inline constexpr std::string_view kLifeName = "MEMBER";

struct Life {
  std::string cluster = {};  ///< its name
  NodeId node = 0;
  std::uint64_t cluster_id = 0;  ///< 0: the directory was in none yet
  Generation generation = 0;     ///< of the node's last life
  bool served = false;           ///< the cluster has served with these data
  bool operator==(const Life&) const = default;
};

/// Of a directory that this node of this cluster is to use; an empty Life if there is no such file. kFailedPrecondition
/// if the data are another node's or another cluster's, kDamaged if the file is none of ours.
Result<Life> read_life(base::FileSystem& files, const std::string& directory, const std::string& cluster, NodeId node);
/// Returns the error for a node's data of an older life than `board` tells of.
Status older_data(NodeId node, const std::string& place, Generation found, Generation newest, std::string_view board);
/// Returns the error for data in `directory` that lack the file MEMBER, and so do not say whose they are: kDamaged,
/// with the file's name.
Status lost_life(const std::string& directory);
/// Returns the error for data that a later life has written than the one that their file MEMBER tells of: kDamaged,
/// with the file's name.
Status older_life(const std::string& directory, Generation told, Generation written);
/// Returns the error for a data directory (`whose`: it, or whose it is) that is empty though the cluster has served
/// with data there: kDamaged.
Status lost_data(const std::string& whose);
/// Reads the file like read_life(), but does not ask which cluster and node the data belong to.
Result<Life> read_any_life(base::FileSystem& files, const std::string& directory);
/// Makes the directory if need be; durable when it returns.
Status write_life(base::FileSystem& files, const std::string& directory, const Life& life);

}  // namespace granary::membership
