// `granary bench recovery` at a small size: kills, recovers, verifies, reports. No figure is judged.

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

class RecoveryBench : public testing::TestWithParam<const char*> {};

TEST_P(RecoveryBench, GivesBackWhatWasWritten) {
  const tests::TemporaryDirectory directory;
  const bool in_memory = std::string_view(GetParam()).starts_with("--durability=tmpfs");
  const std::string json = scratch(".json");
  const Ran ran = granary("bench recovery --records=5000 --keys=700 --epoch_ms=2 --snapshot_epochs=2 --noprogress " +
                          (in_memory ? "" : "--directory=" + directory.path()) + " --json=" + json + " " + GetParam());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("0 wrong, 0 missing, 0 unexpected"), std::string::npos) << ran.out;
  const auto parsed = nlohmann::json::parse(contents(json), nullptr, false);
  std::remove(json.c_str());
  ASSERT_TRUE(parsed.is_object());
  EXPECT_TRUE(parsed["granary"]["verified"]);
  const bool all_in_log =
      std::string_view(GetParam()) == "--checkpoint=none" || std::string_view(GetParam()) == "--release=commit";
  EXPECT_GT(parsed["granary"]["log_bytes"], all_in_log ? 5000 * 100 : 0) << "of 100 bytes each, and their keys";
  EXPECT_EQ(parsed["granary"]["parameters"]["writes"], in_memory ? 1 : 4);
  for (const auto& phase : parsed["granary"]["phases"]) {
    if (phase["name"] != "checkpoint write") continue;
    EXPECT_GT(phase["core_seconds"], 0);
    EXPECT_NE(phase["core_seconds"], phase["seconds"]) << "its writer does not take a whole core";
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "it leaves nothing behind";
}

/// The database takes a checkpoint of itself when the writers have been busy for a second. How many records that takes
/// is the machine's business. Within five seconds it is taken on any machine.
TEST(RecoveryBenchInterval, TellsOfTheCheckpointThatWasLoaded) {
  const tests::TemporaryDirectory directory;
  const std::string json = scratch(".json");
  nlohmann::json parsed;
  Ran ran;
  for (std::uint64_t records = 6'000'000; records < 600'000'000; records *= 2) {
    ran = granary("bench recovery --keys=700 --value_bytes=8 --writes=1 --epoch_ms=2 --snapshot_epochs=2 " +
                  fmt::format("--checkpoint_interval=1 --noprogress --records={} --directory={} --json={}", records,
                              directory.path(), json));
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    parsed = nlohmann::json::parse(contents(json), nullptr, false);
    std::remove(json.c_str());
    ASSERT_TRUE(parsed.is_object());
    if (parsed["granary"]["phases"][0]["name"] == "checkpoint load" || parsed["granary"]["write_seconds"] > 5) break;
  }
  EXPECT_EQ(parsed["granary"]["parameters"]["checkpoint_interval"], 1);
  EXPECT_EQ(parsed["granary"]["phases"][0]["name"], "checkpoint load");
  EXPECT_NE(ran.out.find("checkpoint load"), std::string::npos) << ran.out;
}

INSTANTIATE_TEST_SUITE_P(Cli, RecoveryBench,
                         testing::Values("--checkpoint=none", "--checkpoint=half --workers=3", "--checkpoint=all",
                                         "--compress=lz4 --loggers=2", "--release=commit",
                                         "--durability=tmpfs --writes=1"));

TEST(RecoveryBenchUsage, RefusesWhatCannotWork) {
  const Ran disk = granary("bench recovery --records=100000000000 --keys=10");
  EXPECT_EQ(disk.exit_code, 3);
  EXPECT_NE(disk.err.find("of this size needs about"), std::string::npos) << disk.err;
  EXPECT_EQ(granary("bench recovery --durability=none").exit_code, 2);
  EXPECT_EQ(granary("bench recovery --keys=1 --workers=2").exit_code, 2);
}

}  // namespace
}  // namespace granary::cli
