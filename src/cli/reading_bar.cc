#include "src/cli/reading_bar.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace granary::cli {

namespace fs = std::filesystem;

ReadingBar::ReadingBar(std::uint64_t bytes) : read_{.bytes_done = 0, .bytes_all = bytes} {
  if (bytes != 0 && ::isatty(STDERR_FILENO) == 1) bar_.emplace(/*terminal=*/true);
}

ReadingBar::~ReadingBar() {
  if (bar_) bar_->show({read_.bytes_all, read_.bytes_all});
}

std::function<void(std::uint64_t)> ReadingBar::counter() {
  if (!bar_) return {};
  return [this](std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    read_.bytes_done = std::min(read_.bytes_done + bytes, read_.bytes_all);
    bar_->show(read_);
  };
}

std::uint64_t log_bytes(const InspectedDatabase& database) {
  std::uint64_t bytes = 0;
  const auto files = segment_files(database.manifest);
  if (!files.ok()) return 0;
  for (const SegmentFile& file : *files) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file.path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::uint64_t bytes_to_examine(const InspectedDatabase& database) {
  const auto& checkpoint = database.manifest.checkpoint;
  return 2 * log_bytes(database) + (checkpoint ? file_bytes(database.directory + "/" + checkpoint->directory) : 0);
}

std::uint64_t file_bytes(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;  // file_size() fails for a directory, which has no size
    const std::uintmax_t size = entry->file_size(none);
    if (!none) bytes += size;
  }
  return bytes;
}

}  // namespace granary::cli
