// A backup that fails leaves its target as it was, so that the next attempt may have it. Not here: what a backup holds
// (tests/cli/copies_test.cc).

#include "recovery/backup.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/log/format.h"
#include "tests/support/fault_files.h"
#include "tests/support/small_disk.h"

namespace granary::recovery {
namespace {

using tests::FileCall;

bool go_on(std::uint64_t /*done*/, std::uint64_t /*all*/) { return true; }

/// Makes a backup of a database whose only file is "DATA".
Status back_up(base::FileSystem& files, const std::string& directory, const std::string& to,
               const BackupProgress& progress = go_on) {
  Manifest manifest;
  manifest.database = new_id();
  return write_backup(files, directory, manifest, {}, {"DATA"}, to, progress).status();
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
                         testing::Values(FileCall::kCreate, FileCall::kAppend, FileCall::kSync, FileCall::kRename,
                                         FileCall::kRead));

TEST(Backup, IsReadFromTheDevice) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  std::map<std::string, std::vector<FileCall>> calls;
  files.set_observer([&calls](FileCall call, const std::string& path) {
    if (call == FileCall::kSync || call == FileCall::kRename || call == FileCall::kDropCache || call == FileCall::kRead)
      calls[path].push_back(call);
  });
  ASSERT_TRUE(back_up(files, "/db", "/to").ok());
  calls["/to/DATA"].resize(3);  // it is read up to its end
  EXPECT_THAT(calls["/to/DATA"], testing::ElementsAre(FileCall::kSync, FileCall::kDropCache, FileCall::kRead));
  EXPECT_THAT(calls["/to/MANIFEST"], testing::ElementsAre(FileCall::kRename, FileCall::kDropCache, FileCall::kRead));
}

TEST(Backup, ThatIsInterruptedLeavesNothing) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  const Status interrupted = back_up(files, "/db", "/to", [](std::uint64_t, std::uint64_t) { return false; });
  EXPECT_EQ(interrupted.code(), StatusCode::kUnavailable);
  EXPECT_THAT(interrupted.message(), testing::HasSubstr("interrupted"));
  EXPECT_EQ(files.paths(), std::vector<std::string>{"/db/DATA"});
}

TEST(Backup, SaysThatAnEarlierOneWasCutShort) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  files.put("/killed/" + log::segment_name(1, 0, 0), "half a segment");
  files.put("/other/notes.txt", "not ours");
  EXPECT_THAT(back_up(files, "/db", "/killed").message(), testing::HasSubstr("cut short: remove it"));
  EXPECT_THAT(back_up(files, "/db", "/other").message(), testing::Not(testing::HasSubstr("cut short")));
  ASSERT_TRUE(back_up(files, "/db", "/whole").ok());
  EXPECT_THAT(back_up(files, "/db", "/whole").message(), testing::Not(testing::HasSubstr("cut short")));
}

/// Both find the target missing, and one of them is done before the other one begins to write.
TEST(Backup, ThatMeetsAnotherOneLeavesItAlone) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  std::vector<std::string> whole;
  bool met = false;
  files.set_observer([&](FileCall call, const std::string& path) {
    if (call != FileCall::kCreate || !path.starts_with("/to/") || met) return;
    met = true;
    const Status other = back_up(files, "/db", "/to");
    EXPECT_TRUE(other.ok()) << other.message();
    whole = files.paths();
  });
  EXPECT_EQ(back_up(files, "/db", "/to").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(files.paths(), whole);
  EXPECT_THAT(whole, testing::ElementsAre("/db/DATA", "/to/DATA", "/to/MANIFEST"));
}

TEST(Backup, IsRefusedWhileAnotherOneWrites) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  Status second;
  const Status first = back_up(files, "/db", "/to", [&](std::uint64_t, std::uint64_t) {
    EXPECT_TRUE(files.remove("/to/DATA").ok()) << "so that the second one is refused only for the lock";
    second = back_up(files, "/db", "/to");
    return false;
  });
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), testing::HasSubstr("another process may be using '/to'"));
  EXPECT_EQ(first.code(), StatusCode::kUnavailable);
}

/// The file system makes the file that is to be locked, and has no locks.
TEST(Backup, LeavesNoLockWhereThereAreNone) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  files.set_observer([&](FileCall call, const std::string& path) {
    if (call == FileCall::kCreate && path == "/to/LOCK") files.put(path, "");
  });
  files.plan({.call = FileCall::kCreate, .path = "/to/LOCK"});
  const Status made = back_up(files, "/db", "/to");
  EXPECT_TRUE(made.ok()) << made.message();
  EXPECT_THAT(files.paths(), testing::ElementsAre("/db/DATA", "/to/DATA", "/to/MANIFEST"));
}

/// Another backup is done between the first look at the target and the attempt to lock it.
TEST(Backup, ThatMeetsAnotherOneWhereThereAreNoLocksLeavesItAlone) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  files.set_observer([&](FileCall call, const std::string& path) {
    if (call == FileCall::kCreate && path == "/to/LOCK") files.put("/to/notes", "of another process");
  });
  files.plan({.call = FileCall::kCreate, .path = "/to/LOCK"});
  EXPECT_EQ(back_up(files, "/db", "/to").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(files.paths(), (std::vector<std::string>{"/db/DATA", "/to/notes"}));
}

TEST(Backup, SaysWhyItMayNotWriteToItsTarget) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  files.plan({.call = FileCall::kCreate, .code = StatusCode::kUnavailable, .path = "/to/LOCK"});
  const Status refused = back_up(files, "/db", "/to");
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), testing::StartsWith("cannot open '/to/LOCK'"));
}

TEST(Backup, ThatFailsLeavesFilesThatItHasNotMade) {
  tests::FaultFiles files;
  files.put("/db/DATA", "data");
  files.set_observer([&](FileCall call, const std::string& path) {
    if (call == FileCall::kCreate && path == "/to/DATA") files.put("/to/DATA", "of a program that knows no locks");
  });
  EXPECT_EQ(back_up(files, "/db", "/to").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(files.paths(), (std::vector<std::string>{"/db/DATA", "/to/DATA"}));
}

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
