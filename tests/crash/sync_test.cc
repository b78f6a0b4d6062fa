// A sync that succeeds can be believed, also on an ext4 whose journal has broken during the sync of another file.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "src/base/file.h"
#include "tests/crash/disks.h"

namespace granary::crash {
namespace {

/// What a direct file writes without being asked to: nothing of it is left for the sync.
constexpr std::size_t kBytes = std::size_t{2} << 20;

/// Has the system write the file's pages to the device, as it does in the background; that they belong to the file only
/// the journal will say.
bool write_pages(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  constexpr unsigned kNow = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const bool written = ::sync_file_range(descriptor, 0, 0, kNow) == 0;
  ::close(descriptor);
  return written;
}

class Sync : public testing::TestWithParam<bool> {};

TEST_P(Sync, OfAFileWhoseChangesWereLostWithTheJournalFails) {
  static Workshop workshop;
  if (!workshop.why_not().empty()) GTEST_SKIP() << workshop.why_not();
  LoopDisk disk(workshop.new_round());
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  const bool direct = GetParam();
  base::FileSystem& files = base::system_files();
  const std::string log_path = disk.path() + "/log", other_path = disk.path() + "/other";
  auto log = (direct ? files.create_direct(log_path) : files.create(log_path)).value();
  auto other = files.create(other_path).value();
  ASSERT_TRUE(files.sync_directory(disk.path()).ok());
  for (base::File* const file : {log.get(), other.get()}) ASSERT_TRUE(file->append(std::string(kBytes, 'x')).ok());
  ASSERT_TRUE(write_pages(log_path) && write_pages(other_path));
  bool full = false;  // a write that is still under way may take room in between
  for (int attempt = 0; attempt < 100 && !full; ++attempt) full = leave_room(disk.store(), 0);
  ASSERT_TRUE(full);
  ASSERT_FALSE(other->sync().ok()) << "the journal did not break";
  EXPECT_FALSE(log->sync().ok()) << "a sync succeeded, and what was written is lost";
  log.reset();
  other.reset();
  ASSERT_TRUE(disk.take_image() && leave_room(disk.store(), 16 * kBytes) && disk.return_to_image());
  EXPECT_EQ(std::filesystem::file_size(log_path), 0u) << "it was not lost, so this test shows nothing";
}

INSTANTIATE_TEST_SUITE_P(Files, Sync, testing::Values(false, true),
                         [](const auto& instance) { return std::string(instance.param ? "Direct" : "Cached"); });

}  // namespace
}  // namespace granary::crash
