#pragma once
// The flag --provider of the benchmarks of one-sided operations, and the fabrics of their own nodes.

#include <memory>
#include <string>

#include <granary/status.h>

#include "bench/harness/flags.h"
#include "cluster_config/provider.h"
#include "rdma/fabric.h"

namespace granary::bench::fabric {

Flag provider_flag();
/// Returns the provider that the flag names.
cluster_config::Provider provider_of(const FlagValues& flags);

/// Opens the fabric of a node that takes part in nothing but the benchmark. All nodes of one run name the same
/// directory, in which they find each other.
Result<std::unique_ptr<rdma::Fabric>> open_bench_fabric(cluster_config::Provider provider, rdma::NodeId node,
                                                        const std::string& run_directory);

}  // namespace granary::bench::fabric
