// A sync that succeeds can be believed, also on an ext4 whose journal has broken during the sync of another file.

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "tests/crash/disks.h"

namespace granary::crash {
namespace {

using OneFile = std::unique_ptr<base::File>;

/// Both kinds of files that the log is written to.
OneFile create(bool direct, const std::string& path) {
  base::FileSystem& files = base::system_files();
  auto file = direct ? files.create_direct(path) : files.create(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(*file);
}

class Sync : public testing::TestWithParam<bool> {};

TEST_P(Sync, OfAFileWhoseChangesWereLostWithTheJournalFails) {
  static Workshop workshop;
  if (!workshop.why_not().empty()) GTEST_SKIP() << workshop.why_not();
  LoopDisk disk(workshop.new_round());
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  const OneFile other = create(false, disk.path() + "/other"), log = create(GetParam(), disk.path() + "/log");
  const std::string little = "a few bytes, for which the file has a block already";
  for (base::File* const file : {other.get(), log.get()}) {
    ASSERT_TRUE(file->append(little).ok());
    ASSERT_TRUE(file->sync().ok());
  }
  ASSERT_TRUE(leave_room(disk.store(), 0));  // the blocks of both files are there; the journal needs new ones
  Status broken;
  for (int turn = 0; turn < 20 && broken.ok(); ++turn) {
    ASSERT_TRUE(log->append(little).ok());
    static_cast<void>(log->flush());
    ASSERT_TRUE(other->append(little).ok());
    broken = other->sync();
  }
  ASSERT_FALSE(broken.ok()) << "the journal did not break";
  EXPECT_FALSE(log->sync().ok()) << "what was written is lost, and its sync succeeded";
}

INSTANTIATE_TEST_SUITE_P(Files, Sync, testing::Values(false, true),
                         [](const auto& instance) { return std::string(instance.param ? "Direct" : "Cached"); });

}  // namespace
}  // namespace granary::crash
