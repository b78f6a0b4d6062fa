// Processes that stand for nodes: they meet, they fail, they die. Shell scripts at descriptor 3, as nodes are.

#include "bench/cluster/drive.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/support/temporary_directory.h"

namespace granary::bench::cluster {
namespace {

NodeCommand shell(const std::string& label, const std::string& script) { return {label, {"/bin/sh", "-c", script}}; }

/// Comes to a meeting and waits; ends with 9 if there is none.
const std::string kMeet = "printf 0 >&3; test \"$(dd bs=1 count=1 <&3 2>/dev/null)\" = g || exit 9; ";

class DriveTest : public testing::Test {
 protected:
  DriveResult run(const std::vector<NodeCommand>& commands, int patience_ms = 10'000) {
    return drive(commands, signals_, {.patience_ms = patience_ms});
  }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string contents(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }

  StopSignals signals_;
  const tests::TemporaryDirectory directory_;
};

TEST_F(DriveTest, NobodyPassesAMeetingBeforeAllHaveCome) {
  const std::string note = file("note");
  const auto node = [&](const std::string& name, const std::string& delay) {
    return shell(name, "sleep " + delay + "; echo came >> " + note + "; " + kMeet + "echo went >> " + note + "; " +
                           kMeet + "echo last >> " + note);
  };
  const DriveResult result = run({node("a", "0"), node("b", "0.1"), node("c", "0.2")});
  EXPECT_EQ(result.code, ExitCode::kOk) << result.message;
  EXPECT_EQ(contents("note"), "came\ncame\ncame\nwent\nwent\nwent\nlast\nlast\nlast\n");
}

TEST_F(DriveTest, OutputComesByLinesWithLabels) {
  testing::internal::CaptureStderr();
  run({shell("node 7", "printf 'one\\ntw'; printf 'o\\n' >&2")});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "node 7: one\nnode 7: two\n");
}

TEST_F(DriveTest, AFailureStopsTheOthers) {
  const DriveResult result = run({shell("a", "exec sleep 60"), shell("b", "exit 4")});
  EXPECT_EQ(result.code, ExitCode::kDamagedData);
  EXPECT_EQ(result.message, "b ended with exit code 4");
}

TEST_F(DriveTest, AKilledNodeIsTold) {
  const DriveResult result = run({shell("a", kMeet), shell("b", "kill -9 $$")});
  EXPECT_EQ(result.code, ExitCode::kEnvironment);
  EXPECT_EQ(result.message, "b was killed by signal 9");
}

TEST_F(DriveTest, WhoDoesNotStopIsKilled) {
  const DriveResult result = run({shell("a", "trap '' TERM; while :; do sleep 0.05; done"), shell("b", "exit 3")}, 100);
  EXPECT_EQ(result.code, ExitCode::kEnvironment);
}

TEST_F(DriveTest, AFailedCheckLetsTheOthersEnd) {
  const DriveResult result = run({shell("a", "sleep 0.2; echo done > " + file("note")), shell("b", "exit 1")});
  EXPECT_EQ(result.code, ExitCode::kCheckFailed);
  EXPECT_EQ(contents("note"), "done\n");
}

/// Two nodes that meet twice; the second has one meeting fewer when it comes back, and dies in between by plan.
class PlannedDeathTest : public DriveTest {
 protected:
  static constexpr std::uint64_t kMs = 1'000'000;

  NodeCommand survivor() { return shell("a", kMeet + "sleep 0.3; " + kMeet + "echo ended >> " + file("a")); }
  NodeCommand victim(const std::string& comes_back) {
    return shell("b", "if test -e " + file("b") + "; then " + comes_back + "\nexit; fi; echo >" + file("b") + "; " +
                          kMeet + "exec sleep 60");
  }
  DriveResult run_with(const std::vector<NodeCommand>& commands, std::optional<std::uint64_t> back_after_ns,
                       std::uint64_t after_ns = 100 * kMs) {
    PlannedDeath death{.node = 1, .after_ns = after_ns, .back_after_ns = back_after_ns};
    death.begun = [this](std::uint64_t now) { begun_ = now; };
    death.killed = [this](std::uint64_t now) { killed_ = now; };
    death.restarts = [this](std::uint64_t now) { restarts_ = now; };
    return drive(commands, signals_, {.death = death});
  }

