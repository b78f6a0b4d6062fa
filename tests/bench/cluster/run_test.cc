// A whole run of nodes, which are shell scripts that put a report made beforehand into its place.

#include "bench/cluster/run.h"

#include <gtest/gtest.h>

#include <fstream>

#include "bench/harness/json_report.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench::cluster {
namespace {

/// A report of a node that committed so many requests, with its part of a sum.
nlohmann::ordered_json node_report(std::uint64_t committed, Tally tally, const AbortCounts& aborts) {
  Measurement run;
  run.elapsed_ns = 1'000'000'000;
  run.types.resize(1);
  run.types[0].name = "pay";
  run.types[0].committed = committed;
  run.types[0].aborts = aborts;
  run.verified = true;
  run.findings = {sums_agree("money", tally, {.node = 0, .nodes = 2, .in_cluster = true})};
  const BenchCommand command{.name = "bank"};
  const FlagValues flags;
  Settings settings;
  settings.share = {.node = 0, .nodes = 2, .in_cluster = true};
  return json_report({command, flags, settings, {}, 1, {run}});
}

class RunNodes : public testing::Test {
 protected:
  /// Two nodes with these sums; returns the exit code.
  ExitCode run(Tally first, Tally second, const std::string& then = "true") {
    const Tally tallies[] = {first, second};
    FlagValues flags;
    flags.set("json", {.kind = FlagKind::kText, .text = directory_ / "merged.json"});
    flags.set("repeat", {.kind = FlagKind::kInteger, .whole = 2, .text = "2"});
    const BenchCommand command{.name = "bank"};
    const Settings settings;
    const auto words = [&](std::size_t node, const std::string& report) -> std::vector<std::string> {
      const std::string made = directory_ / ("made-" + std::to_string(node));
      std::ofstream(made) << node_report(100 * (node + 1), tallies[node], aborts_).dump();
      return {"/bin/sh", "-c", "R=" + report + "; cp " + made + " $R && " + then};
    };
    return run_nodes({command, flags, settings, {"node 1", "node 2"}, words});
  }
  nlohmann::ordered_json merged() const {
    std::ifstream file(directory_ / "merged.json");
    return nlohmann::ordered_json::parse(file);
  }

  const tests::TemporaryDirectory directory_;
  AbortCounts aborts_{};  // of each node
};

TEST_F(RunNodes, ReportsTotalsAndEachNode) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({10, 4}, {10, 16}), ExitCode::kOk);
  const std::string text = testing::internal::GetCapturedStdout();
  for (const char* expected : {"2 nodes", "node 1", "node 2", "300", "2 of 2 conditions hold"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " missing in\n" << text;
  const auto json = merged();
  EXPECT_EQ(json.at("Measured Requests"), 300);
  EXPECT_EQ(json.at("granary").at("repeats").size(), 2u);
  EXPECT_EQ(json.at("granary").at("nodes").at(1).at("node 2").at("throughput"), 200);
}

TEST_F(RunNodes, FailsIfTheNodesSumsDoNotAgree) { EXPECT_EQ(run({10, 4}, {10, 15}), ExitCode::kCheckFailed); }

TEST_F(RunNodes, FailsIfMemoryRanOut) {
  aborts_[static_cast<std::size_t>(AbortReason::kOutOfMemory)] = 3;
  EXPECT_EQ(run({10, 4}, {10, 16}), ExitCode::kEnvironment);
  EXPECT_EQ(run({10, 4}, {10, 15}), ExitCode::kCheckFailed) << "the worse of the two";
}

TEST_F(RunNodes, FailsIfANodeCouldNotBeReachedAlthoughNoneWasKilled) {
  aborts_[static_cast<std::size_t>(AbortReason::kNodeUnreachable)] = 3;
  EXPECT_EQ(run({10, 4}, {10, 16}), ExitCode::kEnvironment);
}

TEST_F(RunNodes, FailsAsTheNodeThatFailed) { EXPECT_EQ(run({10, 4}, {10, 16}, "exit 5"), ExitCode::kDiskFault); }

TEST_F(RunNodes, ANodeWithoutReportIsAFailure) { EXPECT_EQ(run({10, 4}, {10, 16}, "rm $R"), ExitCode::kDamagedData); }

}  // namespace
}  // namespace granary::bench::cluster
