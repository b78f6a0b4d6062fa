// A backup that fails leaves its target as it was, so that the next attempt may have it. Not here: what a backup holds
// (tests/cli/copies_test.cc).

#include "recovery/backup.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fault_files.h"
#include "tests/support/small_disk.h"

namespace granary::recovery {
namespace {

using tests::FileCall;

/// Makes a backup of a database whose only file is "DATA".
Status back_up(base::FileSystem& files, const std::string& directory, const std::string& to) {
  Manifest manifest;
  manifest.database = new_id();
  return write_backup(files, directory, manifest, {}, {"DATA"}, to, [](std::uint64_t, std::uint64_t) {}).status();
}

class BackupFault : public testing::TestWithParam<FileCall> {};

TEST_P(BackupFault, AtTheManifestLeavesNothing) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  files.plan({.call = GetParam(), .code = StatusCode::kDiskFull, .path = "/to/MANIFEST"});
  EXPECT_EQ(back_up(files, "/db", "/to").code(), StatusCode::kDiskFull);
  EXPECT_EQ(files.paths(), std::vector<std::string>{"/db/DATA"});
  EXPECT_EQ(files.list("/to").status().code(), StatusCode::kNotFound);
  const Status again = back_up(files, "/db", "/to");
  EXPECT_TRUE(again.ok()) << again.message();
}

INSTANTIATE_TEST_SUITE_P(Calls, BackupFault,
                         testing::Values(FileCall::kCreate, FileCall::kAppend, FileCall::kSync, FileCall::kRename));

TEST(Backup, ThatFindsTooLittleRoomMakesNoDirectory) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  const tests::SmallDisk disk(1);
  if (!disk.mounted()) GTEST_SKIP() << disk.why();
  const tests::TemporaryDirectory database;
  std::ofstream(database / "DATA") << std::string(kBytes, 'd');
  const Status refused = back_up(base::system_files(), database.path(), disk.path() + "/to");
  EXPECT_EQ(refused.code(), StatusCode::kDiskFull);
  EXPECT_THAT(refused.message(), testing::HasSubstr("needs 2097152 bytes"));
  EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
  ASSERT_TRUE(std::filesystem::create_directory(disk.path() + "/to"));
  EXPECT_EQ(back_up(base::system_files(), database.path(), disk.path() + "/to").code(), StatusCode::kDiskFull);
  EXPECT_TRUE(std::filesystem::exists(disk.path() + "/to")) << "it was there before";
}

}  // namespace
}  // namespace granary::recovery
