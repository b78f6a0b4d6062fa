#pragma once
// Before a node of a cluster opens its directory: the first that comes after a crash recovers the whole cluster.

#include <span>
#include <string>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/file.h"
#include "src/epoch/epoch.h"

namespace granary::db {

/// `nodes`: all nodes of the cluster, all on this host; `lock`: a file that they share. Waits at most `timeout_ms` for another
/// node that is at it. An error if some node did not end in order, and another is running: then those have to end first.
/// Returns where E of a node that begins now may begin (ClusterPart::first_epoch).
Result<epoch::Epoch> recover_directories(std::span<const Options> nodes, const std::string& lock,
                                         std::uint64_t timeout_ms, base::FileSystem& files);

}  // namespace granary::db
