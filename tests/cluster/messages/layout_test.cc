// Where mailboxes lie: each at a place of its own, however the nodes are numbered.

#include "src/cluster/messages/layout.h"

#include <set>

#include <gtest/gtest.h>

namespace granary::cluster::messages {
namespace {

TEST(MailboxLayout, HasAPlaceForEachNodeHoweverFarItsNumber) {
  static constexpr rdma::NodeId kIds[] = {3, 1000, 4095};
  const MailboxLayout layout{.nodes = 3, .ids = kIds, .workers = 5};
  std::set<std::uint64_t> places;
  for (const rdma::NodeId node : kIds) {
    EXPECT_EQ(layout.id_at(layout.index_of(node)), node);
    for (std::uint32_t worker = 0; worker < layout.workers; ++worker) {
      places.insert({layout.request_ring(node, worker), layout.answer_ring(worker, node),
                     layout.request_staging(worker, node), layout.answer_staging(node, worker)});
    }
  }
  EXPECT_EQ(places.size(), 4u * 3 * 5);
  EXPECT_EQ(*places.rbegin() + layout.ring_bytes, layout.signs());
}

TEST(MailboxLayout, HasASignForEachRingOfRequestsBehindAllRings) {
  const MailboxLayout layout{.nodes = 13, .workers = 5};
  std::set<std::uint64_t> signs;
  for (rdma::NodeId node = 0; node < layout.nodes; ++node) {
    for (std::uint32_t worker = 0; worker < layout.workers; ++worker) signs.insert(layout.request_sign(node, worker));
  }
  EXPECT_EQ(signs.size(), layout.count());
  EXPECT_EQ(*signs.begin(), layout.signs());
  EXPECT_LT(*signs.rbegin(), layout.region_bytes());
  EXPECT_EQ(layout.region_bytes(), layout.signs() + 128) << "65 of them, in whole lines";
}

TEST(MailboxLayout, HasNoneForOthers) {
  static constexpr rdma::NodeId kIds[] = {3, 1000};
  const MailboxLayout named{.nodes = 2, .ids = kIds, .workers = 1};
  for (const rdma::NodeId node : {0, 4, 999, 4095}) EXPECT_EQ(named.index_of(node), 2u) << node;
  const MailboxLayout counted{.nodes = 2, .workers = 1};
  EXPECT_EQ(counted.index_of(1), 1u);
  EXPECT_EQ(counted.index_of(2), 2u);
}

}  // namespace
}  // namespace granary::cluster::messages
