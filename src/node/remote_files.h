#pragma once
// Reads the manifest and the log of a node on another host, by messages. A node that recovers reads the logs of others
// by the same calls as its own.

#include <functional>
#include <string>

#include "src/base/file.h"
#include "src/cluster/messages/question.h"

namespace granary::db {

/// Files can only be read: any other call returns kFailedPrecondition. Used by one thread, the messenger's. Errors name
/// the node.
class RemoteFiles final : public base::FileSystem {
 public:
  /// Functions that ask the node until there is an answer, or until there can be none.
  struct Asks {
    std::function<Status(cluster::messages::QuestionOf<cluster::messages::ListFiles>&)> list;
    std::function<Status(cluster::messages::QuestionOf<cluster::messages::ReadFile>&)> read;
  };
  /// The name by which readers ask for the node's data directory.
  static constexpr const char* kDirectory = ".";

  RemoteFiles(rdma::NodeId node, Asks asks) : node_(node), asks_(std::move(asks)) {}

  Result<std::unique_ptr<base::File>> open(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;

  Result<std::unique_ptr<base::File>> create(const std::string& path) override { return refuse(path); }
  Status reserve(const std::string& path, std::uint64_t) override { return refuse(path); }
  Result<std::unique_ptr<base::File>> open_reserved(const std::string& path, const std::string& /*name*/) override {
    return refuse(path);
  }
  Result<std::unique_ptr<base::File>> open_at(const std::string& path, std::uint64_t) override { return refuse(path); }
  Result<std::unique_ptr<base::File>> lock(const std::string& path) override { return refuse(path); }
  Status rename(const std::string& from, const std::string&) override { return refuse(from); }
  Status remove(const std::string& path) override { return refuse(path); }
  Status make_directory(const std::string& path) override { return refuse(path); }
  Status sync_directory(const std::string& path) override { return refuse(path); }

  /// Reads as many bytes of the file as a message holds, at most `most`.
  Result<cluster::messages::ReadFileAnswer> read(const std::string& path, std::uint64_t offset, std::uint64_t most);

 private:
  Status refuse(const std::string& path) const;

  const rdma::NodeId node_;
  const Asks asks_;
};

}  // namespace granary::db
