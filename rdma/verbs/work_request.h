#pragma once
// Translates an operation into a work request of the device.

#include <infiniband/verbs.h>

#include <cstdint>

#include "rdma/fabric.h"

namespace granary::rdma::verbs {

/// Fills in all of a work request but its number, its local memory, the links to others and the signal. A fenced
/// operation waits for READs and atomics before it. A WRITE of at most `inline_bytes` is copied when it is posted.
void translate(const Operation& operation, std::uint64_t remote, std::uint32_t key, std::uint32_t inline_bytes,
               ibv_send_wr& request);

}  // namespace granary::rdma::verbs
