// A worker of a cluster's node that ends, in a simulated cluster: its number is the next one's when nothing else of it
// is left, and nobody's if it has left records locked.

#include <gtest/gtest.h>

#include <optional>

#include "src/node/cluster_thread.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::db {
namespace {

using cluster::test::SimCluster;

class EndingWorker : public testing::Test {
 protected:
  EndingWorker() {
    cluster_.start(0);
    cluster_.pass_epochs(2);
    cluster_.network.set_wait([this] { pass_time(); });
    open();
    Transaction t = thread_->worker().begin();
    EXPECT_EQ(t.put(tables_[0], "1x", "old"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
  }
  ~EndingWorker() override { thread_.reset(); }

  void open() {
    WorkerNumber number(0, [this](std::uint32_t value) {
      given_back_ = value;
      next_could_begin_ = cluster_.node(0).database().register_worker().ok();
    });
    auto thread = ClusterThread::open(cluster_.node(0).database(), parts_, std::move(number));
    ASSERT_TRUE(thread.ok()) << thread.status().message();
    thread_ = std::move(*thread);
  }
  void write_and_be_cut_off() {
    base::set_sync_hook([this](std::string_view point) {
      if (point == "across.logged") cluster_.network.partition({0}, {1});
    });
    Transaction t = thread_->worker().begin();
    EXPECT_EQ(t.put(tables_[0], "1x", "new"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
    base::set_sync_hook({});
    EXPECT_EQ(thread_->counters().unfinished, 1u);
  }
  void heal() {
    cluster_.network.heal_link(0, 1);
    cluster_.network.heal_link(1, 0);
  }
  void pass_time() {
    constexpr std::uint64_t kMoment_ns = 10'000;
    if (!cluster_.network.step()) cluster_.network.run_for(kMoment_ns);
    cluster_.node(1).poll();
  }

  static constexpr std::uint64_t kMostEnding_ns = 500'000'000;

  /// Lets time pass, as nobody else does while the worker waits.
  class Waiter final : public base::Waiter {
   public:
    explicit Waiter(EndingWorker& test) : test_(test) {}
    void pause(std::uint32_t) override { test_.pass_time(); }

   private:
    EndingWorker& test_;
  };

  /// Node 1 takes a part of the time that a worker's end may take until it is asked.
  cluster::NodeParts parts() {
    cluster::NodeParts parts = cluster_.node(0).parts(waiter_);
    parts.timeout_us = kMostEnding_ns / 1000;
    parts.lives = [this](rdma::NodeId) {
      if (slow_) cluster_.network.run_for(kMostEnding_ns / 5);
      return true;
    };
    return parts;
  }
  /// Each node has room for its service's worker and one more.
  static Options options() {
    Options options = tests::manual_options();
    options.max_workers = 2;
    return options;
  }

  SimCluster cluster_{2, 1, {.seed = 1}, [](unsigned) { return options(); }};
  const std::vector<Table> tables_ =
      cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .expected_keys = 100, .shared = true});
  Waiter waiter_{*this};
  cluster::NodeParts parts_ = parts();
  bool slow_ = false;
  std::unique_ptr<ClusterThread> thread_;
  std::optional<std::uint32_t> given_back_;
  bool next_could_begin_ = false;
};

TEST_F(EndingWorker, GivesItsNumberBackWhenAllElseIsGone) {
  bool told = false;
  thread_->on_end([&](ClusterThread& ending) {
    told = true;
    EXPECT_EQ(ending.counters().transactions, 1u);
    EXPECT_FALSE(given_back_);
  });
  thread_.reset();
  EXPECT_TRUE(told);
  EXPECT_EQ(given_back_, 0u);
  EXPECT_TRUE(next_could_begin_);
}

TEST_F(EndingWorker, KeepsItsNumberIfItLeavesLocks) {
  write_and_be_cut_off();
  thread_.reset();
  EXPECT_FALSE(given_back_) << "its words are still there";
}

/// Nothing else waits for it, so it does not rest between attempts as it does between transactions: for ten times what
/// one took, which is more than its end may take.
TEST_F(EndingWorker, GivesLocksBackThatItRestedFrom) {
  write_and_be_cut_off();
  slow_ = true;
  cluster_.network.run_for(kMostEnding_ns);
  thread_->worker().collect_garbage();  // tries once
  slow_ = false;
  heal();
  thread_.reset();
  EXPECT_EQ(given_back_, 0u);
}

/// It is free for the next one then.
TEST_F(EndingWorker, HasNotTakenANumberIfItCouldNotBegin) {
  WorkerNumber number(7, [this](std::uint32_t value) { given_back_ = value; });
  EXPECT_FALSE(ClusterThread::open(cluster_.node(0).database(), parts_, std::move(number)).ok());
  EXPECT_EQ(given_back_, 7u);
}

}  // namespace
}  // namespace granary::db
