#pragma once
// Provides the files of a logger's segments: those that were set aside in advance, as long as there are any, and new
// ones after that. A file that was set aside has its space already, needs no allocation while transactions wait, and on
// a file system in memory is memory already. If somebody has removed one, the next one is taken.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/file.h"

namespace granary::log {

/// Returns the name of a file that was set aside, such as "spare-l02-00000007.glog" for logger 2.
std::string spare_name(std::uint32_t logger, std::uint64_t number);
bool is_spare_name(std::string_view name);

/// The spare files of one logger. Thread-safe.
class SegmentSpace {
 public:
  struct Options {
    base::FileSystem* files = nullptr;
    std::string directory;
    std::uint32_t logger = 0;
    std::uint64_t segment_bytes = 0;
    std::uint64_t spares = 0;  ///< how many files are set aside
  };
  explicit SegmentSpace(Options options) : options_(std::move(options)) {}

  /// Sets aside as many files as are missing, after an opening or once a segment was removed. Returns kDiskFull if
  /// there is no space for them.
  Status replenish();

  /// Returns the file `path`, to be written from its start. Its name is durable after sync_directory(). After
  /// kUnavailable, as where the process may open no more files, there is no such file, and the call may be made again.
  Result<std::unique_ptr<base::File>> take(const std::string& path);

  /// Whether the next segment has been set aside. Thread-safe.
  bool has_spare() const {
    const std::lock_guard lock(mutex_);
    return !spares_.empty();
  }

 private:
  /// Returns the path of a spare file, which is the caller's then; "" if there is none.
  std::string take_spare();

  const Options options_;
  std::mutex replenishing_;  // held while files are set aside, which may take long; taken before mutex_; guards next_
  std::uint64_t next_ = 0;
  // Guards spares_. It is never held while the device works, so that a logger does not wait for the device here.
  mutable std::mutex mutex_;
  std::vector<std::string> spares_;
};

}  // namespace granary::log
