// What a database writes is its user's only, whatever the process's mask allows; and a ring directory that somebody
// else may have prepared, whose name anybody who has seen it before knows, is refused before anything in it is replayed
// or removed.

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class PrivateFiles : public testing::Test {
 protected:
  PrivateFiles() : former_mask_(::umask(022)) {}
  ~PrivateFiles() override { ::umask(former_mask_); }

  Options options() const {
    Options options = manual_options();
    options.directory = directory_ / "db";
    options.reliable_directory = rings_.path();
    options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
    options.log_reserve_bytes = 2 * options.log_segment_bytes;
    return options;
  }
  std::unique_ptr<Database> open() {
    auto opened = Database::open(options());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  /// With one record, open.
  std::unique_ptr<Database> make() {
    auto database = open();
    const Table table = database->create_table("t").value();
    Worker worker = database->register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
    return database;
  }
  fs::path ring_directory() const { return fs::directory_iterator(rings_.path())->path(); }

  static void expect_all_private(const std::string& below, std::size_t at_least) {
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(below)) {
      if (!entry.is_regular_file()) continue;
      ++files;
      EXPECT_EQ(entry.status().permissions(), fs::perms(0600)) << entry.path();
    }
    EXPECT_GE(files, at_least) << below;
  }

  TemporaryDirectory directory_;
  RingDirectory rings_;

 private:
  const mode_t former_mask_;
};

TEST_F(PrivateFiles, AreAllThatADatabaseMakes) {
  const auto database = make();
  for (std::uint32_t i = 0; i < 2 * options().snapshot_epochs + 1; ++i) database->step();
  ASSERT_TRUE(database->checkpoint().ok());
  const std::size_t manifest_lock_segment_spare_checkpoint = 5;
  expect_all_private(options().directory, manifest_lock_segment_spare_checkpoint);
  expect_all_private(rings_.path(), 1);
  EXPECT_EQ(fs::status(ring_directory()).permissions(), fs::perms::owner_all);
}

/// A file that root writes is root's only, so that the user could not open the database any more.
TEST_F(PrivateFiles, ADatabaseOfAnotherUserIsRefusedToRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(make()->close().ok());
  const std::string manifest = options().directory + "/MANIFEST";
  constexpr uid_t kNameless = 54'321;
  ASSERT_EQ(::chown(manifest.c_str(), kNameless, kNameless), 0);
  const Status refused = Database::open(options()).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("'" + options().directory + "' is a database of user 54321"),
                                       HasSubstr("setpriv --reuid=54321 --regid=54321")));
  ASSERT_EQ(::chown(manifest.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(options().directory.c_str(), kNameless, kNameless), 0);
  EXPECT_NE(open(), nullptr) << "its files are root's, whose directory they are in or not";
}

/// Root makes a file to see whose it becomes. If it is killed before it removes that, the next process may have the
/// same number, as in a container.
TEST_F(PrivateFiles, AFileOfAFormerProcessOfThisNumberIsNoReasonToRefuseAndGoes) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(make()->close().ok());
  const std::string manifest = options().directory + "/MANIFEST";
  constexpr uid_t kNameless = 54'321;
  ASSERT_EQ(::chown(manifest.c_str(), kNameless, kNameless), 0);
  const std::string left = options().directory + "/owner-" + std::to_string(::getpid());
  std::ofstream(left) << "left";
  EXPECT_THAT(Database::open(options()).status().message(), HasSubstr("is a database of user 54321"));
  ASSERT_EQ(::chown(manifest.c_str(), 0, 0), 0);
  EXPECT_NE(open(), nullptr);
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(PrivateFiles, ARingDirectoryThatOthersCanWriteToIsRefused) {
  fs::path rings;
  {
    const auto database = make();
    rings = ring_directory();
  }
  ASSERT_FALSE(fs::exists(rings)) << "it goes when the database closes";
  fs::create_directory(rings);
  fs::permissions(rings, fs::perms::all);
  std::ofstream(rings / "ring-0000") << "not from here";
  const Status refused = Database::open(options()).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr(rings), HasSubstr("can be written to by other users")));
  EXPECT_TRUE(fs::exists(rings / "ring-0000")) << "nothing in it was touched";
  fs::remove_all(rings);
  EXPECT_NE(open(), nullptr);
}

TEST_F(PrivateFiles, ALinkInThePlaceOfARingDirectoryIsRefusedAndNotFollowed) {
  fs::path rings;
  {
    const auto database = make();
    rings = ring_directory();
  }
  const fs::path elsewhere = directory_ / "elsewhere";
  fs::create_directory(elsewhere);
  std::ofstream(elsewhere / "ring-0000") << "of another database";
  fs::create_symlink(elsewhere, rings);
  EXPECT_THAT(Database::open(options()).status().message(), AllOf(HasSubstr(rings), HasSubstr("symbolic link")));
  EXPECT_TRUE(fs::exists(elsewhere / "ring-0000"));
  fs::remove(rings);
}

}  // namespace
}  // namespace granary::tests
