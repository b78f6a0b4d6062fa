#include "cluster_config/load.h"

#include <filesystem>

#include <fmt/format.h>

#include "cluster_config/parse.h"
#include "src/base/file.h"

namespace granary::cluster_config {
namespace {

Result<std::string> read_text(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(kind))
    return Status(StatusCode::kInvalidArgument, fmt::format("there is no cluster file '{}'", path));
  if (!std::filesystem::is_regular_file(kind)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' is {}; expected a cluster file", path,
                              std::filesystem::is_directory(kind) ? "a directory" : "no regular file"));
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path, ignored);
  if (bytes > kMostFileBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("'{}' has {} bytes; a cluster file has at most 1 MiB", path, bytes));
  }
  Result<std::string> text = base::read_file(base::system_files(), path);
  if (!text.ok()) return Status(StatusCode::kInvalidArgument, text.status().message());
  return text;
}

}  // namespace

Result<ClusterConfig> examine(const std::string& path, Problems& problems) {
  const Result<std::string> text = read_text(path);
  if (!text.ok()) return text.status();
  std::error_code ignored;
  const std::string folder = std::filesystem::absolute(path, ignored).parent_path().string();
  return parse(*text, path, folder, problems);
}

Result<ClusterConfig> load(const std::string& path) {
  Problems problems(path);
  Result<ClusterConfig> config = examine(path, problems);
  if (!config.ok() || problems.empty()) return config;
  return problems.status();
}

}  // namespace granary::cluster_config
