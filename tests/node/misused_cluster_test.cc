// Calls of a cluster that do not fit: each gets an error, and harms nothing.

#include <string>

#include <gmock/gmock.h>

#include "tests/node/local_cluster.h"

namespace granary::tests {
namespace {

/// A cluster of one node, and what it can be called for.
class MisusedCluster : public testing::Test {
 protected:
  MisusedCluster() {
    const auto made = cluster_->procedures().add<std::uint64_t, std::uint64_t>(
        "twice", [](Transaction&, const std::uint64_t& number, std::uint64_t& twice) { twice = 2 * number; });
    EXPECT_TRUE(made.ok());
  }

  const ClusterFile file_{1};
  std::unique_ptr<Cluster> cluster_ = Cluster::join(node_options(file_, 1)).value();
  const TypedTable<std::uint64_t, std::uint64_t> table_ =
      cluster_->create_table<std::uint64_t, std::uint64_t>("t", {}, Placement{[](auto) { return NodeNumber{1}; }})
          .value();
};

/// A string's own bytes are an address, which would be followed at the other node.
TEST_F(MisusedCluster, StringsAreTheBytesOfACall) {
  ASSERT_TRUE(cluster_->start().ok());
  const auto worker = cluster_->register_worker().value();
  const std::string args("\x15\0\0\0\0\0\0\0", 8);
  const std::string expected("\x2a\0\0\0\0\0\0\0", 8);
  std::string reply;
  EXPECT_TRUE(worker->call(1, "twice", args, reply).ok());
  EXPECT_EQ(reply, expected);
  reply.clear();
  EXPECT_TRUE(worker->call(table_, 7, "twice", args, reply).ok());
  EXPECT_EQ(reply, expected);
  const std::string short_args("12345");
  EXPECT_THAT(worker->call(1, "twice", short_args, reply).status().message(),
              testing::HasSubstr("takes 8 bytes of arguments, got 5"));
}

}  // namespace
}  // namespace granary::tests
