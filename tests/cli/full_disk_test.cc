// Benchmarks on a disk that is too small: refused once it is known, or exit code 5; nothing is left behind. And a node
// whose disk fills up while it serves, beside others that end the process of a dead node.

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/cli/command_line.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

struct Case {
  const char* name;
  unsigned mebibytes;
  const char* arguments;
  int exit_code;
  const char* cause;
};

class SmallDisk : public testing::TestWithParam<Case> {};

TEST_P(SmallDisk, EndsWithTheCause) {
  const tests::SmallDisk disk(GetParam().mebibytes);
  if (!disk.mounted()) GTEST_SKIP() << disk.why();
  const Ran ran = granary("bench " + std::string(GetParam().arguments) +
                          " --noprogress --noverify --epoch_ms=5 --durability=disk --directory=" + disk.path());
  EXPECT_EQ(ran.exit_code, GetParam().exit_code) << ran.err;
  const std::size_t first = ran.err.find(GetParam().cause);
  ASSERT_NE(first, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(GetParam().cause, first + 1), std::string::npos) << "said twice: " << ran.err;
  EXPECT_NE(ran.err.find(disk.path()), std::string::npos) << ran.err;
  EXPECT_TRUE(std::filesystem::is_empty(disk.path())) << "it leaves nothing behind";
}

constexpr const char* kFull = "No space left on device";
constexpr const char* kTooSmall = "Choose a --directory with more room";

INSTANTIATE_TEST_SUITE_P(
    Cli, SmallDisk,
    testing::Values(Case{"YcsbFills", 8, "ycsb --mix=a --keys=1000 --warmup=0 --seconds=60", 5, kFull},
                    Case{"TpccFills", 160, "tpcc --warehouses=1 --warmup=0 --seconds=60", 5, kFull},
                    Case{"TpccCannotLoad", 8, "tpcc --warehouses=1", 5, kFull},
                    Case{"YcsbCannotRunSoLong", 512, "ycsb --mix=a --keys=1000 --warmup=0.1 --seconds=1000000", 3,
                         kTooSmall}),
    [](const auto& instance) { return std::string(instance.param.name); });

/// Fills the disk of one of two nodes while both serve, and does `then` with its process ($p2), which has to end with
/// exit code 5 and the cause. Others kill the process of a dead node, but not before this one has said why it ends: a
/// supervisor would start it again.
void expect_cause_when_full(const std::string& then) {
  constexpr unsigned kMebibytes = 40;
  const tests::SmallDisk disk(kMebibytes);
  if (!disk.mounted()) GTEST_SKIP() << disk.why();
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "cluster.toml";
  std::ofstream(file) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 10\n[defaults]\n"
                         "memory = \"64MiB\"\nworkers = 1\nreliable_directory = \"rings\"\n"
                         "[[node]]\nid = 1\ndata_directory = \"data\"\n[[node]]\nid = 2\ndata_directory = \""
                      << disk.path() << "/data\"\n";
  std::filesystem::create_directory(directory / "rings");
  const std::string script = fmt::format(
      "cd {0}; for i in 1 2; do {1} node --cluster={2} --id=$i >out$i 2>&1 & eval p$i=$!; done; "
      "for t in $(seq 600); do grep -q serves out1 && grep -q serves out2 && break; sleep 0.05; done; "
      "cat /dev/zero >{3}/fill 2>/dev/null; {4}; wait $p2; code=$?; kill -TERM $p1; wait $p1; exit $code",
      directory.path(), GRANARY_COMMAND, file, disk.path(), then);
  const int status = std::system(script.c_str());
  const std::string said = contents(directory / "out2");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status << ": " << said << contents(directory / "out1");
  EXPECT_NE(said.find(kFull), std::string::npos) << said;
}

/// It is told to end, cannot end its log, and counts as dead from then on.
TEST(NodeOnASmallDisk, SaysWhyItsLogCannotBeEnded) { expect_cause_when_full("sleep 0.5; kill -TERM $p2"); }

/// While it stays a member, no node releases anything.
TEST(NodeOnASmallDisk, EndsByItselfWhenItsLogHasFailed) {
  expect_cause_when_full(
      "for t in $(seq 400); do kill -0 $p2 2>/dev/null || break; sleep 0.05; done; kill -KILL $p2 2>/dev/null");
}

}  // namespace
}  // namespace granary::cli
