#pragma once
// How the nodes of a test's cluster reach each other, as lines of the cluster file. A test program links one of
// shm_provider.cc and verbs_provider.cc.

#include <string>

namespace granary::tests {

/// Of the section of the cluster, whose file is in this directory.
std::string provider_lines(const std::string& directory);
/// Of the section of a node.
std::string provider_lines(unsigned node);

}  // namespace granary::tests
