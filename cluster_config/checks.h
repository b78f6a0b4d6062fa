#pragma once
// Checks the nodes of a cluster file together.

#include <string>
#include <string_view>
#include <vector>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// Checks that no id, place or directory belongs to two nodes, and that the kinds of membership and provider fit the
/// hosts.
void check_nodes(const ClusterConfig& config, Problems& problems);

/// Returns the first text that is in the list a second time; nullptr if all differ.
const std::string* named_twice(const std::vector<std::string>& list);

/// Whether the text is "host:port". A host of digits and dots, or in brackets, has to be an IP address.
bool is_place(const std::string& text);
/// Whether the text is the identity of a PTP clock as linuxptp prints it, "001122.fffe.334455": 16 hexadecimal digits.
bool is_clock_identity(std::string_view text);
/// Whether the text is an IP address that one host can have.
bool is_own_address(const std::string& text);

}  // namespace granary::cluster_config