  std::uint64_t begun_ = 0, killed_ = 0, restarts_ = 0;
};

TEST_F(PlannedDeathTest, TheOthersMeetWithoutIt) {
  const DriveResult result = run_with({survivor(), victim("exit 9")}, std::nullopt);
  EXPECT_EQ(result.code, ExitCode::kOk) << result.message;
  EXPECT_EQ(contents("a"), "ended\n");
  EXPECT_GE(killed_, begun_ + 100 * kMs);
  EXPECT_EQ(restarts_, 0u);
}

TEST_F(PlannedDeathTest, TheOthersWaitForItsNewProcess) {
  const DriveResult result =
      run_with({survivor(), victim("sleep 0.3; echo back >> " + file("a") + "; " + kMeet)}, 100 * kMs);
  EXPECT_EQ(result.code, ExitCode::kOk) << result.message;
  EXPECT_EQ(contents("a"), "back\nended\n");
  EXPECT_GE(restarts_, killed_ + 100 * kMs);
}

TEST_F(PlannedDeathTest, ANewProcessThatFailsIsAFailure) {
  const DriveResult result = run_with({survivor(), victim("exit 4")}, 100 * kMs);
  EXPECT_EQ(result.code, ExitCode::kDamagedData);
  EXPECT_EQ(result.message, "b ended with exit code 4");
}

TEST_F(PlannedDeathTest, AnEarlierEndIsAFailure) {
  constexpr std::uint64_t kLate = 60'000 * kMs;  // the shell may have to wait for a processor before it ends
  const DriveResult result = run_with({survivor(), shell("b", kMeet + "exit 5")}, 100 * kMs, kLate);
  EXPECT_EQ(result.code, ExitCode::kDiskFault);
  EXPECT_EQ(killed_, 0u);
}

/// Each life writes a line; all but the first of a node are back at once. They end when they are asked to.
TEST_F(DriveTest, RepeatedDeathsAreFollowedByReturns) {
  const auto node = [this](const std::string& name) {
    return shell(name, "trap stop=1 INT; echo life >> " + file(name) + "; if [ $(wc -l < " + file(name) +
                           ") -gt 1 ]; then printf r >&3; else " + kMeet +
                           "fi; while [ -z \"$stop\" ]; do sleep 0.02; done; " + kMeet + "echo ended >> " + file(name));
  };
  const DriveResult result = drive({node("a"), node("b")}, signals_, {.deaths = RepeatedDeaths{.count = 4, .seed = 3}});
  EXPECT_EQ(result.code, ExitCode::kOk) << result.message;
  EXPECT_EQ(result.returns, 4u);
  const std::string all = contents("a") + contents("b");
  const auto count = [&](const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = all.find(word); at != std::string::npos; at = all.find(word, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("life"), 2u + 4u);
  EXPECT_EQ(count("ended"), 2u);
}

TEST_F(DriveTest, ANodeThatDoesNotComeBackIsAFailure) {
  const auto node = [this](const std::string& name) {
    return shell(name, "test -e " + file(name) + " && exit 4; touch " + file(name) + "; " + kMeet + "exec sleep 60");
  };
  const DriveResult result = drive({node("a"), node("b")}, signals_, {.deaths = RepeatedDeaths{.count = 1}});
  EXPECT_EQ(result.code, ExitCode::kDamagedData);
  EXPECT_TRUE(result.message.ends_with("ended with exit code 4")) << result.message;
  EXPECT_EQ(result.returns, 0u);
}

TEST_F(DriveTest, NobodyWaitsForOneThatHasLeft) {
  const DriveResult result = run({shell("a", kMeet), shell("b", "exit 0")});
  EXPECT_NE(result.code, ExitCode::kOk);
  EXPECT_EQ(result.message, "a ended with exit code 9");
}

TEST_F(DriveTest, AProgramThatIsNotThere) {
  EXPECT_EQ(run({{"a", {"/nowhere/granary"}}}).message, "a ended with exit code 127");
}

}  // namespace
}  // namespace granary::bench::cluster
