#pragma once
// Gets keys of other nodes for a transaction.

#include <span>

#include "src/cluster/transaction/locked_reads.h"

namespace granary::cluster {

/// Implements txn::RemoteAccess::get().
AbortReason get(Footprint& footprint, Reading& reading, LockedReads& locked_reads, std::span<txn::RemoteGet> gets);

}  // namespace granary::cluster
