// How a node that starts meets the others, and asks them. Not what it does until they have joined (cluster_test.cc,
// start_test.cc).

#include <gmock/gmock.h>

#include "cluster_config/load.h"
#include "rdma/sim/sim_network.h"
#include "src/node/cluster_tables.h"
#include "src/node/node_fabric.h"
#include "src/node/peers.h"
#include "tests/cluster/messages/sim_nodes.h"
#include "tests/node/local_cluster.h"
#include "tests/rdma/forwarding_endpoint.h"

namespace granary::tests {
namespace {

using cluster::messages::Control;
using cluster::messages::Describe;
using cluster::messages::DescribeAnswer;
using cluster::messages::Question;
using cluster::messages::QuestionOf;

/// Node 1 of a cluster file whose nodes have joined.
class Joined {
 public:
  Joined() {
    options_.start_timeout_ms = 5'000;
    EXPECT_TRUE(db::make_run_directory(config_).ok());
    other_ = join(2);
    membership_ = join(1);
    peers_.emplace(options_, config_, *membership_);
  }
  db::Peers& peers() { return *peers_; }

 private:
  std::unique_ptr<membership::Membership> join(NodeNumber node) const {
    const membership::MembershipOptions options{.node = node, .cluster = "test", .address = "here"};
    return membership::Membership::join(db::open_board(config_).value(), options, {}).value();
  }

  const ClusterFile file_{2};
  ClusterOptions options_ = node_options(file_, 1);
  const cluster_config::ClusterConfig config_ = cluster_config::load(file_.path()).value();
  std::unique_ptr<membership::Membership> other_, membership_;
  std::optional<db::Peers> peers_;
};

/// Its handshakes take 300 ms, and begin anew when they are given up.
class SlowEndpoint final : public rdma::test::ForwardingEndpoint {
 public:
  using ForwardingEndpoint::ForwardingEndpoint;

  Result<rdma::ConnectionId> connect(rdma::NodeId, std::uint64_t timeout_us) override {
    constexpr std::uint64_t kHandshake_us = 300'000;
    if (timeout_us < kHandshake_us) return Status(StatusCode::kUnavailable, "it does not answer in time");
    return rdma::ConnectionId{0};
  }
};

class SlowFabric final : public rdma::Fabric {
 public:
  SlowFabric() { EXPECT_TRUE(inner_->listen().ok()); }
  const rdma::NodeOptions& node() const override { return inner_->node(); }
  std::string_view provider() const override { return "slow"; }
  Status register_region(const rdma::RegionSpec&, memory::Region&) override { return {}; }
  Status listen() override { return {}; }
  Result<std::unique_ptr<rdma::Endpoint>> open_endpoint() override {
    return std::unique_ptr<rdma::Endpoint>(std::make_unique<SlowEndpoint>(inner_->open_endpoint().value()));
  }
  Status cut_off(rdma::NodeId, rdma::Generation) override { return {}; }

 private:
  rdma::sim::SimNetwork network_{{.seed = 1}};
  const std::unique_ptr<rdma::Fabric> inner_ = network_.open_fabric({.node = 1, .generation = 1}).value();
};

TEST(PeersOfANode, AreMetHoweverLongAHandshakeTakes) {
  SlowFabric fabric;
  Joined joined;
  const Status met = joined.peers().meet_all(fabric);
  EXPECT_TRUE(met.ok()) << met.message();
}

/// Asked again, it would not fit either.
TEST(PeersOfANode, AreNotAskedAgainWhatFitsIntoNoMessage) {
  cluster::messages::SimNodes nodes;
  Joined joined;
  joined.peers().ask_with(nodes.node(0).messenger());
  const std::string longest(cluster::messages::small_layout().most_bytes, 'k');
  QuestionOf<Control> question(1, {.bytes = longest});
  const Status asked = joined.peers().ask(question);
  EXPECT_EQ(asked.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(asked.message(), "node 1 was asked in vain: question too large");
}

TEST(PeersOfANode, AreAskedForTheirTablesPieceByPiece) {
  const auto told = db::ask_for_tables(2, [](Question& question) -> Result<bool> {
    auto& piece = dynamic_cast<QuestionOf<Describe>&>(question);
    const auto from = piece.request().from;
    piece.answer() = {.region_base = 64, .protocol = "silo", .tables = {{.id = from + 1}, {.id = from + 2}}};
    piece.answer().more = from == 0;
    return true;
  });
  ASSERT_TRUE(told.ok() && told->has_value());
  const DescribeAnswer expected{
      .region_base = 64, .protocol = "silo", .tables = {{.id = 1}, {.id = 2}, {.id = 4}, {.id = 5}}};
  EXPECT_EQ(**told, expected);
}

TEST(PeersOfANode, ThatSayTooMuchOfTheirTablesAreNotAskedForEver) {
  std::uint32_t asked = 0;
  const auto told = db::ask_for_tables(2, [&](Question& question) -> Result<bool> {
    auto& piece = dynamic_cast<QuestionOf<Describe>&>(question);
    EXPECT_EQ(piece.request().from, asked);
    piece.answer() = {.tables = {{.id = asked++}}, .more = true};
    return true;
  });
  ASSERT_TRUE(told.ok() && told->has_value());
  EXPECT_EQ((*told)->tables.size(), kMaxTables + 1);
}

TEST(PeersOfANode, TellOfNoTablesUnlessAllAreTold) {
  bool answers = true;
  const auto told = db::ask_for_tables(2, [&answers](Question& question) -> Result<bool> {
    dynamic_cast<QuestionOf<Describe>&>(question).answer() = {.tables = {{.id = 1}}, .more = true};
    return std::exchange(answers, false);
  });
  ASSERT_TRUE(told.ok());
  EXPECT_FALSE(told->has_value());
}

}  // namespace
}  // namespace granary::tests
