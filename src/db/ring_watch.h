#pragma once
// Tells when log rings of a running database are gone from memory, as when somebody removes files of /dev/shm.

#include <cstdint>
#include <utility>

#include <granary/notice.h>

#include "src/log/log.h"

namespace granary::db {

class RingWatch {
 public:
  RingWatch(NoticeSink sink, std::uint32_t epoch_ms) : sink_(std::move(sink)), ticks_a_look_(1 + 1000 / epoch_ms) {}

  /// Looks once a second whether rings are gone; called in every epoch period. It gives one notice only, as a ring
  /// cannot come back: the mapped file has no name any more.
  void look(const log::Log& log);

 private:
  const NoticeSink sink_;
  const std::uint32_t ticks_a_look_;
  std::uint32_t ticks_ = 0;
  bool told_ = false;
};

}  // namespace granary::db
