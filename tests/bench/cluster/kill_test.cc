// What --kill and --restart_after may be.

#include "bench/cluster/kill.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster_config/config.h"

namespace granary::bench::cluster {
namespace {

class KillFlags : public testing::Test {
 protected:
  KillFlags() {
    config_.file = "bank.toml";
    for (const std::uint16_t id : {3, 5, 9}) {
      config_.nodes.emplace_back();
      config_.nodes.back().id = id;
      config_.nodes.back().data_directory = "data";
    }
    set("kill", "");
    set("protocol", "occ");
    set_real("seconds", 10);
    flags_.set("workers", {.kind = FlagKind::kInteger, .whole = 2, .text = "2"});
    flags_.set("restart_after", {.kind = FlagKind::kReal, .text = "0"});
  }
  void set(const std::string& name, const std::string& text) { flags_.set(name, {.given = true, .text = text}); }
  void set_real(const std::string& name, double value) {
    flags_.set(name, {.kind = FlagKind::kReal, .given = true, .real = value, .text = fmt::format("{}", value)});
  }
  Result<std::optional<Kill>> read() { return kill_from(command_, flags_, config_); }
  /// Refused as wrong usage, with a message that has all of this.
  void expect_refused(std::initializer_list<const char*> says) {
    const auto kill = read();
    ASSERT_EQ(kill.status().code(), StatusCode::kInvalidArgument);
    for (const char* part : says)
      EXPECT_NE(kill.status().message().find(part), std::string::npos)
          << part << " missing: " << kill.status().message();
  }

  BenchCommand command_{.name = "bank", .survives_kill = [](const FlagValues&) { return Status(); }};
  FlagValues flags_;
  cluster_config::ClusterConfig config_;
};

TEST_F(KillFlags, NothingIsKilledUnlessAsked) {
  const auto kill = read();
  ASSERT_TRUE(kill.ok());
  EXPECT_FALSE(kill->has_value());
}

TEST_F(KillFlags, ANodeATimeAndAReturn) {
  set("kill", "5@2.5");
  set_real("restart_after", 1.25);
  const auto kill = read();
  ASSERT_TRUE(kill.ok()) << kill.status().message();
  ASSERT_TRUE(kill->has_value());
  EXPECT_EQ((*kill)->node, 1u);
  EXPECT_EQ((*kill)->id, 5u);
  EXPECT_DOUBLE_EQ((*kill)->at_seconds, 2.5);
  EXPECT_DOUBLE_EQ((*kill)->restart_after_seconds.value_or(0), 1.25);
}

TEST_F(KillFlags, WithoutReturn) {
  set("kill", "3@0");
  const auto kill = read();
  ASSERT_TRUE(kill.ok() && kill->has_value());
  EXPECT_FALSE((*kill)->restart_after_seconds);
}

TEST_F(KillFlags, WhatIsNoNodeAndTimeIsRefused) {
  for (const char* text : {"5", "5@", "@2", "@", "five@2", "5@two", "-5@2", "5@-2", "5@1e3", "5@2s", "5 @2", "5@2@3",
                           "5@inf", "5@nan", "99999@2", "3,5@2", "5@."}) {
    SCOPED_TRACE(text);
    set("kill", text);
    expect_refused({"--kill=", text, "NODE@SECONDS"});
  }
}

TEST_F(KillFlags, ANodeThatTheFileDoesNotHave) {
  set("kill", "4@2");
  expect_refused({"--kill=4@2", "'bank.toml' has no node 4"});
}

TEST_F(KillFlags, TimesBehindTheEnd) {
  set("kill", "5@10");
  expect_refused({"--kill=5@10", "over after 10 s", "--seconds"});
  set("kill", "5@9");
  set_real("restart_after", 1);
  expect_refused({"--restart_after=1", "10 s after the measurement began"});
  set_real("restart_after", 0.5);
  EXPECT_TRUE(read().ok());
  set_real("seconds", 601);
  expect_refused({"--seconds=601", "600 s are the most"});
}

TEST_F(KillFlags, AReturnNeedsADeath) {
  set_real("restart_after", 1);
  expect_refused({"--restart_after", "--kill"});
}

TEST_F(KillFlags, NodesWithoutLogsOrOthers) {
  set("kill", "5@2");
  config_.nodes[2].data_directory.clear();
  expect_refused({"--kill=5@2", "node 9", "'data_directory'", "'bank.toml'"});
  config_.nodes = {config_.nodes[1]};
  expect_refused({"no other node"});
}

TEST_F(KillFlags, WhatCannotBeJudged) {
  set("kill", "5@2");
  set("protocol", "two_pc_tcp");
  expect_refused({"two_pc_tcp", "occ"});
  set("protocol", "occ");
  flags_.set("workers", {.kind = FlagKind::kInteger, .whole = kMostTrackedWorkers + 1, .text = "17"});
  expect_refused({"--workers=17", "16 are the most"});
  flags_.set("workers", {.kind = FlagKind::kInteger, .whole = 2, .text = "2"});
  command_.survives_kill = [](const FlagValues&) { return Status(StatusCode::kInvalidArgument, "--chopping"); };
  expect_refused({"--chopping"});
}

}  // namespace
}  // namespace granary::bench::cluster
