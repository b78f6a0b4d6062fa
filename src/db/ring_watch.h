#pragma once
// Tells when the log rings of a running database are gone from memory, as when somebody removes files of /dev/shm.

#include <cstdint>
#include <string>
#include <utility>

#include <granary/notice.h>

#include "src/base/directory.h"

namespace granary::db {

class RingWatch {
 public:
  RingWatch(NoticeSink sink, std::uint32_t epoch_ms) : sink_(std::move(sink)), ticks_a_look_(1 + 1000 / epoch_ms) {}

  /// Begins to watch the directory of the rings, which exists.
  void watch(std::string directory);
  /// Called in every epoch period, and looks once a second. There is one notice, as the directory cannot come back: the
  /// mapped rings are in files that have no names any more.
  void look();

 private:
  const NoticeSink sink_;
  const std::uint32_t ticks_a_look_;
  std::uint32_t ticks_ = 0;
  std::string directory_;  ///< empty: there are no rings, or their loss has been told
  base::DirectoryIdentity identity_;
};

}  // namespace granary::db
