#pragma once
// What must hold of the nodes of a cluster file together.

#include <string>
#include <string_view>
#include <vector>

#include "cluster_config/config.h"
#include "cluster_config/problems.h"

namespace granary::cluster_config {

/// No id, place or directory belongs to two nodes, and the kinds of membership and provider fit the hosts.
void check_nodes(const ClusterConfig& config, Problems& problems);

/// The first that stands in the list a second time; nullptr if all differ.
const std::string* named_twice(const std::vector<std::string>& list);

/// "host:port"; a host of digits and dots, or in brackets, has to be an IP address.
bool is_place(const std::string& text);
/// Returns whether the text is the identity of a PTP clock as linuxptp prints it, "001122.fffe.334455": 16 hexadecimal
/// digits.
bool is_clock_identity(std::string_view text);
/// An IP address that one host can have.
bool is_own_address(const std::string& text);

}  // namespace granary::cluster_config
