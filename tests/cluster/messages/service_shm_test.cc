// A service on a thread of its own, over shared memory: it answers, sleeps while nobody asks, and ends when it is told.
// Not covered here: nodes in processes of their own.

#include <chrono>
#include <thread>

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
  ServiceThread thread_{owner_->service(), owner_->service_endpoint(), owner_->owner_worker()};
  base::ThreadWaiter idle_;
  rdma::fiber::Scheduler scheduler_{[this] { asking_->poll(); }, idle_};
};

TEST_F(ShmService, AnswersFromItsThread) {
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    const TableId table = owner_->schema().ordered.id();
    EXPECT_TRUE(asking_->answer(1, FindRecord{.table = table, .key = key, .make = true}).made);
  }
  EXPECT_EQ(owner_->service().counts().requests, 100u);
}

TEST_F(ShmService, SleepsUntilItIsAsked) {
  EXPECT_EQ(asking_->answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  const std::uint64_t before = thread_.sleeps();
  const auto quiet = steady_clock::now();
  std::this_thread::sleep_for(milliseconds(300));
  const std::uint64_t slept = thread_.sleeps() - before;
  const std::chrono::duration<double> quiet_for = steady_clock::now() - quiet;
  EXPECT_GE(slept, 1u);
  EXPECT_LE(static_cast<double>(slept), 40 / 0.3 * quiet_for.count()) << "it does not look again and again";
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

}  // namespace
}  // namespace granary::cluster::messages
