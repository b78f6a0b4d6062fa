#pragma once
// Files in memory, whose n-th changing operation can fail, and that note what was done in which order.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/file.h"

namespace granary::tests {

class MemoryFiles final : public base::FileSystem {
 public:
  using Bytes = std::shared_ptr<std::string>;

  /// The changing operation with this number (from 1) fails, half done if it is an append; 0 = none. Counts from anew.
  void fail_at(std::uint64_t operation) {
    fail_at_ = operation;
    operations_.clear();
  }
  std::vector<std::string> operations() {
    const std::lock_guard lock(mutex_);
    return operations_;
  }
  std::string& bytes(const std::string& path) { return *files_.at(path); }
  void put(const std::string& path, std::string bytes) {
    files_[path] = std::make_shared<std::string>(std::move(bytes));
  }
  std::size_t count() const { return files_.size(); }

  Result<std::unique_ptr<base::File>> create(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (!allowed("create " + path)) return failure(path);
    if (files_.contains(path)) return Status(StatusCode::kAlreadyExists, path);
    return open_file(files_[path] = std::make_shared<std::string>(), path);
  }
  // Checkpoints do not ask for these.
  Status reserve(const std::string& path, std::uint64_t) override { return failure(path); }
  Result<std::unique_ptr<base::File>> open_reserved(const std::string& path, const std::string& /*name*/) override {
    return failure(path);
  }
  Result<std::unique_ptr<base::File>> open_at(const std::string& path, std::uint64_t) override { return failure(path); }
  Result<std::unique_ptr<base::File>> open(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(path);
    if (found == files_.end()) return Status(StatusCode::kNotFound, path);
    return open_file(found->second, path);
  }
  Result<std::unique_ptr<base::File>> lock(const std::string& path) override { return create(path); }
  Status rename(const std::string& from, const std::string& to) override {
    const std::lock_guard lock(mutex_);
    if (!allowed("rename " + to)) return failure(to);
    files_[to] = files_[from];
    files_.erase(from);
    return {};
  }
  Status remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    operations_.push_back("remove " + path);
    files_.erase(path);
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [path, bytes] : files_) {
      if (path.starts_with(directory + '/')) names.push_back(path.substr(directory.size() + 1));
    }
    return names;
  }
  Status make_directory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    return allowed("make_directory " + path) ? Status() : failure(path);
  }
  Status sync_directory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    return allowed("sync_directory " + path) ? Status() : failure(path);
  }

 private:
  class Open final : public base::File {
   public:
    Open(MemoryFiles& files, Bytes bytes, std::string path)
        : files_(files),
          bytes_(std::move(bytes)),
          path_(std::move(path)) {}
    Status append(std::span<const char> bytes) override {
      const std::lock_guard lock(files_.mutex_);
      const bool whole = files_.allowed("append " + path_);
      bytes_->append(bytes.data(), whole ? bytes.size() : bytes.size() / 2);
      return whole ? Status() : failure(path_);
    }
    Status sync() override {
      const std::lock_guard lock(files_.mutex_);
      return files_.allowed("sync " + path_) ? Status() : failure(path_);
    }
    Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override {
      const std::size_t left = offset < bytes_->size() ? bytes_->size() - offset : 0;
      const std::size_t count = std::min(left, bytes.size());
      std::copy_n(bytes_->begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(offset, bytes_->size())), count,
                  bytes.begin());
      return count;
    }
    Result<std::uint64_t> size() override { return std::uint64_t{bytes_->size()}; }

   private:
    MemoryFiles& files_;
    const Bytes bytes_;
    const std::string path_;
  };

  static Status failure(const std::string& path) { return {StatusCode::kDiskFull, "no space for '" + path + "'"}; }
  bool allowed(std::string operation) {
    operations_.push_back(std::move(operation));
    return operations_.size() != fail_at_;
  }
  std::unique_ptr<base::File> open_file(Bytes bytes, const std::string& path) {
    return std::make_unique<Open>(*this, std::move(bytes), path);
  }

  std::mutex mutex_;
  std::map<std::string, Bytes> files_;
  std::vector<std::string> operations_;
  std::uint64_t fail_at_ = 0;
};

}  // namespace granary::tests
