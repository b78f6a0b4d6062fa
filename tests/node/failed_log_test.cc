// A node whose log has failed, by a sync of its disk that fails once (tests/crash/failing_calls.cc): it ends its
// membership by itself, the others recover it and release results again, and it comes back with all that was released.
// If its program wants it to stay, a node that cannot come back meanwhile says which node keeps it out.

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank_under_load.h"

namespace granary {
namespace {

using tests::BankUnderLoad;
using tests::CrashChild;
using tests::kBankNodes;

constexpr NodeNumber kFails = 2;
constexpr NodeNumber kReturns = 3;

class FailedLog : public BankUnderLoad {
 protected:
  FailedLog() : BankUnderLoad({}) {}

  void begins(NodeNumber id, bool first_life) override {
    if (id != kFails || !first_life) return;
    ::setenv("GRANARY_CRASH_CALL", "sync", 1);
    ::setenv("GRANARY_CRASH_PATH", "data/node-2", 1);
    ::setenv("GRANARY_CRASH_NTH", "1", 1);
    ::setenv("GRANARY_CRASH_ERROR", "EIO", 1);
    ::setenv("GRANARY_CRASH_PLAIN", "1", 1);
    ::setenv("GRANARY_CRASH_WHEN", trigger().c_str(), 1);
  }
  ClusterOptions options(NodeNumber node) const override {
    ClusterOptions options = BankUnderLoad::options(node);
    options.leaves_when_log_fails = leaves_;
    return options;
  }
  std::string trigger() const { return folder() / "fails"; }
  void let_sync_fail() const { std::ofstream(trigger()) << "now"; }
  /// Results are released of a node whose transactions do without the one that fails.
  bool releases() const {
    const std::uint64_t before = flags_.nodes[kReturns].released;
    return tests::comes_true([&] { return flags_.nodes[kReturns].released > before; }, std::chrono::seconds(20));
  }
  /// Why the node is refused that comes back.
  CrashChild::Body refused() {
    return [this](const CrashChild::Report& report) {
      ClusterOptions options = this->options(kReturns);
      options.start_timeout_ms = 10'000;
      report(Cluster::join(options).status().message());
    };
  }

  bool leaves_ = true;
};

TEST_F(FailedLog, EndsTheNodeAndTheOthersGoOn) {
  ASSERT_NO_FATAL_FAILURE(start_all());
  let_sync_fail();
  ASSERT_TRUE(tests::comes_true([&] { return child(kFails)->ended(); }, std::chrono::seconds(20)))
      << "it stays a member, and nothing is released any more";
  (void)child(kFails)->wait();  // it ends by itself, or the others kill it, who recover it
  for (unsigned times = 0; times < 3; ++times) EXPECT_TRUE(releases());
  child(kFails) = std::make_unique<CrashChild>(node(kFails, /*load=*/false));
  expect_progress_by_all();
  end_all();
}

TEST_F(FailedLog, OfANodeThatStaysIsNamedToOneThatComesBack) {
  leaves_ = false;
  ASSERT_NO_FATAL_FAILURE(start_all());
  let_sync_fail();
  const auto stands = [&] {
    const std::uint64_t before = flags_.nodes[kReturns].released;
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return flags_.nodes[kReturns].released == before;
  };
  ASSERT_TRUE(tests::comes_true(stands, std::chrono::seconds(20)));
  flags_.leaves = kReturns;
  EXPECT_EQ(child(kReturns)->wait().exit_code, 0);
  CrashChild again(refused());
  EXPECT_EQ(again.wait().exit_code, 0);
  EXPECT_THAT(again.lines(), testing::ElementsAre(testing::HasSubstr("node 2 has not written them")));
  EXPECT_FALSE(child(kFails)->ended()) << "it was to stay";
}

}  // namespace
}  // namespace granary
