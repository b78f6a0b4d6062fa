// Processes that stand for nodes: they meet, they fail, they die. Shell scripts at descriptor 3, as nodes are.

#include "bench/cluster/drive.h"

#include <gtest/gtest.h>

#include <fstream>
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
