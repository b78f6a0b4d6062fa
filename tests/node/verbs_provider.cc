// RDMA devices: Soft-RoCE in a virtual machine (scripts/verbs_vm.sh), whose address is in the environment.

#include <cstdlib>

#include <gtest/gtest.h>

#include "cluster_config/key_file.h"
#include "tests/node/provider.h"

namespace granary::tests {

std::string provider_lines(const std::string& directory) {
  EXPECT_TRUE(cluster_config::make_key(directory + "/key").ok());
  return "provider = \"verbs\"\nswap_stores = \"tolerated\"\nkey_file = \"key\"\n";
}

std::string provider_lines(unsigned node) {
  const char* const address = std::getenv("VM_ADDRESS");
  return "address = \"" + std::string(address != nullptr ? address : "") +
         "\"\nport = " + std::to_string(21000 + node) + "\n";
}

}  // namespace granary::tests
