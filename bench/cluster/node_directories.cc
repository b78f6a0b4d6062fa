#include "bench/cluster/node_directories.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace granary::bench::cluster {

namespace fs = std::filesystem;

std::vector<std::string> directories_of(const cluster_config::ClusterConfig& config) {
  std::vector<std::string> directories;
  for (const cluster_config::NodeConfig& node : config.nodes) {
    if (!node.data_directory.empty()) directories.push_back(node.data_directory);
    directories.insert(directories.end(), node.log_directories.begin(), node.log_directories.end());
  }
  return directories;
}

Status check_empty(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::error_code error;
    if (!fs::exists(directory, error) || fs::is_empty(directory, error)) continue;
    if (error) return {StatusCode::kUnavailable, fmt::format("'{}' cannot be read: {}", directory, error.message())};
    return {StatusCode::kFailedPrecondition,
            fmt::format("'{}' is not empty, and a run loads its data anew, after each repeat as well: "
                        "remove what is there ('cluster.sh wipe' does it for all nodes of a cluster), or name another "
                        "directory in the cluster file",
                        directory)};
  }
  return {};
}

Status empty(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::error_code error;
    if (!fs::exists(directory, error)) continue;
    std::vector<fs::path> entries;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
      entries.push_back(entry->path());
    for (const fs::path& entry : entries) {
      if (!error) fs::remove_all(entry, error);
    }
    if (error) return {StatusCode::kUnavailable, fmt::format("'{}' cannot be emptied: {}", directory, error.message())};
  }
  return {};
}

}  // namespace granary::bench::cluster
