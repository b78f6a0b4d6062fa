// Which directories a database accepts for its log once it is there, and which of them it needs later.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LogDirectoriesLater : public testing::Test {
 protected:
  Options options(const std::string& name, std::vector<std::string> log_directories) const {
    Options options = manual_options();
    options.directory = root_ / name;
    options.log_directories = std::move(log_directories);
    options.reliable_directory = rings_.path();
    return options;
  }
  static void write(Database& database, std::string_view key) {
    Worker worker = database.register_worker().value();
    const Table table = database.table("t").ok() ? database.table("t").value() : database.create_table("t").value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, key, "value")); }));
  }
  void write_and_checkpoint(Database& database, std::string_view key) const {
    write(database, key);
    for (std::uint32_t i = 0; i <= 2 * options("db", {}).snapshot_epochs; ++i) database.step();
    const Status taken = database.checkpoint();
    EXPECT_TRUE(taken.ok()) << taken.message();
  }

  TemporaryDirectory root_;
  RingDirectory rings_;
};

/// The directory of another database whose log is elsewhere holds no segment, and no file that says whose it is.
TEST_F(LogDirectoriesLater, OfAnotherDatabaseAreRefusedByName) {
  const Options other = options("other", {root_ / "other log"});
  ASSERT_TRUE(Database::open(other).value()->close().ok());
  Options own = options("db", {root_ / "log"});
  ASSERT_TRUE(Database::open(own).value()->close().ok());
  own.log_directories.push_back(other.directory);
  const Status refused = Database::open(own).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("Options::log_directories names '" + other.directory + "'"),
                                       HasSubstr("the directory of another database")));
  own.log_directories.pop_back();
  EXPECT_TRUE(Database::open(own).ok()) << "the refused opening has left nothing in the way";
  EXPECT_TRUE(Database::open(other).ok());
}

/// The first checkpoint makes its segments needless, and the next one finds it empty.
TEST_F(LogDirectoriesLater, AreNotNeededOnceCheckpointsHaveEmptiedThem) {
  const Options before = options("db", {root_ / "old log"}), after = options("db", {root_ / "new log"});
  {
    const auto database = Database::open(before).value();
    write(*database, "a");
  }
  {
    const auto database = Database::open(after).value();
    for (const char* key : {"b", "c"}) write_and_checkpoint(*database, key);
  }
  std::filesystem::remove_all(root_ / "old log");
  const auto database = Database::open(after);
  ASSERT_TRUE(database.ok()) << database.status().message();
  Worker worker = (*database)->register_worker().value();
  Transaction t = worker.begin();
  EXPECT_EQ(scan_text(t, (*database)->table("t").value()), "a=value b=value c=value ");
}

/// An empty directory is in its place while the device of the old log is not mounted: since the checkpoint that makes
/// its segments needless, and at the next opening, too.
TEST_F(LogDirectoriesLater, AreKeptWhileTheyAreNotMounted) {
  const std::string old_log = root_ / "old log", device = root_ / "device";
  const Options before = options("db", {old_log}), after = options("db", {root_ / "new log"});
  write(*Database::open(before).value(), "a");
  {
    const auto database = Database::open(after).value();
    std::filesystem::rename(old_log, device);
    std::filesystem::create_directory(old_log);
    write_and_checkpoint(*database, "b");
  }
  {
    const auto database = Database::open(after).value();
    for (const char* key : {"c", "d"}) write_and_checkpoint(*database, key);
  }
  std::filesystem::remove_all(old_log);
  std::filesystem::rename(device, old_log);
  const auto database = Database::open(before);
  EXPECT_TRUE(database.ok()) << database.status().message();
}

}  // namespace
}  // namespace granary::tests
