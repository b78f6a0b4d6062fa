// Assertions with names: what ends the process, and what it says. That builds without test hooks leave debug invariants
// out is seen there.

#include <gtest/gtest.h>

#include "src/base/check.h"

namespace granary::base {
namespace {

TEST(Checks, WhatHoldsDoesNothing) {
  always_check(true, "a reason");
  debug_check(true, "a reason");
  invariant("I1", true);
  debug_invariant("I1", [] { return true; });
}

TEST(ChecksDeathTest, WhatDoesNotHoldIsNamedWithItsPlace) {
  EXPECT_DEATH(always_check(false, "a reason"), "internal check failed: a reason \\(.*check_test.cc:");
  EXPECT_DEATH(invariant("I1", false), "internal check failed: I1 \\(.*check_test.cc:");
}

TEST(ChecksDeathTest, DebugInvariantsAreOfDebugAndTestBuilds) {
  bool looked = false;
  const auto holds = [&] {
    looked = true;
    return true;
  };
  debug_invariant("I1", holds);
  EXPECT_EQ(looked, kDebugChecks);
  if (!kDebugChecks) {
    debug_invariant("I1", [] { return false; });
    return;
  }
  EXPECT_DEATH(debug_invariant("I1", [] { return false; }), "internal check failed: I1 \\(.*check_test.cc:");
}

TEST(ChecksDeathTest, MutedDebugInvariantsEndNothingAndOthersStillDo) {
  const auto muted = [] {
    mute_debug_invariants();
    debug_invariant("I1", [] { return false; });
    invariant("I2", false);
  };
  EXPECT_DEATH(muted(), "internal check failed: I2");
}

}  // namespace
}  // namespace granary::base
