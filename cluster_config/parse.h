#pragma once
// Turns the text of a cluster file into values.

#include <string>
#include <string_view>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// Returns the values of the text, which are complete only if no problem was added. `file` is its name for messages;
/// relative paths count from `folder`.
ClusterConfig parse(std::string_view text, const std::string& file, const std::string& folder, Problems& problems);

}  // namespace granary::cluster_config
