#pragma once
// Answers other nodes that read the files of this node's directory. They may read its manifest and its log, and get
// nothing else, whatever they ask for.

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
  /// Returns the path of the file at this node; an error if other nodes may not read it.
  Result<std::string> admit(std::string_view path) const;
  /// Returns the directory at this node that a reader means by this name.
  std::string here(std::string_view directory) const;
  /// Returns an error unless the manifest names the directory and it is this database's own.
  Status check_log_directory(const std::string& directory) const;
  Status open(const std::string& path);

  const std::string directory_;
  base::FileSystem& files_;
  std::string open_path_;
  std::unique_ptr<base::File> open_;  ///< the file that was read last
};

}  // namespace granary::db
