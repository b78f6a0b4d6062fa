#pragma once
// When a node starts, tries out what the protocols assume of its device and no attribute of the device tells:
//
//   - compare-and-swap and fetch-add work; a compare-and-swap that fails writes nothing, not even the value it found
//     (I2);
//   - a READ of one cache line loads its words in ascending order, and each whole (I4).
//
// A probe finds a device that does not do so; it proves nothing about one that passes.

#include <granary/status.h>

#include "rdma/verbs/own_region.h"

namespace granary::rdma::verbs {

/// `fabric` listens, with `own` as its own region, whose first 64 KiB the probe uses. Takes some ten milliseconds.
/// `tolerant`: what VerbsOptions::tolerate_swap_stores says is not looked for.
Status probe(Fabric& fabric, OwnRegion& own, bool tolerant);

}  // namespace granary::rdma::verbs
