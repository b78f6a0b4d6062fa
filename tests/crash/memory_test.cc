// Full memory, seen from outside the process: a client that knows the public headers only fills it, of whatever kind,
// with a small limit and an address space that is little larger. It is told so by typed errors, reads on, and writes
// again within a second of the cause's end (memory_client.cc). Then it is killed, and another one opens what it has
// left, with the same limits.
//
// Not covered: nodes of clusters, whose peers may hold snapshots.

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/sanitizers.h"
#include "tests/support/crash_child.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::crash {
namespace {

using std::chrono::milliseconds;

class FullMemoryFromOutside : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "sanitizers take all address space there is";
  }
  std::vector<std::string> client(const char* command) const {
    return {GRANARY_CRASH_MEMORY_CLIENT, command, GetParam(), directory_ / "db", rings_.path()};
  }
  /// The number after the last line that begins so; 0 if there is none.
  static std::uint64_t last_number(const std::vector<std::string>& lines, const std::string& word) {
    std::uint64_t last = 0;
    for (const std::string& line : lines) {
      std::istringstream words(line);
      std::string first;
      std::uint64_t number = 0;
      if (words >> first >> number && first == word) last = number;
    }
    return last;
  }
  /// Violations and failures, and what else is worth a look.
  static std::string told(const std::vector<std::string>& lines, bool wrong_only) {
    std::string text;
    for (const std::string& line : lines) {
      const bool wrong = line.starts_with("violation ") || line.starts_with("failed ");
      if (wrong || (!wrong_only && !line.starts_with("committed "))) text += line + "\n";
    }
    return text;
  }

  const tests::TemporaryDirectory directory_;
  const tests::RingDirectory rings_;
};

TEST_P(FullMemoryFromOutside, IsToldEndsAndLosesNothing) {
  std::uint64_t acknowledged = 0;
  for (int life = 0; life < 2; ++life) {
    tests::CrashChild running(client("run"));
    ASSERT_TRUE(running.run_until("full")) << told(running.lines(), false);
    running.run_for(milliseconds(20 + 30 * life));
    running.kill();
    EXPECT_EQ(told(running.lines(), true), "");
    acknowledged = std::max(acknowledged, last_number(running.lines(), "committed"));
    EXPECT_GT(acknowledged, 0u);
    tests::CrashChild checking(client("check"));
    EXPECT_EQ(checking.wait().exit_code, 0) << told(checking.lines(), false);
    EXPECT_EQ(told(checking.lines(), true), "");
    EXPECT_GE(last_number(checking.lines(), "transactions"), acknowledged);
    std::cout << told(running.lines(), false) << told(checking.lines(), false);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FullMemoryFromOutside, testing::Values("live", "garbage", "snapshot", "sizes"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace granary::crash
