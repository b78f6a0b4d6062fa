#pragma once
// The files of this node's directory that other nodes may read: its manifest and its log. They get nothing else,
// whatever they ask for.

#include <memory>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/cluster/messages/file_source.h"

namespace granary::db {

/// Used by the service's thread. Paths are as the manifest has them: absolute, or in ".", the data directory.
class LogFiles final : public cluster::messages::FileSource {
 public:
  LogFiles(std::string directory, base::FileSystem& files) : directory_(std::move(directory)), files_(files) {}

  void answer(const cluster::messages::ListFiles& request, cluster::messages::ListFilesAnswer& answer) override;
  void answer(const cluster::messages::ReadFile& request, cluster::messages::ReadFileAnswer& answer) override;

 private:
  /// The path here; an error if it is none that others may read.
  Result<std::string> admit(std::string_view path) const;
  /// The directory here that the name of a reader means.
  std::string here(std::string_view directory) const;
  /// An error unless the manifest names the directory, and it is this database's own.
  Status check_log_directory(const std::string& directory) const;
  Status open(const std::string& path);

  const std::string directory_;
  base::FileSystem& files_;
  std::string open_path_;
  std::unique_ptr<base::File> open_;  ///< the last that was read
};

}  // namespace granary::db
