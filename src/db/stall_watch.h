#pragma once
// The watchdog (I13) tells which worker keeps a transaction open for so long that its epoch cannot end.

#include <cstdint>
#include <utility>

#include <granary/notice.h>

#include "src/db/workers.h"
#include "src/epoch/epoch.h"

namespace granary::db {

class StallWatch {
 public:
  StallWatch(NoticeSink sink, std::uint32_t epoch_ms, const epoch::EpochManager& epochs, const Workers& workers)
      : sink_(std::move(sink)),
        epoch_ms_(epoch_ms),
        epochs_(epochs),
        workers_(workers) {}

  /// Gives a notice if a worker has held the epoch back for a second; called in every epoch period. It gives one notice
  /// for each stall, not one in each period.
  void look();

 private:
  const NoticeSink sink_;
  const std::uint32_t epoch_ms_;
  const epoch::EpochManager& epochs_;
  const Workers& workers_;
  bool told_ = false;  ///< whether it has told of the present stall
};

}  // namespace granary::db
