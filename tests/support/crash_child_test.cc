// Tests that the reports of a child that is killed are seen, and how it ended. Not covered: parents with threads.

#include "tests/support/crash_child.h"

#include <gtest/gtest.h>

namespace granary::tests {
namespace {

TEST(CrashChild, ReportsAndEndsByItself) {
  CrashChild child([](const CrashChild::Report& report) {
    report("one");
    report("two");
  });
  const CrashChild::End end = child.wait();
  EXPECT_FALSE(end.killed);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(child.lines(), (std::vector<std::string>{"one", "two"}));
}

/// Otherwise a test that looks at the exit code alone would pass although an expectation failed in its child.
TEST(CrashChild, EndsWithOneIfAnExpectationFailedInIt) {
  CrashChild child([](const CrashChild::Report&) { ADD_FAILURE() << "in the child, as it is meant"; });
  EXPECT_EQ(child.wait().exit_code, 1);
}

/// The parent is a child itself here, so that its failure is not this test's.
TEST(CrashChild, EndsWithOneAlsoIfOneFailedInItsParentBefore) {
  CrashChild parent([](const CrashChild::Report& report) {
    ADD_FAILURE() << "in the parent, as it is meant";
    CrashChild fails([](const CrashChild::Report&) { ADD_FAILURE() << "in the child, as it is meant"; });
    report(std::to_string(fails.wait().exit_code));
    CrashChild holds([](const CrashChild::Report&) {});
    report(std::to_string(holds.wait().exit_code));
  });
  EXPECT_EQ(parent.wait().exit_code, 1);
  EXPECT_EQ(parent.lines(), (std::vector<std::string>{"1", "0"}));
}

TEST(CrashChild, KilledAnywhereAllItReportedIsThere) {
  for (int round = 0; round < 20; ++round) {
    CrashChild child([](const CrashChild::Report& report) {
      for (std::uint64_t number = 0;; ++number) report(std::to_string(number));
    });
    ASSERT_TRUE(child.run_until("0"));
    child.run_for(std::chrono::microseconds(100 * round));
    child.kill();
    for (std::size_t i = 0; i < child.lines().size(); ++i) ASSERT_EQ(child.lines()[i], std::to_string(i));
  }
}

TEST(CrashChild, DiesAtASyncPoint) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  CrashChild child([](const CrashChild::Report& report) {
    base::set_sync_hook(die_at("here", 2));
    for (int i = 0; i < 10; ++i) {
      base::sync_point("elsewhere");
      base::sync_point("here");
      report(std::to_string(i));
    }
  });
  EXPECT_TRUE(child.wait().killed);
  EXPECT_EQ(child.lines(), (std::vector<std::string>{"0", "1"}));
}

TEST(CrashChild, RunsAProgram) {
  CrashChild child(std::vector<std::string>{"/bin/sh", "-c", "echo started; exit 3"});
  const CrashChild::End end = child.wait();
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(child.lines(), std::vector<std::string>{"started"});
}

}  // namespace
}  // namespace granary::tests
