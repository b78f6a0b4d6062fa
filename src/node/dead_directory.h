#pragma once
// Opens what a dead life has left in its directory, and checks that it is that life's and no other's. A recoverer does
// so before it acts, and a node that is about to visit does so to see whether the visit is of any use.

#include <functional>
#include <memory>

#include <granary/options.h>
#include <granary/status.h>

#include "cluster_config/membership/configuration.h"
#include "src/base/file.h"
#include "src/db/dead_node.h"

namespace granary::db {

/// Returns the last life of a node that its directory remembers; 0 if it has no data.
using RememberedLife = std::function<Result<membership::Generation>(membership::NodeId)>;

/// Opens what the life has left, by DeadNode::open() and with its errors. Returns nullptr if the life has left nothing,
/// because it died before it had data. Returns kDamaged if the data of a life that had some are gone, and
/// kFailedPrecondition if they are an older copy.
Result<std::unique_ptr<DeadNode>> open_dead(const membership::Configuration& known, const membership::Owed& debt,
                                            const Options& options, const RememberedLife& remembered,
                                            base::FileSystem& files);

}  // namespace granary::db
