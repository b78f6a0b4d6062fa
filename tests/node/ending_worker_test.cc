// A worker of a cluster's node that ends, in a simulated cluster: its number is the next one's when nothing else of it
// is left, and nobody's while it has left records locked at nodes that live.

#include <gtest/gtest.h>

#include <optional>

#include "src/node/cluster_threads.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/ring_directory.h"

namespace granary::db {
namespace {

using cluster::test::SimCluster;

class EndingWorker : public testing::Test {
 protected:
  /// `logs`: the nodes have logs, so that locks are named in them. `workers`: so many may be there at a time.
  explicit EndingWorker(bool logs = false, unsigned workers = 1) : logs_(logs), workers_(workers) {
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
  void write_and_be_cut_off() { write_and_be_cut_off(*thread_, "1x"); }
  void write_and_be_cut_off(ClusterThread& thread, std::string_view key) {
    base::set_sync_hook([this](std::string_view point) {
      if (point == "across.logged") cluster_.network.partition({0}, {1});
    });
    Transaction t = thread.worker().begin();
    EXPECT_EQ(t.put(tables_[0], key, "new"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
    base::set_sync_hook({});
    EXPECT_EQ(thread.counters().unfinished, 1u);
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
      if (asked_) asked_();
      return home_lives_;
    };
    return parts;
  }
  /// Each node has room for its service's worker and so many more.
  Options options(unsigned node) const {
    Options options = tests::manual_options();
    options.max_workers = 1 + workers_;
    if (logs_) {
      options.directory = options.reliable_directory = directory_.path() + "/" + std::to_string(node);
      options.ring_bytes = std::uint64_t{1} << 20;
    }
    return options;
  }

  const bool logs_;
  const unsigned workers_;
  const tests::RingDirectory directory_;
  membership::Living living_;  ///< which the nodes use until they end
  SimCluster cluster_{2, workers_, {.seed = 1}, [this](unsigned node) { return options(node); }};
  const std::vector<Table> tables_ =
      cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .expected_keys = 100, .shared = true});
  Waiter waiter_{*this};
  cluster::NodeParts parts_ = parts();
  bool slow_ = false, home_lives_ = true;
  std::function<void()> asked_;  ///< what happens whenever it is asked whether the home lives
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

/// The only worker of its node, which ends while its home cannot be reached.
class LeftByAWorker : public EndingWorker {
 protected:
  LeftByAWorker() : EndingWorker(/*logs=*/true) {
    thread_.reset();
    threads_.begin(cluster_.node(0).database(), parts_);
    threads_.admit();
    thread_ = threads_.register_worker().value();
    write_and_be_cut_off();
    threads_.end(std::move(thread_));
    EXPECT_TRUE(threads_.check_none_registered().ok()) << "it has ended for the application";
    give_back();
    EXPECT_FALSE(is_free()) << "its words are still there";
    EXPECT_TRUE(owes());
  }
  ~LeftByAWorker() override { threads_.drop_left(); }

  bool is_free() { return threads_.register_worker().ok(); }
  /// Whether the log names locks of the node.
  bool owes() { return cluster_.node(0).database().engine().owes(); }
  /// Long enough for all pauses between tries, and for connecting anew.
  void give_back() {
    constexpr int kTries = 20;
    for (int i = 0; i < kTries; ++i) {
      cluster_.network.run_for(kMostEnding_ns);
      threads_.give_back_left();
    }
  }
  void expect_nothing_left() {
    give_back();
    EXPECT_FALSE(owes());
    EXPECT_TRUE(is_free());
    threads_.drop_left();
    EXPECT_FALSE(threads_.left_locks());
  }

  ClusterThreads threads_{0, 1, "cluster.toml"};
};

TEST_F(LeftByAWorker, IsGivenBackWhenTheHomeAnswers) {
  heal();
  expect_nothing_left();
  Worker owner = cluster_.node(1).database().register_worker().value();
  std::string value;
  Transaction t = owner.begin();
  EXPECT_EQ(t.get(tables_[1], "1x", value), Outcome::kOk);
  EXPECT_EQ(value, "new");
}

TEST_F(LeftByAWorker, IsNotNamedAnyMoreWhenTheHomeIsDead) {
  home_lives_ = false;
  expect_nothing_left();
}

/// It is a member again, and cannot be reached yet.
TEST_F(LeftByAWorker, IsNotNamedAnyMoreWhenTheHomeHasComeBack) {
  membership::Configuration now;
  now.add(1) = {.id = 1, .generation = 2, .state = membership::MemberState::kServing, .address = ""};
  living_.follow(now);
  cluster_.node(0).set_living(living_);
  expect_nothing_left();
}

TEST_F(LeftByAWorker, CountsAsLeftIfTheNodeLeavesFirst) {
  threads_.give_back_at_last();
  threads_.drop_left();
  EXPECT_TRUE(threads_.left_locks());
  EXPECT_TRUE(owes());
}

/// The pause after a try is long beside the try.
TEST_F(LeftByAWorker, IsGivenBackAtLastThoughItIsNotTimeTo) {
  heal();
  threads_.give_back_left();
  ASSERT_TRUE(owes()) << "it is not time to";
  threads_.give_back_at_last();
  EXPECT_FALSE(owes());
  EXPECT_TRUE(is_free());
}

/// The two workers of a node, which end while their home cannot be reached.
class LeftByTwoWorkers : public EndingWorker {
 protected:
  LeftByTwoWorkers() : EndingWorker(/*logs=*/true, /*workers=*/2) {
    thread_.reset();
    threads_.begin(cluster_.node(0).database(), parts_);
    threads_.admit();
    std::vector<std::unique_ptr<ClusterThread>> workers;
    for (const char* const key : {"1x", "1y"}) {
      heal();
      workers.push_back(threads_.register_worker().value());
      write_and_be_cut_off(*workers.back(), key);
    }
    for (auto& worker : workers) threads_.end(std::move(worker));
    cluster_.network.run_for(20 * kMostEnding_ns);  // until it is time to try for both
  }
  ~LeftByTwoWorkers() override { threads_.drop_left(); }

  bool owes() { return cluster_.node(0).database().engine().owes(); }

  ClusterThreads threads_{0, 2, "cluster.toml"};
};

/// For each worker it is asked whether the home lives, and once more before a connection to the home is tried.
TEST_F(LeftByTwoWorkers, WaitsForAHomeThatDoesNotAnswerOnce) {
  unsigned asked = 0;
  asked_ = [&asked] { ++asked; };
  threads_.give_back_left();
  EXPECT_EQ(asked, 2u + 1u);
  asked_ = {};
}

TEST_F(LeftByTwoWorkers, IsNotTriedFurtherWhenTheNodeLeaves) {
  home_lives_ = false;
  asked_ = [this] { threads_.leave(); };
  threads_.give_back_left();
  threads_.drop_left();
  EXPECT_TRUE(threads_.left_locks()) << "of the second one";
}

TEST_F(LeftByTwoWorkers, IsAllGivenBackAtLastWhenTheNodeLeaves) {
  heal();
  threads_.leave();
  threads_.give_back_at_last();
  threads_.drop_left();
  EXPECT_FALSE(threads_.left_locks());
  EXPECT_FALSE(owes());
}

}  // namespace
}  // namespace granary::db
