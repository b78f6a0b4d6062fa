#pragma once
// Explains errors of devices, and says what to do.

#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::rdma::verbs {

/// Says what a work completion's status (ibv_wc_status) means here, and what to do. There is one sentence for each
/// status.
std::string completion_advice(int status);

/// Returns why a region could not be registered. `error` is errno's value, `lock_limit` the process's RLIMIT_MEMLOCK,
/// which holds for this region and the `registered` bytes of others together.
Status registration_error(int error, std::uint64_t bytes, std::uint64_t registered, std::uint64_t lock_limit);

}  // namespace granary::rdma::verbs
