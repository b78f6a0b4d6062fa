#include "src/base/interruptible_files.h"

#include <utility>

namespace granary::base {
namespace {

Status interruption(const std::string& path) {
  return {StatusCode::kFailedPrecondition, "'" + path + "' is not read any more: the work was interrupted"};
}

class InterruptibleFile final : public File {
 public:
  InterruptibleFile(std::unique_ptr<File> file, std::string path, const std::function<bool()>& interrupted)
      : file_(std::move(file)),
        path_(std::move(path)),
        interrupted_(interrupted) {}

  Status append(std::span<const char> bytes) override { return file_->append(bytes); }
  Status sync() override { return file_->sync(); }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) override {
    if (interrupted_()) return interruption(path_);
    return file_->read_at(offset, bytes);
  }
  Result<std::uint64_t> size() override { return file_->size(); }

 private:
  const std::unique_ptr<File> file_;
  const std::string path_;
  const std::function<bool()>& interrupted_;
};

}  // namespace

Result<std::unique_ptr<File>> InterruptibleFiles::open(const std::string& path) {
  if (interrupted_()) return interruption(path);
  auto file = below_.open(path);
  if (!file.ok()) return file;
  return std::unique_ptr<File>(std::make_unique<InterruptibleFile>(std::move(*file), path, interrupted_));
}

Result<std::unique_ptr<File>> InterruptibleFiles::lock(const std::string& path) {
  if (interrupted_()) return interruption(path);
  return below_.lock(path);
}

}  // namespace granary::base
