// Members that are processes, killed and stopped. For the kinds that know processes.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "tests/cluster_config/membership/world.h"
#include "tests/support/crash_child.h"

namespace granary::membership::tests {
namespace {

using granary::tests::CrashChild;

/// Joins as `id`, says so, and stays.
CrashChild::Body member(World& world, NodeId id) {
  return [&world, id](const CrashChild::Report& report) {
    Node node(world, id);
    report(node.joined() ? "joined" : node.status().message());
    while (true) ::pause();
  };
}

TEST_F(MembershipSuite, AKilledProcessIsSeenToBeDead) {
  CrashChild child(member(world(), 0));
  ASSERT_TRUE(child.run_until("joined"));
  Node one(world(), 1);
  ASSERT_TRUE(one.sees(0, MemberState::kJoining));
  child.kill();
  ASSERT_TRUE(one.sees(0, MemberState::kDead));
  EXPECT_EQ(one->configuration()->find(0)->generation, 1u);
  EXPECT_EQ(Node(world(), 0)->generation(), 2u);
}

TEST_F(MembershipSuite, ANodesNextLifeMayBeginAtOnce) {
  CrashChild child(member(world(), 0));
  ASSERT_TRUE(child.run_until("joined"));
  child.kill();
  Node next(world(), 0);  // where the mark outlives the process, this waits for it
  EXPECT_EQ(next->generation(), 2u);
}

TEST_F(MembershipSuite, ARunningProcessIsNamed) {
  CrashChild child(member(world(), 0));
  ASSERT_TRUE(child.run_until("joined"));
  Node second(world(), options_of(0));
  ASSERT_FALSE(second.joined());
  const std::string& message = second.status().message();
  EXPECT_NE(message.find("node 0 is a member already: process "), std::string::npos) << message;
  EXPECT_EQ(message.find("process " + std::to_string(::getpid())), std::string::npos) << message;
}

/// What a member and the test tell each other across processes.
struct Stopped {
  std::atomic<bool> dead{false};  ///< others count it so
};

/// The fence is shut before any thread of the stopped process has looked at the board: this one has none that would.
TEST_F(MembershipSuite, AProcessThatStandsStillIsRemovedAndNeverCommitsAgain) {
  world().set_timeout_us(1'000'000);
  auto& shared = *static_cast<Stopped*>(
      ::mmap(nullptr, sizeof(Stopped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CrashChild child([&](const CrashChild::Report& report) {
    const auto member = Membership::join(world().open().value(), options_of(0), {}).value();
    if (!member->serve().ok()) return;
    report(member->fence().open(member->fence().number()) ? "serves" : "has no fence");
    while (!shared.dead) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    report(member->fence().open(member->fence().number()) ? "may commit" : "may not commit");
    while (member->status().ok()) member->step(1000);
    report(member->status().message());
  });
  ASSERT_TRUE(child.run_until("serves"));
  Node one(world(), 1);
  ASSERT_TRUE(one.sees(0, MemberState::kServing));
  child.signal(SIGSTOP);
  ASSERT_TRUE(child.wait_until_stopped());
  ASSERT_TRUE(one.sees(0, MemberState::kDead));
  EXPECT_FALSE(one->living().lives(0));
  EXPECT_TRUE(one->status().ok());
  shared.dead = true;
  child.signal(SIGCONT);
  EXPECT_EQ(child.wait().exit_code, 0);
  ASSERT_EQ(child.lines().size(), 3u);
  EXPECT_EQ(child.lines()[1], "may not commit");
  EXPECT_NE(child.lines().back().find("lost membership at generation 1"), std::string::npos) << child.lines().back();
}

TEST_F(MembershipSuite, AProcessThatStandsStillForLessStaysAMember) {
  world().set_timeout_us(20'000'000);
  CrashChild child(member(world(), 0));
  ASSERT_TRUE(child.run_until("joined"));
  Node one(world(), 1);
  child.signal(SIGSTOP);
  ASSERT_TRUE(child.wait_until_stopped());
  EXPECT_FALSE(one->wait_until([](const Configuration& found) { return !found.lives(0); }, 500'000));
  child.signal(SIGCONT);
  EXPECT_FALSE(one->wait_until([](const Configuration& found) { return !found.lives(0); }, 100'000));
}

}  // namespace
}  // namespace granary::membership::tests
