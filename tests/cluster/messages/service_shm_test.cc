// A service on a thread of its own, over shared memory: it answers, sleeps while nobody asks, and ends when it is told. Not covered
// here: nodes in processes of their own.

#include <atomic>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "rdma/shm/shm_fabric.h"
#include "src/cluster/messages/service_thread.h"
#include "tests/cluster/messages/nodes.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster::messages {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::uint64_t now_us() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count());
}

class ShmService : public testing::Test {
 protected:
  std::unique_ptr<TestNode> begin(rdma::NodeId id) {
    return std::make_unique<TestNode>(
        [&] { return rdma::shm::open_shm_fabric({.node = {.node = id}, .run_directory = directory_.path()}).value(); },
        small_layout(), id == 1 ? &calls_ : nullptr);
  }
  void SetUp() override { asking_->join(scheduler_, now_us); }

  tests::TemporaryDirectory directory_;
  CallQueue calls_{4};
  std::unique_ptr<TestNode> owner_ = begin(1), asking_ = begin(0);
  ServiceThread thread_{owner_->service(), owner_->door(), owner_->bed(), owner_->owner_worker()};
  base::ThreadWaiter idle_;
  rdma::fiber::Scheduler scheduler_{[this] { asking_->poll(); }, idle_};
};

TEST_F(ShmService, AnswersFromItsThread) {
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    const TableId table = owner_->schema().ordered.id();
    EXPECT_TRUE(asking_->answer(1, Place{.table = table, .key = key, .make = true}).made);
  }
  EXPECT_EQ(owner_->service().counts().requests, 100u);
}

TEST_F(ShmService, SleepsUntilItIsAsked) {
  EXPECT_EQ(asking_->answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  const std::uint64_t before = thread_.sleeps();
  std::this_thread::sleep_for(milliseconds(300));
  const std::uint64_t slept = thread_.sleeps() - before;
  EXPECT_GE(slept, 1u);
  EXPECT_LE(slept, 40u) << "it does not look again and again";
  const auto begin = steady_clock::now();
  EXPECT_EQ(asking_->answer(1, Control{.bytes = "b"}).bytes, "0 says b");
  EXPECT_LT(steady_clock::now() - begin, milliseconds(400)) << "it is rung";
}

TEST_F(ShmService, AWorkersResultWakesIt) {
  std::thread worker([&] {
    const auto job = calls_.wait(5'000'000);
    std::this_thread::sleep_for(milliseconds(150));  // the service sleeps long since
    calls_.finish(*job, job->procedure + " done");
  });
  EXPECT_EQ(asking_->answer(1, Call{.procedure = "p"}).result, "p done");
  worker.join();
}

/// A worker of the owner that looks at its row for as long as it lives.
class Looking {
 public:
  explicit Looking(TestNode& node) : thread_([this, &node] { run(node); }) {}
  ~Looking() {
    stopping_.store(true);
    thread_.join();
  }

 private:
  void run(TestNode& node) {
    const auto attendant = node.attendant(now_us);
    while (!stopping_.load()) attendant->look(Moment::kBetween);
  }

  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// Beside the service's thread, which sleeps. On a busy machine the worker may not run while others ask, so it is given some rounds.
TEST_F(ShmService, AWorkerAnswersInItsPlace) {
  constexpr int kRounds = 50;
  constexpr std::uint64_t kQuestions = 200;
  (void)asking_->answer(1, Control{.bytes = "connects"});
  const Looking looking(*owner_);
  const auto& counts = owner_->service().counts();
  const TableId table = owner_->schema().ordered.id();
  bool seen = false;
  for (int round = 0; round < kRounds && !seen; ++round) {
    const std::uint64_t requests = counts.requests, by_workers = counts.by_workers, sleeps = thread_.sleeps();
    for (std::uint64_t i = 0; i < kQuestions; ++i) {
      const std::string key = fmt::format("key {} of {}", i, round);
      EXPECT_TRUE(asking_->answer(1, Place{.table = table, .key = key, .make = true}).made);
    }
    EXPECT_EQ(asking_->answer(1, Control{.bytes = "left"}).bytes, "0 says left");
    EXPECT_EQ(counts.requests, requests + kQuestions + 1);
    seen = counts.by_workers - by_workers > kQuestions / 4 && thread_.sleeps() - sleeps < kQuestions * 3 / 4;
  }
  EXPECT_TRUE(seen) << "it is woken for what a worker leaves, and not for the others";
}

/// Each time it says that it looks, and does not. Without an end to the patience each question would wait for the end of a sleep.
TEST_F(ShmService, AWorkerThatDoesNotLookIsReplaced) {
  (void)asking_->answer(1, Control{.bytes = "connects"});
  const auto attendant = owner_->attendant(now_us);
  const auto begin = steady_clock::now();
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    attendant->look(Moment::kBetween);
    EXPECT_EQ(asking_->answer(1, Control{.bytes = "b"}).bytes, "0 says b");
    std::this_thread::sleep_for(milliseconds(1));  // the service's thread goes to sleep
  }
  EXPECT_LT(steady_clock::now() - begin, kTimes * milliseconds(10));
}

}  // namespace
}  // namespace granary::cluster::messages
