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

}  // namespace
}  // namespace granary::membership::tests
