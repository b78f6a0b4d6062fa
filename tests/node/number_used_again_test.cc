// A worker of a cluster's node whose number another worker had before: it sleeps while it waits, also if nobody answers
// the questions of that one any more.

#include <chrono>
#include <thread>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "tests/node/local_cluster.h"
#include "tests/support/thread_time.h"

namespace granary {
namespace {

struct Nap {
  std::uint64_t time_ms = 0;
};

TEST(NumberUsedAgain, AWorkerSleepsWhileItWaits) {
  constexpr NodeNumber kAsking = 1, kAskedBefore = 2, kAsked = 3;
  const tests::ClusterFile file(3, /*workers=*/1);
  tests::on_each_node(file, 3, [&](Cluster& cluster) {
    const auto nap = [](Transaction&, const Nap& asked, Nap& done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(asked.time_ms));
      done = asked;
    };
    ASSERT_TRUE((cluster.procedures().add<Nap, Nap>("nap", nap).ok()));
    ASSERT_TRUE(cluster.start().ok());
    if (cluster.node() == kAsking) {
      Nap done;
      EXPECT_TRUE(cluster.register_worker().value()->call(kAskedBefore, "nap", Nap{}, done).ok());
      const auto worker = cluster.register_worker().value();
      const double began = tests::thread_seconds();
      const auto napped = worker->call(kAsked, "nap", Nap{.time_ms = 200}, done);
      EXPECT_LT(tests::thread_seconds() - began, 0.3) << "it spun";
      EXPECT_EQ(napped->reason, AbortReason::kOpenTooLong);
      EXPECT_EQ(napped->attempts, kMostOpenTooLong);
    }
    EXPECT_TRUE(cluster.barrier().ok());
  });
}

}  // namespace
}  // namespace granary
