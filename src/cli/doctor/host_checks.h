#pragma once
// Checks whether a host is fit for Granary, apart from any database or cluster. A finding names the command that mends
// it.

#include <span>

#include "rdma/verbs/device.h"
#include "src/cli/cluster_check/finding.h"
#include "src/cli/doctor/host.h"

namespace granary::doctor {

using cluster_check::Finding;
using cluster_check::Findings;
using cluster_check::Verdict;

/// Checks kernel, processor, clock, memory and limits.
Findings check_host(const Host& host);

/// Checks RDMA devices and their ports. A host without any can run nodes over provider shm, so that is a note.
Findings check_devices(std::span<const rdma::verbs::DeviceFacts> devices);

}  // namespace granary::doctor
