// A child of a fork that uses its parent's node of a cluster: each call is refused, nothing hangs, and the node goes
// on.

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>

#include "tests/node/local_cluster.h"
#include "tests/support/in_child.h"

namespace granary::tests {
namespace {

MATCHER(IsRefusedToAFork, "") {
  return arg.code() == StatusCode::kFailedPrecondition &&
         testing::ExplainMatchResult(testing::HasSubstr("this process is a fork of the one that"), arg.message(),
                                     result_listener);
}

class ForkedNode : public testing::Test {
 protected:
  void SetUp() override {
    if (!kChildrenMayGoOn) GTEST_SKIP() << "the sanitizer's locks may be held in a child";
  }
  ForkedNode() {
    const auto made = cluster_->procedures().add<std::uint64_t, std::uint64_t>(
        "twice", [](Transaction&, const std::uint64_t& number, std::uint64_t& twice) { twice = 2 * number; });
    EXPECT_TRUE(made.ok());
    table_ = cluster_->create_table<std::uint64_t, std::uint64_t>("t", {}, here()).value();
    EXPECT_TRUE(cluster_->start().ok());
    worker_ = cluster_->register_worker().value();
    expect_it_works(1);
  }
  static Placement here() {
    return {[](auto) { return NodeNumber{1}; }};
  }
  void expect_it_works(std::uint64_t value) {
    EXPECT_TRUE(worker_->run([&](Transaction& t) { (void)t.put(table_, 1, value); }).committed());
    std::uint64_t twice = 0;
    EXPECT_TRUE(worker_->call(1, "twice", value, twice).ok());
    EXPECT_EQ(twice, 2 * value);
    EXPECT_TRUE(cluster_->barrier().ok());
    EXPECT_TRUE(cluster_->status().ok());
  }
  void expect_node_refused() {
    EXPECT_THAT(cluster_->create_table("u", {.max_value_bytes = 8}, here()).status(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->create_index(table_, "i", {}, here()).status(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->start(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->barrier(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->register_worker().status(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->status(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->release_status(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->database().register_worker().status(), IsRefusedToAFork());
    EXPECT_THAT(cluster_->leave(), IsRefusedToAFork());
    EXPECT_EQ(cluster_->statistics().transactions, 0U);
    EXPECT_EQ(cluster_->configuration(), 0U);
    EXPECT_FALSE(cluster_->clock().synchronized);
    EXPECT_TRUE(cluster_->recoveries().empty());
    EXPECT_EQ(cluster_->node(), 1);
  }
  void expect_worker_refused() {
    Outcome outcome = Outcome::kOk;
    const RunResult done = worker_->run([&](Transaction& t) { outcome = t.put(table_, 1, 100); });
    EXPECT_EQ(done.reason, AbortReason::kMisuse);
    EXPECT_EQ(outcome, Outcome::kWrongThread);
    std::uint64_t twice = 0;
    EXPECT_THAT(worker_->call(1, "twice", std::uint64_t{1}, twice).status(), IsRefusedToAFork());
    EXPECT_THAT(worker_->run_together(2, [](std::uint32_t) {}), IsRefusedToAFork());
    worker_->let_others_run();
  }
  /// The node goes on after the child has ended, leaves in order, and joins again.
  void expect_undisturbed() {
    expect_it_works(2);
    worker_.reset();
    EXPECT_TRUE(cluster_->leave().ok());
    cluster_.reset();
    const auto again = Cluster::join(node_options(file_, 1));
    EXPECT_TRUE(again.ok()) << again.status().message();
  }

  const ClusterFile file_{1};
  std::unique_ptr<Cluster> cluster_ = Cluster::join(node_options(file_, 1)).value();
  TypedTable<std::uint64_t, std::uint64_t> table_;
  std::unique_ptr<ClusterWorker> worker_;
};

TEST_F(ForkedNode, EveryCallOfTheChildIsRefused) {
  in_child([&] {
    expect_worker_refused();
    expect_node_refused();
    worker_.reset();
    cluster_.reset();
  });
  expect_undisturbed();
}

TEST_F(ForkedNode, TheChildExits) {
  static std::unique_ptr<Cluster> cluster;
  static std::unique_ptr<ClusterWorker> worker;  // goes first
  cluster = std::move(cluster_);
  worker = std::move(worker_);
  in_child([] {}, std::exit);
  cluster_ = std::move(cluster);
  worker_ = std::move(worker);
  expect_undisturbed();
}

}  // namespace
}  // namespace granary::tests
