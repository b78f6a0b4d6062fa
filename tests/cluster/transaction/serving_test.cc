// Workers that answer other nodes between their transactions and while they wait in them (I34). What they answer, and what they leave to the
// service's thread, is tests/cluster/messages/attendant_test.cc; history_test.cc has the same workers under trouble.

#include <gtest/gtest.h>

#include "src/txn/context.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

using granary::Outcome;

class Serving : public testing::Test {
 protected:
  Serving() {
    cluster_.start();
    cluster_.pass_epochs(2);
    insert(0, "1first");  // by the services' threads, as connections are made
    insert(1, "0first");
  }

  std::uint64_t by_workers(std::size_t node) { return cluster_.node(node).service().counts().by_workers; }
  void insert(std::size_t node, const std::string& key) {
    Transaction t = cluster_.node(node).worker().begin();
    EXPECT_EQ(t.insert(tables_[node], key, "value"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
  }
  epoch::Epoch epoch_of_open(std::size_t node) {
    return cluster_.node(node).worker().core()->first_context()->slot().local.load();
  }
  /// E moves on by one, though a transaction is open.
  void pass_epoch() {
    for (std::size_t node : {0, 1}) cluster_.node(node).control().by_leader.epoch.fetch_add(1);
  }

  SimCluster cluster_{2, 1};
  const std::vector<Table> tables_ = cluster_.tables("t", {.max_value_bytes = 32, .shared = true});
};

TEST_F(Serving, WorkersAnswerEachOtherWhileTheyWait) {
  constexpr int kKeys = 100;
  const std::uint64_t before[] = {by_workers(0), by_workers(1)};
  for (std::size_t node : {0, 1}) {
    cluster_.scheduler.spawn([this, node] {
      for (int i = 0; i < kKeys; ++i) insert(node, (node == 0 ? "1k" : "0k") + std::to_string(i));
    });
  }
  cluster_.scheduler.run();
  for (std::size_t node : {0, 1}) cluster_.node(node).await_arrival();
  for (std::size_t node : {0, 1}) EXPECT_GT(by_workers(node) - before[node], kKeys / 2u) << "node " << node;
  for (std::size_t node : {0, 1}) {
    int found = 0;
    for (const char* const home : {"0", "1"}) {
      for (int i = 0; i < kKeys; ++i) {
        Transaction t = cluster_.node(node).worker().begin();
        std::string value;
        const Outcome got = t.get(tables_[node], home + ("k" + std::to_string(i)), value);
        EXPECT_EQ(got, Outcome::kOk) << home << i << ": " << name(got) << ", " << name(t.aborted());
        found += got == Outcome::kOk ? 1 : 0;
      }
    }
    EXPECT_EQ(found, 2 * kKeys);
  }
}

/// I13: its e_w is that of its beginning, though the worker has answered in a later epoch.
TEST_F(Serving, AnOpenTransactionKeepsItsEpoch) {
  Transaction open = cluster_.node(1).worker().begin();
  std::string value;
  EXPECT_EQ(open.get(tables_[1], "1first", value), Outcome::kOk);
  const epoch::Epoch epoch = epoch_of_open(1);
  const std::uint64_t before = by_workers(1);
  pass_epoch();
  for (int i = 0; i < 10; ++i) insert(0, "1k" + std::to_string(i));
  EXPECT_GT(by_workers(1), before);
  EXPECT_EQ(epoch_of_open(1), epoch);
  EXPECT_TRUE(open.commit().committed());
}

/// The leader is told of it.
TEST_F(Serving, AnOpenTransactionHoldsTheEpochBack) {
  Transaction open = cluster_.node(1).worker().begin();
  const epoch::Epoch epoch = epoch_of_open(1);
  pass_epoch();
  for (int i = 0; i < 10; ++i) insert(0, "1k" + std::to_string(i));
  (void)cluster_.node(1).database().step();
  EXPECT_EQ(cluster_.node(1).control().by_node.oldest.load(), epoch);
  open.abort();
}

/// Its worker has begun nothing yet, or nothing that goes to other nodes.
TEST_F(Serving, BetweenTransactionsOfThisNode) {
  SimClusterNode& node = cluster_.node(1);
  insert(1, "1own");
  EXPECT_TRUE(node.remote().reach().attendant != nullptr);
  EXPECT_FALSE(node.remote().reach().attendant->wants_to_look()) << "it has looked";
}

}  // namespace
}  // namespace granary::cluster::test
