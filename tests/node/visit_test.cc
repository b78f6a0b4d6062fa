// A barrier while a node recovers its former life in a visit: the others go on to wait for it when the visit is over.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/node/death.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::CrashChild;

constexpr NodeNumber kDead = 2;

/// The next life of the dead node is held up after its visit.
class Visit : public testing::Test {
 protected:
  struct Flags {
    std::atomic<bool> visited{false}, returned{false};
    std::atomic<int> ended{0};
  };

  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }
  /// Nobody leaves before all have seen what they are to see.
  void end(Branch& branch, const CrashChild::Report& report) {
    ++flags_.ended;
    (void)tests::comes_true([&] { return flags_.ended == 3; });
    branch.worker.reset();
    report("left: " + branch.cluster->leave().message());
  }
  CrashChild::Body waits(NodeNumber node) {
    return [this, node](const CrashChild::Report& report) {
      Branch branch(tests::bank_options(file_, node));
      report("runs");
      (void)tests::comes_true([&] { return flags_.visited.load(); });
      const Status met = branch.cluster->barrier();
      report(fmt::format("met{}, {}", met.message(), flags_.returned ? "node 2 has returned" : "node 2 is not back"));
      end(branch, report);
    };
  }
  CrashChild::Body is_killed() {
    return [this](const CrashChild::Report& report) {
      Branch branch(tests::bank_options(file_, kDead));
      report("runs");
      (void)tests::comes_true([] { return false; });
    };
  }
  CrashChild::Body returns() {
    return [this](const CrashChild::Report& report) {
      base::set_process_sync_hook([this](std::string_view point) {
        if (point == "return.ready") flags_.returned = true;
        if (point != "visit.ended") return;
        flags_.visited = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      });
      Branch branch(tests::bank_options(file_, kDead), /*load=*/false);
      for (const NodeRecovery& one : branch.cluster->recoveries())
        report(fmt::format("{}.{} {} by {}", one.node, one.generation, name(one.phase), one.claimed_by));
      end(branch, report);
    };
  }

  /// Has the dead node's directory as its process would that takes so long to end, and longer than a recovery is tried
  /// without a word.
  CrashChild::Body ends_late() {
    return [this](const CrashChild::Report& report) {
      const auto lock =
          base::system_files().lock(fmt::format("{}/{}", tests::data_directory(file_, kDead), recovery::kLockName));
      report("has it" + lock.status().message());
      std::this_thread::sleep_for(std::chrono::seconds(4));
    };
  }
  /// Node 2 is killed, and comes back after `meanwhile`.
  void kill_and_return(const std::function<void()>& meanwhile) {
    CrashChild first(waits(1)), third(waits(3)), dying(is_killed());
    for (CrashChild* const child : {&dying, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
    dying.signal(SIGKILL);
    ASSERT_TRUE(dying.wait().killed);
    meanwhile();
    CrashChild back(returns());
    EXPECT_EQ(back.wait().exit_code, 0);
    EXPECT_THAT(back.lines(), testing::ElementsAre("2.1 recovered by 2", "left: "));
    for (CrashChild* const child : {&first, &third}) {
      EXPECT_EQ(child->wait().exit_code, 0);
      EXPECT_THAT(child->lines(), testing::ElementsAre("runs", "met, node 2 has returned", "left: "));
    }
  }

  ClusterFile file_{tests::kBankNodes, 2, "directories = \"apart\"\n",
                    "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
  Flags& flags_ = tests::map_shared<Flags>();
};

TEST_F(Visit, ANodeThatHasOnlyVisitedIsWaitedForAtABarrier) {
  kill_and_return([] {});
}

TEST_F(Visit, WaitsForAFormerProcessThatTakesLongToEnd) {
  std::optional<CrashChild> former;
  kill_and_return([&] {
    former.emplace(ends_late());
    ASSERT_TRUE(former->run_until("has it"));
  });
}

}  // namespace
}  // namespace granary
