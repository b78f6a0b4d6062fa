#pragma once
// The disks of several nodes as the host sees them that recovers a dead one: paths "/disk/N/..." are on the disk that
// node N has at present.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fault_files.h"

namespace granary::cluster::test {

class HostFiles final : public base::FileSystem {
 public:
  using Disk = std::unique_ptr<tests::FaultFiles>;
  explicit HostFiles(std::size_t nodes) : disks_(nodes) {}

  static std::string path(std::size_t node) { return "/disk/" + std::to_string(node); }
  Disk& disk(std::size_t node) { return disks_[node]; }

  Result<std::unique_ptr<base::File>> create(const std::string& path) override { return at(path).create(path); }
  Status reserve(const std::string& path, std::uint64_t bytes) override { return at(path).reserve(path, bytes); }
  Result<std::unique_ptr<base::File>> open_reserved(const std::string& path, const std::string& name) override {
    return at(path).open_reserved(path, name);
  }
  Result<std::unique_ptr<base::File>> open_at(const std::string& path, std::uint64_t offset) override {
    return at(path).open_at(path, offset);
  }
  Result<std::unique_ptr<base::File>> open(const std::string& path) override { return at(path).open(path); }
  Result<std::unique_ptr<base::File>> lock(const std::string& path) override { return at(path).lock(path); }
  Status rename(const std::string& from, const std::string& to) override { return at(to).rename(from, to); }
  Status remove(const std::string& path) override { return at(path).remove(path); }
  Result<std::vector<std::string>> list(const std::string& directory) override { return at(directory).list(directory); }
  Status make_directory(const std::string& path) override { return at(path).make_directory(path); }
  Status sync_directory(const std::string& path) override { return at(path).sync_directory(path); }

 private:
  /// Paths of no node's disk are of what all of them pass through to the system.
  base::FileSystem& at(const std::string& path) const {
    for (std::size_t node = 0; node < disks_.size(); ++node) {
      if (path == HostFiles::path(node) || path.starts_with(HostFiles::path(node) + "/")) return *disks_[node];
    }
    return base::system_files();
  }

  std::vector<Disk> disks_;
};

}  // namespace granary::cluster::test
