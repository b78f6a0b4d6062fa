#pragma once
// Forwards to another file system, but reads fail once the work is to end. A recovery reads from its beginning to its
// end, and at any read it leaves a state that the next one can take up. Writes are passed on, so they leave nothing
// half written that they would not leave anyway.

#include <functional>

#include "src/base/file.h"

namespace granary::base {

class InterruptibleFiles final : public FileSystem {
 public:
  /// Any thread that reads calls `interrupted`, several at once. Once it returns true, opening and reading files and
  /// taking locks ends with kFailedPrecondition.
  InterruptibleFiles(FileSystem& below, std::function<bool()> interrupted)
      : below_(below),
        interrupted_(std::move(interrupted)) {}

  FileSystem& below() const { return below_; }

  Result<std::unique_ptr<File>> create(const std::string& path) override { return below_.create(path); }
  Result<std::unique_ptr<File>> create_direct(const std::string& path) override { return below_.create_direct(path); }
  Status reserve(const std::string& path, std::uint64_t bytes) override { return below_.reserve(path, bytes); }
  Result<std::unique_ptr<File>> open_reserved(const std::string& path, const std::string& name) override {
    return below_.open_reserved(path, name);
  }
  Result<std::unique_ptr<File>> open_at(const std::string& path, std::uint64_t offset) override {
    return below_.open_at(path, offset);
  }
  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<std::unique_ptr<File>> lock(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override { return below_.rename(from, to); }
  Status remove(const std::string& path) override { return below_.remove(path); }
  Result<std::vector<std::string>> list(const std::string& directory) override { return below_.list(directory); }
  Status make_directory(const std::string& path) override { return below_.make_directory(path); }
  Status sync_directory(const std::string& path) override { return below_.sync_directory(path); }
  Result<std::unique_ptr<File>> open_directory(const std::string& path) override { return below_.open_directory(path); }

 private:
  FileSystem& below_;
  const std::function<bool()> interrupted_;
};

}  // namespace granary::base
