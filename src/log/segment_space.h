#pragma once
// Where a logger's segments come from: files set aside in advance, as long as there are any, else new ones. What was
// set aside cannot be missing later, needs no allocation while transactions wait, and on a file system in memory is
// memory already.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/file.h"

namespace granary::log {

/// "spare-l02-00000007.glog": set aside for logger 2.
std::string spare_name(std::uint32_t logger, std::uint64_t number);
bool is_spare_name(std::string_view name);

/// Thread-safe.
class SegmentSpace {
 public:
  struct Options {
    base::FileSystem* files = nullptr;
    std::string directory;
    std::uint32_t logger = 0;
    std::uint64_t segment_bytes = 0;
    std::uint64_t spares = 0;  ///< so many files are set aside
  };
  explicit SegmentSpace(Options options) : options_(std::move(options)) {}

  /// Sets aside what is missing, after an opening or once a segment was removed. kDiskFull if there is no such space.
  Status replenish();

  /// The file `path`, to be written from its start; its name is durable after sync_directory().
  Result<std::unique_ptr<base::File>> take(const std::string& path);

  /// Whether the next segment has been set aside. Thread-safe.
  bool has_spare() const {
    const std::lock_guard lock(mutex_);
    return !spares_.empty();
  }

 private:
  const Options options_;
  std::mutex replenishing_;  // held while files are set aside, which may take long; taken before mutex_; guards next_
  std::uint64_t next_ = 0;
  // The mutex guards spares_. It is never held while the device works, so that a logger does not wait for that.
  mutable std::mutex mutex_;
  std::vector<std::string> spares_;
};

}  // namespace granary::log
