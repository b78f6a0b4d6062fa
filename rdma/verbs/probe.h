#pragma once
// Tries out, when a node starts, what the protocols assume of its device and no attribute of the device tells:
//   - compare-and-swap and fetch-add work; a compare-and-swap that fails writes nothing, not even the value it found
//     (I2);
//   - a READ of one cache line loads its words in ascending order, and each whole (I4).
//
// A probe finds a device that breaks an assumption. It proves nothing about a device that passes.

#include <granary/status.h>

#include "rdma/verbs/own_region.h"

namespace granary::rdma::verbs {

/// Probes the device. `fabric` listens, and `own` is its own region, of which the probe uses the first 64 KiB. It takes
/// some ten milliseconds. If `tolerant`, it does not look for what VerbsOptions::tolerate_swap_stores allows.
Status probe(Fabric& fabric, OwnRegion& own, bool tolerant);

}  // namespace granary::rdma::verbs
