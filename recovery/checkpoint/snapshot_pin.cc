#include "recovery/checkpoint/snapshot_pin.h"

namespace granary::recovery::checkpoint {

Result<SnapshotPin> SnapshotPin::take(epoch::EpochManager& epochs) {
  epoch::Slot* const slot = epochs.acquire_slot();
  if (slot == nullptr)
    return Status(StatusCode::kResourceExhausted, "no epoch slot is free to pin a checkpoint's snapshot; retry later");
  epochs.enter(*slot);
  SnapshotPin pin(epochs, slot, epochs.pin_snapshot(*slot));
  epochs.leave(*slot);
  return pin;
}

SnapshotPin::~SnapshotPin() {
  if (slot_ == nullptr) return;
  epochs_->unpin_snapshot(*slot_);
  epochs_->release_slot(slot_);
}

}  // namespace granary::recovery::checkpoint
