#pragma once
// Whether a host is fit for Granary, apart from any database or cluster: what was found, and the command that mends it.

#include <span>

#include "rdma/verbs/device.h"
#include "src/cli/cluster_check/finding.h"
#include "src/cli/doctor/host.h"

namespace granary::doctor {

using cluster_check::Finding;
using cluster_check::Findings;
using cluster_check::Verdict;

/// Kernel, processor, clock, memory, limits.
Findings check_host(const Host& host);

/// RDMA devices and their ports. A host without any can run nodes over provider shm, so that is a note.
Findings check_devices(std::span<const rdma::verbs::DeviceFacts> devices);

}  // namespace granary::doctor
