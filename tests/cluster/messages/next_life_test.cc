// A node dies while a worker connects to it, and its next life answers, which listens before it has loaded all: it is
// not asked before it may be (I16). The crash histories have the same with snapshots.

#include "tests/cluster/messages/sim_nodes.h"

namespace granary::cluster::messages {
namespace {

/// While a worker connected the node has died, and the next life has answered, which has yet to load its data.
TEST(NextLife, ThatAnswersTooEarlyIsNotAsked) {
  SimNodes nodes;
  unsigned looks = 0;
  nodes.node(0).lives = [&looks](rdma::NodeId) { return looks++ == 0; };
  EXPECT_EQ(nodes.node(0).ask(1, Control{}).outcome(), AskOutcome::kBroken);
  EXPECT_EQ(nodes.node(0).ask(1, Control{}).outcome(), AskOutcome::kBroken);
  nodes.node(0).lives = [](rdma::NodeId) { return true; };
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a") << "it serves";
}

/// A node that the worker has asked before dies, and its next life answers too early.
TEST(NextLife, ThatAnswersTooEarlyIsNotAskedInPlaceOfTheFormer) {
  SimNodes nodes;
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  nodes.crash(1);
  nodes.begin(1, 2);
  nodes.pass(200'000);
  unsigned looks = 0;
  nodes.node(0).lives = [&looks](rdma::NodeId) { return looks++ == 0; };
  EXPECT_EQ(nodes.node(0).ask(1, Control{}).outcome(), AskOutcome::kBroken);
  EXPECT_EQ(looks, 2u) << "before it connects, and behind that";
  nodes.node(0).lives = [](rdma::NodeId) { return true; };
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "b"}).bytes, "0 says b");
}

}  // namespace
}  // namespace granary::cluster::messages
