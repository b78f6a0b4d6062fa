#pragma once
// From the text of a cluster file to values.

#include <string>
#include <string_view>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// What the text says, complete only if no problem was added. `file` is its name for messages; relative paths count
/// from `folder`.
ClusterConfig parse(std::string_view text, const std::string& file, const std::string& folder, Problems& problems);

}  // namespace granary::cluster_config
