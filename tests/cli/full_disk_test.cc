// Benchmarks on a disk that is too small: refused once it is known, or exit code 5; nothing is left behind.

#include <filesystem>

#include "tests/cli/command_line.h"
#include "tests/support/small_disk.h"

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

}  // namespace
}  // namespace granary::cli
