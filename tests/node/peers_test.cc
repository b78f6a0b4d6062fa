// How a node that starts asks the others. Not what it does until they have joined (cluster_test.cc, start_test.cc).

#include <gmock/gmock.h>

#include "cluster_config/load.h"
#include "src/node/cluster_tables.h"
#include "src/node/node_fabric.h"
#include "src/node/peers.h"
#include "tests/cluster/messages/sim_nodes.h"
#include "tests/node/local_cluster.h"

namespace granary::tests {
namespace {

using cluster::messages::Control;
using cluster::messages::Describe;
using cluster::messages::DescribeAnswer;
using cluster::messages::Question;
using cluster::messages::QuestionOf;

/// A node of a cluster file that has joined.
class Joined {
 public:
  Joined() {
    EXPECT_TRUE(db::make_run_directory(config_).ok());
    membership_ = membership::Membership::join(db::open_board(config_).value(),
                                               {.node = 1, .cluster = "test", .address = "here"}, {})
                      .value();
    peers_.emplace(options_, config_, *membership_);
  }
  db::Peers& peers() { return *peers_; }

 private:
  const ClusterFile file_{2};
  const ClusterOptions options_ = node_options(file_, 1);
  const cluster_config::ClusterConfig config_ = cluster_config::load(file_.path()).value();
  std::unique_ptr<membership::Membership> membership_;
  std::optional<db::Peers> peers_;
};

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
