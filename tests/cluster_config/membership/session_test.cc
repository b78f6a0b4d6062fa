// Processes that are stopped, shorter and longer than their session.

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include <gmock/gmock.h>

#include "tests/cluster_config/membership/world.h"
#include "tests/cluster_config/membership/zookeeper_world.h"
#include "tests/support/crash_child.h"

namespace granary::membership::tests {
namespace {

using granary::tests::CrashChild;

/// What a child tells while it may be stopped.
struct Shared {
  std::atomic<int> process{0};
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> last_commit_us{0};

  static Shared& map() {
    void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *new (memory) Shared();
  }
};

/// Commits whenever its fence is open, until the membership is lost.
CrashChild::Body committer(World& world, Shared& shared) {
  return [&](const CrashChild::Report& report) {
    Node node(world, 0);
    shared.process = ::getpid();
    report("joined");
    std::uint64_t before_us = lifetime_us();
    while (node->status().ok()) {
      if (node->fence().open(node->fence().number())) {
        shared.last_commit_us = before_us;
        ++shared.commits;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      before_us = lifetime_us();
    }
    report(node->status().message());
  };
}

TEST_F(MembershipSuite, AStoppedProcessThatGoesOnIsOut) {
  Shared& shared = Shared::map();
  CrashChild child(committer(world(), shared));
  ASSERT_TRUE(child.run_until("joined"));
  Node one(world(), 1);
  ASSERT_TRUE(one.sees(0, MemberState::kJoining));
  while (shared.commits == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(shared.process, SIGSTOP);
  ASSERT_TRUE(one.sees(0, MemberState::kDead));
  const std::uint64_t dead_us = lifetime_us();
  const std::uint64_t commits = shared.commits;
  ::kill(shared.process, SIGCONT);
  EXPECT_EQ(child.wait().exit_code, 0);
  EXPECT_LE(shared.commits, commits + 1) << "at most the one that was asked for before the stop";
  EXPECT_LT(shared.last_commit_us, dead_us);
  EXPECT_EQ(child.lines().back(),
            "lost membership at generation 1: " + child.lines().back().substr(child.lines().back().find(':') + 2));
  EXPECT_THAT(child.lines().back(), testing::HasSubstr("expired"));
}

TEST_F(MembershipSuite, AShortStopIsNoLoss) {
  Shared& shared = Shared::map();
  CrashChild child(committer(world(), shared));
  ASSERT_TRUE(child.run_until("joined"));
  while (shared.commits == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(shared.process, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(kSessionMs / 4));
  const std::uint64_t commits = shared.commits;
  ::kill(shared.process, SIGCONT);
  for (int turn = 0; shared.commits <= commits + 1 && turn < 5000; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(shared.commits, commits + 1);
}

}  // namespace
}  // namespace granary::membership::tests
