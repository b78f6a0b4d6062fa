// A process that is let in as a node and sends what no node sends: it is cut off, and the node that it was sent to
// counts that. What counts as nonsense is tested in tests/cluster/messages.

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "cluster_config/load.h"
#include "rdma/fiber/peers.h"
#include "rdma/mailbox/sender.h"
#include "src/node/node_fabric.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/record_access/regions.h"
#include "src/memory/region.h"
#include "tests/node/local_cluster.h"

namespace granary::tests {
namespace {

/// In the place of node 2, which has left, as its worker 0.
class Stranger {
 public:
  explicit Stranger(const ClusterFile& file) {
    const auto config = cluster_config::load(file.path()).value();
    auto fabric = db::open_fabric(config, *config.find(2), /*generation=*/9);
    while (!fabric.ok()) {  // the node has left, and is still closing its own
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      fabric = db::open_fabric(config, *config.find(2), /*generation=*/9);
    }
    fabric_ = std::move(fabric).value();
    EXPECT_TRUE(fabric_->register_region({.id = cluster::kMailRegion}, *mail_).ok());
    EXPECT_TRUE(fabric_->listen().ok());
    endpoint_ = fabric_->open_endpoint().value();
    peers_ = std::make_unique<rdma::fiber::Peers>(*endpoint_);
    const Status connected = peers_->connect(1, 1'000'000);
    EXPECT_TRUE(connected.ok()) << connected.message();
    const rdma::ConnectionId connection = *peers_->find(1);
    sender_.emplace(*endpoint_, connection,
                    rdma::mailbox::SenderPlace{.ring = {.node = 1,
                                                        .region = cluster::kMailRegion,
                                                        .generation = endpoint_->peer_generation(connection),
                                                        .offset = kLayout.request_ring(2, 0)},
                                               .ring_bytes = kLayout.ring_bytes,
                                               .most_bytes = kLayout.most_bytes,
                                               .staging = mail_->base() + kLayout.request_staging(0, 1),
                                               .tag = kTag});
  }

  void say(std::string_view message) { EXPECT_EQ(sender_->send(message), rdma::mailbox::SendResult::kTaken); }
  void work() {
    std::array<rdma::Completion, 4> completions;
    const std::size_t count = endpoint_->poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      if (completions[i].tag == kTag) sender_->completed(completions[i]);
    }
    sender_->step();
  }

 private:
  static constexpr std::uint64_t kTag = 77;
  /// As nodes of two workers have it.
  static constexpr rdma::NodeId kIds[] = {1, 2};
  static constexpr cluster::messages::MailboxLayout kLayout{
      .region = cluster::kMailRegion, .nodes = 2, .ids = kIds, .workers = 5};

  const std::unique_ptr<memory::Region> mail_ =
      memory::Region::map({.reserve_bytes = kLayout.region_bytes(), .huge_pages = HugePages::kOff, .shared = true})
          .value();
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::unique_ptr<rdma::fiber::Peers> peers_;
  std::optional<rdma::mailbox::Sender> sender_;
};

TEST(CutOff, WhoSendsNonsenseIsCounted) {
  const ClusterFile file(2);
  on_each_node(file, 2, [&](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    ASSERT_TRUE(cluster.barrier().ok());
    EXPECT_EQ(cluster.statistics().cut_off, 0U);
    if (cluster.node() == 2) return;
    (void)cluster.barrier();  // until it has left
    Stranger stranger(file);
    stranger.say("no request at all");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (cluster.statistics().cut_off == 0 && std::chrono::steady_clock::now() < end) {
      stranger.work();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(cluster.statistics().cut_off, 1U);
    EXPECT_TRUE(cluster.status().ok());
    ASSERT_TRUE(cluster.leave().ok());
    EXPECT_EQ(cluster.statistics().cut_off, 1U);
  });
}

}  // namespace
}  // namespace granary::tests
