#pragma once
// Keeps the versions that one snapshot epoch sees, without holding back E: its epoch slot is pinned, but not entered.

#include <utility>

#include <granary/status.h>

#include "src/epoch/epoch.h"

namespace granary::recovery::checkpoint {

class SnapshotPin {
 public:
  /// Pins the newest snapshot.
  static Result<SnapshotPin> take(epoch::EpochManager& epochs);
  SnapshotPin(SnapshotPin&& other) noexcept
      : epochs_(other.epochs_),
        slot_(std::exchange(other.slot_, nullptr)),
        epoch_(other.epoch_) {}
  SnapshotPin& operator=(SnapshotPin&&) = delete;
  ~SnapshotPin();

  /// Returns the snapshot's epoch Se. The snapshot sees exactly the transactions with an epoch < Se.
  epoch::Epoch epoch() const { return epoch_; }

 private:
  SnapshotPin(epoch::EpochManager& epochs, epoch::Slot* slot, epoch::Epoch epoch)
      : epochs_(&epochs),
        slot_(slot),
        epoch_(epoch) {}

  epoch::EpochManager* epochs_;
  epoch::Slot* slot_;
  epoch::Epoch epoch_;
};

}  // namespace granary::recovery::checkpoint
