#include "src/cli/cluster_check/directory_checks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "cluster_config/key_file.h"
#include "src/node/node_life.h"

namespace granary::cluster_check {
namespace {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

Finding check_key(const ClusterConfig& config) {
  if (config.key_file.empty()) {
    return {.subject = "cluster key", .found = "none: every process of this user may join"};
  }
  const auto key = cluster_config::read_key(config.key_file);
  if (key.ok()) return {.subject = "cluster key", .found = config.key_file};
  const bool missing = key.status().code() == StatusCode::kNotFound;
  return {.subject = "cluster key",
          .verdict = Verdict::kBad,
          .found = key.status().message(),
          .mend = missing ? fmt::format("granary cluster key {}, once, then copy it to all hosts", config.key_file)
                          : "a file of the node's user, mode 0600, with 32 bytes or more"};
}

/// Checks that the token which the node expects of HTTP clients can be read.
Finding check_token(const NodeConfig& node) {
  Finding finding{.subject = fmt::format("HTTP token of {}", node.id), .found = node.http_token_file};
  const auto token = cluster_config::read_secret(node.http_token_file, "http_token_file");
  if (token.ok()) return finding;
  finding.verdict = Verdict::kBad;
  finding.found = token.status().message();
  finding.mend = token.status().code() == StatusCode::kNotFound
                     ? fmt::format("granary cluster key {}", node.http_token_file)
                     : "a file of the node's user, mode 0600, with the token in it";
  return finding;
}

Finding check_run_directory(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {.subject = "run directory", .found = fmt::format("'{}' will be made", path)};
    return {.subject = "run directory",
            .verdict = Verdict::kBad,
            .found = fmt::format("'{}': {}", path, std::strerror(errno)),
            .mend = "correct 'run_directory'"};
  }
  Finding finding{.subject = "run directory", .found = path};
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    finding.verdict = Verdict::kBad;
    finding.found = fmt::format("'{}' is not private to user {}", path, ::geteuid());
    finding.mend = fmt::format("chown {} {} && chmod 700 {}", ::geteuid(), path, path);
  } else if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    finding.verdict = Verdict::kBad;
    finding.found = fmt::format("'{}' cannot be written: {}", path, std::strerror(errno));
    finding.mend = "mount its file system for writing, or name another one by 'run_directory'";
  }
  return finding;
}

Finding check_directory(const NodeConfig& node, const std::string& path) {
  Finding finding{.subject = fmt::format("directory of {}", node.id), .found = path};
  const std::string there = existing_directory(path);
  std::error_code none;
  if (!std::filesystem::is_directory(there, none) || ::access(there.c_str(), R_OK | W_OK | X_OK) != 0) {
    finding.verdict = Verdict::kBad;
    finding.found = fmt::format("'{}' cannot be used: '{}' is no directory that this user may write to", path, there);
    finding.mend = "make it, with this user as owner, or correct the file";
  }
  return finding;
}

/// Checks that the data in the directory are the node's own.
Finding check_data(const ClusterConfig& config, const NodeConfig& node) {
  Finding finding = check_directory(node, node.data_directory);
  const auto life = db::read_life(config, node, /*salvage=*/false);
  if (finding.verdict == Verdict::kBad || life.ok()) return finding;
  finding.verdict = Verdict::kBad;
  finding.found = life.status().message();
  finding.mend = life.status().code() == StatusCode::kDamaged ? "put back the file that is named"
                                                              : "give each node its own directory, or an empty one";
  return finding;
}

}  // namespace

std::string existing_directory(const std::string& directory) {
  std::filesystem::path path = directory;
  std::error_code none;
  while (!std::filesystem::exists(path, none) && path.has_relative_path()) path = path.parent_path();
  return path;
}

Findings check_directories(const ClusterConfig& config, std::span<const NodeConfig> here) {
  Findings findings{check_key(config), check_run_directory(config.run_directory)};
  for (const NodeConfig& node : here) {
    if (!node.http_token_file.empty()) findings.push_back(check_token(node));
    if (!node.data_directory.empty()) findings.push_back(check_data(config, node));
    std::vector<std::string> directories = node.log_directories;
    directories.push_back(node.reliable_directory);
    for (const std::string& path : directories) {
      if (!path.empty()) findings.push_back(check_directory(node, path));
    }
  }
  return findings;
}

}  // namespace granary::cluster_check
