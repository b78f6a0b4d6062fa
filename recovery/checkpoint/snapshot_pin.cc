#include "recovery/checkpoint/snapshot_pin.h"

#include <fmt/format.h>

namespace granary::recovery::checkpoint {

Result<SnapshotPin> SnapshotPin::take(epoch::EpochManager& epochs, epoch::Epoch complete_from) {
  epoch::Slot* const slot = epochs.acquire_slot();
  if (slot == nullptr)
    return Status(StatusCode::kResourceExhausted, "no epoch slot is free to pin a checkpoint's snapshot; retry later");
  epochs.enter(*slot);
  SnapshotPin pin(epochs, slot, epochs.pin_snapshot(*slot));
  epochs.leave(*slot);
  if (pin.epoch() >= complete_from) return pin;
  return Status(
      StatusCode::kUnavailable,
      fmt::format("the newest snapshot is at epoch {}, a checkpoint can be taken from epoch {} on; retry later",
                  pin.epoch(), complete_from));
}

SnapshotPin::~SnapshotPin() {
  if (slot_ == nullptr) return;
  epochs_->unpin_snapshot(*slot_);
  epochs_->release_slot(slot_);
}

}  // namespace granary::recovery::checkpoint
