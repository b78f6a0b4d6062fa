// Each provider of cluster_config/provider.h can be opened by a node's program: a fabric of that name, or an error that
// tells what the machine lacks. What the fabrics then do is in tests/rdma/conformance.

#include <gtest/gtest.h>

#include "cluster_config/config.h"
#include "src/node/node_fabric.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

TEST(Openers, EachProviderHasOne) {
  for (const cluster_config::ProviderTraits& row : cluster_config::kProviders) {
    SCOPED_TRACE(row.name);
    const tests::TemporaryDirectory directory;
    cluster_config::ClusterConfig config;
    config.provider = row.provider;
    config.run_directory = directory.path();
    cluster_config::NodeConfig node;
    node.id = 1;
    node.address = "127.0.0.1";
    config.nodes = {node};
    const auto fabric = db::open_provider(config, node, {.node = 1});
    if (fabric.ok()) {
      EXPECT_EQ((*fabric)->provider(), row.name);
      EXPECT_EQ((*fabric)->node().node, 1);
    } else {
      EXPECT_TRUE(row.devices) << fabric.status().message();  // this machine may have none
      EXPECT_NE(fabric.status().message().find("RDMA"), std::string::npos) << fabric.status().message();
    }
  }
}

}  // namespace
}  // namespace granary
