// A bar tells how far a tool is: its text, and who sees it.

#include "src/cli/printing/progress_bar.h"

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(ProgressText, TellsShareRateAndRest) {
  EXPECT_EQ(progress_text({.bytes_done = 2 * kMiB, .bytes_all = 4 * kMiB}, 2),
            "[###############---------------]  50 %  2.0 MiB of 4.0 MiB, 1.0 MiB/s, 2 s left");
  EXPECT_EQ(progress_text({.bytes_done = kMiB, .bytes_all = 0}, 1), "checkpoint  1.0 MiB, 1.0 MiB/s");
}

/// The first bytes came from a cache, or waited for the disk to wake up.
TEST(ProgressText, TellsNoRestAtTheBeginning) {
  EXPECT_THAT(progress_text({.bytes_done = 99 * kMiB, .bytes_all = 10'000 * kMiB}, 1), EndsWith("99.0 MiB/s"));
  EXPECT_THAT(progress_text({.bytes_done = 0, .bytes_all = kMiB}, 1), Not(HasSubstr("left")));
  EXPECT_THAT(progress_text({.bytes_done = 100 * kMiB, .bytes_all = 10'000 * kMiB}, 1), EndsWith(", 99 s left"));
}

/// `script` gives the command a terminal.
TEST(ReadingBar, IsShownOnATerminal) {
  const tests::TemporaryDirectory root;
  Options options{.directory = root / "db", .reliable_directory = root / "rings", .checkpoint_interval_s = 0};
  options.memory_limit_bytes = 64 * kMiB;
  options.epoch_ms = options.snapshot_epochs = 2;
  {
    const auto database = Database::open(options).value();
    const Table table = database->create_table("t").value();
    Worker worker = database->register_worker().value();
    const auto put = [&] {
      return worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }).committed();
    };
    ASSERT_TRUE(put());
    ASSERT_TRUE(database->checkpoint().ok());
    ASSERT_TRUE(put()) << "which is in the log only";
  }
  const std::string said = scratch(".said");
  for (const std::string words : {"log verify ", "log stat ", "checkpoint verify ", "recover --dry-run "}) {
    const std::string command = GRANARY_COMMAND " " + words + options.directory;
    ASSERT_EQ(std::system(("script -qec '" + command + "' /dev/null >" + said + " 2>&1 </dev/null").c_str()), 0);
    EXPECT_THAT(contents(said), HasSubstr("] 100 %  ")) << words;
    EXPECT_EQ(granary(words + options.directory).err, "") << "no terminal, no bar";
  }
  std::remove(said.c_str());
}

}  // namespace
}  // namespace granary::cli
