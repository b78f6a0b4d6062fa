// Covers starts that lack something: the caller is told what. Not nodes that do not come (cluster_test.cc).

#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "cluster_config/membership/configuration.h"
#include "src/db/cluster/leader_thread.h"
#include "src/db/engine.h"
#include "tests/cluster/local_cluster.h"

namespace granary::tests {
namespace {

TEST(Start, WithoutAnEpochSlotForTheServiceSaysSo) {
  const ClusterFile file(1);
  auto cluster = Cluster::join(node_options(file, 1));
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  while ((*cluster)->database().engine().epochs().acquire_slot() != nullptr) {
  }
  const Status started = (*cluster)->start();
  EXPECT_EQ(started.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(started.message(), testing::HasSubstr("epoch slots of node 1 are taken"));
}

/// A node's fabric whose device is used up.
class UsedUp final : public rdma::Fabric {
 public:
  const rdma::NodeOptions& node() const override { return node_; }
  std::string_view provider() const override { return "none"; }
  Status register_region(const rdma::RegionSpec&, memory::Region&) override { return {}; }
  Status listen() override { return {}; }
  Result<std::unique_ptr<rdma::Endpoint>> open_endpoint() override {
    return Status(StatusCode::kResourceExhausted, "no endpoint is left");
  }

 private:
  const rdma::NodeOptions node_{.node = 1};
};

TEST(Start, ALeaderWithoutAnEndpointTellsWhyTheEpochStays) {
  UsedUp fabric;
  db::LeaderThread leader(fabric, {1}, 1000, nullptr);
  membership::Configuration configuration;
  configuration.version = 1;
  configuration.add(1).state = membership::MemberState::kServing;
  leader.follow(configuration);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (leader.status().ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(leader.status().message(), "no endpoint is left");
  configuration.version = 2;
  configuration.add(1).state = membership::MemberState::kLeft;
  leader.follow(configuration);
  while (!leader.status().ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(leader.status().ok()) << "it does not lead any more";
}

}  // namespace
}  // namespace granary::tests
