#pragma once
// Runs code in a forked child, which has all that the test has made. The child must not start threads, as
// ThreadSanitizer allows it none.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <granary/function_ref.h>
#include <gtest/gtest.h>

#include "src/base/sanitizers.h"

namespace granary::tests {

/// Whether a child may allocate memory and end by exit(). The allocator of AddressSanitizer may be locked for good in a
/// child, by a thread that only the parent has, and its leak checker reports what such threads have.
inline constexpr bool kChildrenMayGoOn = !base::kAddressSanitizer;

/// Runs `act` in a child, and expects that it ends there with all expectations met. `end` ends the child.
inline void in_child(FunctionRef<void()> act, void (*end)(int) = ::_exit) {
  constexpr unsigned kHangs_s = 30;
  std::fflush(nullptr);  // otherwise exit() in the child would write the buffered output once more
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(kHangs_s);
    act();
    end(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace granary::tests
