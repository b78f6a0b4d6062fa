// Calls of a cluster that do not fit: each gets an error, and harms nothing.

#include <array>
#include <functional>
#include <string>
#include <thread>

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

MATCHER_P(Refuses, why, "") {
  return arg.code() == StatusCode::kFailedPrecondition &&
         testing::ExplainMatchResult(testing::HasSubstr(why), arg.message(), result_listener);
}

TEST_F(MisusedCluster, ABarrierBeforeTheStartIsRefused) {
  EXPECT_THAT(cluster_->barrier(), Refuses("barrier() of node 1: the node has not started yet"));
  EXPECT_TRUE(cluster_->start().ok());
  EXPECT_TRUE(cluster_->barrier().ok());
  EXPECT_THAT(cluster_->start(), Refuses("the node has started already"));
}

TEST_F(MisusedCluster, WhoHasLeftDoesNothingMore) {
  const auto table = [this] { return cluster_->create_table("u", {.max_value_bytes = 8}, {}).status(); };
  EXPECT_TRUE(cluster_->start().ok());
  EXPECT_THAT(table(), Refuses("tables of a cluster are made before it starts"));
  EXPECT_TRUE(cluster_->leave().ok());
  EXPECT_THAT(cluster_->start(), Refuses("start() of node 1: the node has left its cluster"));
  EXPECT_THAT(cluster_->barrier(), Refuses("barrier() of node 1: the node has left its cluster"));
  EXPECT_THAT(cluster_->register_worker().status(), Refuses("node 1 has left its cluster"));
  EXPECT_THAT(table(), Refuses("and this node has left it"));
  EXPECT_TRUE(cluster_->leave().ok()) << "again";
}

TEST_F(MisusedCluster, WhoHasLeftBeforeTheStartDoesNothingMore) {
  EXPECT_TRUE(cluster_->leave().ok());
  EXPECT_THAT(cluster_->start(), Refuses("the node has left its cluster"));
  EXPECT_THAT(cluster_->create_table("u", {.max_value_bytes = 8}, {}).status(), Refuses("this node has left it"));
  EXPECT_THAT(cluster_->create_index(table_, "i", {}, {}).status(), Refuses("this node has left it"));
}

/// Threads of the first one run already.
TEST(MisusedStart, ASecondOneAfterOneThatFailedIsRefused) {
  const ClusterFile file(2);
  ClusterOptions options = node_options(file, 1);
  options.start_timeout_ms = 50;
  auto cluster = Cluster::join(options).value();
  EXPECT_EQ(cluster->start().code(), StatusCode::kUnavailable) << "node 2 is not there";
  EXPECT_THAT(cluster->start(), Refuses("start() of node 1: its start has failed, leave the cluster"));
  EXPECT_THAT(cluster->barrier(), Refuses("barrier() of node 1: its start has failed"));
  EXPECT_TRUE(cluster->leave().ok());
}

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

/// Each of them could be given what a transaction of begin() refuses with kWrongThread.
TEST_F(MisusedCluster, AWorkerIsOneThreads) {
  ASSERT_TRUE(cluster_->start().ok());
  const auto worker = cluster_->register_worker().value();
  std::uint64_t twice = 0;
  ASSERT_TRUE(worker->call(1, "twice", std::uint64_t{4}, twice).ok());
  int ran = 0;
  const auto body = [&ran](std::uint32_t) { ++ran; };
  std::thread([&] {
    EXPECT_THAT(worker->call(1, "twice", std::uint64_t{5}, twice).status(), Refuses("call: another thread uses"));
    EXPECT_THAT(worker->call(table_, 1, "twice", std::uint64_t{5}, twice).status(), Refuses("another thread uses"));
    EXPECT_THAT(worker->run_together(2, body), Refuses("run_together: another thread uses the worker"));
    worker->let_others_run();
  }).join();
  EXPECT_EQ(twice, 8u);
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(worker->run_together(2, body).ok());
  std::thread([&] {
    worker->worker().attach_thread();
    EXPECT_TRUE(worker->call(1, "twice", std::uint64_t{5}, twice).ok());
  }).join();
  EXPECT_EQ(twice, 10u);
}

/// No node that is waited for would ever come.
TEST_F(MisusedCluster, AKeyWhoseHomeIsNoNodeOfTheClusterCannotBeUsed) {
  const auto astray = [](std::string_view) { return NodeNumber{77}; };
  const Table table = cluster_->create_table("astray", {.max_value_bytes = 8}, Placement{astray}).value();
  ASSERT_TRUE(cluster_->start().ok());
  const auto worker = cluster_->register_worker().value();
  std::string value;
  const auto get = [&](Transaction& t) { EXPECT_EQ(t.get(table, "key", value), Outcome::kAborted); };
  const auto put = [&](Transaction& t) { EXPECT_EQ(t.put(table, "key", "value"), Outcome::kAborted); };
  const auto scan = [&](Transaction& t) {
    EXPECT_EQ(t.scan(table, {}, [](auto, auto) { return true; }).outcome, Outcome::kAborted);
  };
  const auto multi_get = [&](Transaction& t) {
    char buffer[8];
    std::array<MultiGet, 1> gets = {{{table, "key", buffer, {}}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kAborted);
  };
  const auto multi_put = [&](Transaction& t) {
    std::array<MultiPut, 1> puts = {{{table, "key", "value"}}};
    EXPECT_EQ(t.multi_put(puts), Outcome::kAborted);
  };
  const auto declare = [&](Transaction& t) {
    const std::array<Declared, 1> keys = {{{table, "key", true}}};
    EXPECT_EQ(t.declare(keys), Outcome::kAborted);
  };
  for (const std::function<void(Transaction&)>& body :
       {std::function<void(Transaction&)>(get), {put}, {scan}, {multi_get}, {multi_put}, {declare}}) {
    const RunResult done = worker->run(body, {.patience_us = 1'000'000});
    EXPECT_EQ(done.reason, AbortReason::kMisuse) << name(done.reason);
    EXPECT_EQ(done.attempts, 1u);
  }
  Snapshot snapshot = worker->snapshot();
  EXPECT_EQ(snapshot.get(table, "key", value), Outcome::kUnreachable);
  snapshot.finish();
  EXPECT_TRUE(worker->run([&](Transaction& t) { EXPECT_EQ(t.put(table_, 1, 2), Outcome::kOk); }));
}

/// Others would call chains here that nobody keeps.
TEST_F(MisusedCluster, ChainsAreKeptOnceItServes) {
  const auto piece = [](Transaction&, const std::uint64_t&, std::uint64_t&) {};
  Procedures chains;
  ASSERT_TRUE((chains.add_chain<std::uint64_t, std::uint64_t>("chain", {{{}, piece}, {{}, piece}})).ok());
  {
    Worker early = cluster_->database().register_worker().value();
    EXPECT_THAT(chains.keep_chains(cluster_->database(), early).status(), Refuses("comes after Cluster::start()"));
  }
  ASSERT_TRUE(cluster_->start().ok());
  const auto worker = cluster_->register_worker().value();
  EXPECT_TRUE(chains.keep_chains(cluster_->database(), worker->worker()).ok());
}

}  // namespace
}  // namespace granary::tests
