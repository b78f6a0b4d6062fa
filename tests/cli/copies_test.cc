// The tools on copies, backups, moved directories, read-only file systems and what is no database; `granary backup` and
// `granary rings`. What opening does with copies is tested in tests/durability/copies_test.cc.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kKeys = 20;

class CopiesForTools : public testing::Test {
 protected:
  Options options(bool logs_outside = false) const {
    Options options;
    options.directory = root_ / "db";
    options.reliable_directory = root_ / "rings";
    if (logs_outside) options.log_directories = {root_ / "logs"};
    options.memory_limit_bytes = std::uint64_t{32} << 20;
    options.max_workers = 2;
    options.ring_bytes = std::uint64_t{64} << 10;
    options.background = Background::kManual;
    return options;
  }
  static void write(Database& database) {
    const Table table = database.create_table("t").value();
    Worker worker = database.register_worker().value();
    for (int i = 0; i < kKeys; ++i) {
      const RunResult done =
          worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "k" + std::to_string(i), "value")); });
      if (!done.committed()) ::_exit(2);
    }
  }
  static void make_closed(const Options& options) {
    auto database = Database::open(options).value();
    write(*database);
    ASSERT_TRUE(database->close().ok());
  }
  /// What was written is in the rings only.
  static void make_dead(const Options& options) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto database = Database::open(options);
      if (!database.ok()) ::_exit(1);
      write(**database);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  void copy(const std::string& from, const std::string& to) const {
    ASSERT_EQ(std::system(("cp -a " + (root_ / from) + " " + (root_ / to)).c_str()), 0);
  }
  Ran run(const std::string& words, const std::string& name, const std::string& flags = "") const {
    return granary(words + " " + (root_ / name) + " " + flags);
  }
  std::string rings_flag() const { return "--directory=" + (root_ / "rings"); }
  nlohmann::json rings() const {
    return nlohmann::json::parse(granary("rings --json " + rings_flag()).out, nullptr, false);
  }
  std::map<std::string, std::string> image() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_.path()))
      files[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
    return files;
  }

  tests::TemporaryDirectory root_;
};

constexpr const char* kLooks[] = {"log verify", "log stat", "log dump", "recover --dry-run",
                                  "recover --dry-run --salvage"};

TEST_F(CopiesForTools, NeedTheirOwnLogDirectories) {
  make_dead(options(/*logs_outside=*/true));
  copy("db", "copy");
  copy("logs", "copied-logs");
  const auto before = image();
  for (const std::string words :
       {"log verify", "log stat", "log dump", "recover --dry-run", "recover", "recover --salvage"}) {
    const Ran ran = run(words, "copy");
    EXPECT_EQ(ran.exit_code, 3) << words;
    EXPECT_THAT(ran.err, HasSubstr("'" + root_ / "logs" + "' belongs to the database in '" + root_ / "db" + "'"))
        << words;
  }
  const std::string own = "--log_dirs=" + (root_ / "copied-logs");
  for (const std::string words : kLooks) {
    const Ran ran = run(words, "copy", own);
    EXPECT_EQ(ran.exit_code, 0) << words << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("is a copy of the database")) << words;
  }
  EXPECT_EQ(image(), before) << "looking changes nothing";
  EXPECT_EQ(run("recover", "copy", own).exit_code, 0);
  const Ran original = run("recover", "db");
  EXPECT_EQ(original.exit_code, 0) << original.err;
  EXPECT_THAT(original.out, HasSubstr("found, nothing that committed is missing"));
}

TEST_F(CopiesForTools, AMovedDirectoryIsRecoveredWhereItIs) {
  make_dead(options());
  copy("db", "moved");
  EXPECT_THAT(run("recover", "moved", "--moved").err, HasSubstr("was not moved: the database is still in"));
  fs::remove_all(root_ / "db");
  const Ran refused = run("recover", "moved");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("granary recover " + root_ / "moved" + " --moved"));
  EXPECT_THAT(run("recover", "moved", "--dry-run").err, HasSubstr("--moved"));
  EXPECT_EQ(run("recover", "moved", "--dry-run --moved").exit_code, 0);
  const Ran moved = run("recover", "moved", "--moved");
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("found, nothing that committed is missing"));
  fs::rename(root_ / "moved", root_ / "renamed");
  EXPECT_EQ(run("recover", "renamed").exit_code, 0);
}

TEST_F(CopiesForTools, LogDirectoriesThatAreNotThereAreRefused) {
  make_closed(options());
  std::ofstream(root_ / "file") << "text";
  for (const std::string words : {"log verify", "log stat", "log dump", "recover --dry-run", "recover"}) {
    for (const std::string name : {"missing", "file"}) {
      const Ran refused = run(words, "db", "--log_dirs=" + (root_ / name));
      EXPECT_EQ(refused.exit_code, 3) << words;
      EXPECT_THAT(refused.err, HasSubstr("--log_dirs: '" + root_ / name + "' is no directory")) << words;
    }
  }
}

/// As a user that may only read sees it: everything that looks works, and nothing is made.
TEST_F(CopiesForTools, LookingWorksOnAReadOnlyFileSystem) {
  Options inside = options();
  inside.reliable_directory = root_ / "db/rings";
  make_dead(inside);
  const std::string read_only = "unshare -m -- sh -c 'mount --bind " + root_.path() + " " + root_.path() +
                                " && mount -o remount,bind,ro " + root_.path() + " && exec \"$@\"' sh";
  if (std::system((read_only + " true 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "needs root, to mount";
  const auto before = image();
  for (const std::string words : kLooks) {
    const Ran ran = granary(words + " " + (root_ / "db"), read_only);
    EXPECT_EQ(ran.exit_code, 0) << words << ran.err;
    if (words.starts_with("recover")) {
      EXPECT_THAT(ran.out, HasSubstr("20 transactions"));
    }
  }
  EXPECT_EQ(granary("checkpoint verify " + (root_ / "db"), read_only).exit_code, 0);
  EXPECT_EQ(granary("recover " + (root_ / "db"), read_only).exit_code, 3) << "which has to write";
  EXPECT_EQ(image(), before);
  EXPECT_EQ(run("recover", "db").exit_code, 0);
}

/// The files would become root's, and the user could not open the database any more.
TEST_F(CopiesForTools, WhatIsAnotherUsersIsNotWrittenByRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  make_closed(options());
  ASSERT_EQ(std::system(("chown -R nobody " + (root_ / "db")).c_str()), 0);
  const auto before = image();
  for (const std::string flags : {"", "--salvage", "--moved"}) {
    const Ran refused = run("recover", "db", flags);
    EXPECT_EQ(refused.exit_code, 3) << flags;
    EXPECT_THAT(refused.err, HasSubstr("runuser -u nobody -- granary recover " + root_ / "db")) << flags;
  }
  for (const std::string words : kLooks) EXPECT_EQ(run(words, "db").exit_code, 0) << words;
  EXPECT_EQ(image(), before);
  EXPECT_EQ(run("backup", "db", "--to=" + (root_ / "backup")).exit_code, 0);
  EXPECT_EQ(run("recover", "backup").exit_code, 0) << "a backup is of the user who made it";
}

TEST_F(CopiesForTools, WhatIsNoDatabaseIsNamed) {
  std::ofstream(root_ / "file") << "text";
  fs::create_directory(root_ / "empty");
  for (const std::string words :
       {"log dump", "log verify", "log stat", "checkpoint verify", "recover", "recover --dry-run"}) {
    for (const std::string name : {"file", "file/below", "empty", "missing"}) {
      const Ran ran = run(words, name);
      EXPECT_EQ(ran.exit_code, 3) << words << " " << name << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("'" + root_ / name + "' holds n")) << words;
    }
  }
  EXPECT_TRUE(fs::is_empty(root_ / "empty"));
}

TEST_F(CopiesForTools, ABackupIsADatabaseOfItsOwn) {
  make_closed(options(/*logs_outside=*/true));
  const auto before = image();
  const Ran made = run("backup", "db", "--to=" + (root_ / "backup"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("ok: 2 files"));
  EXPECT_EQ(run("log verify", "backup").exit_code, 0);
  const Ran again = run("backup", "db", "--to=" + (root_ / "backup"));
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  EXPECT_EQ(run("backup", "db").exit_code, 2);
  EXPECT_EQ(run("backup", "db", "--to=" + (root_ / "db/inside")).exit_code, 2);
  fs::rename(root_ / "backup", root_ / "elsewhere");
  auto after = image();
  std::erase_if(after, [&](const auto& file) { return file.first.starts_with(root_ / "elsewhere"); });
  EXPECT_EQ(after, before) << "the original is only read";
  // Put back in the place of the original.
  fs::remove_all(root_ / "db");
  fs::remove_all(root_ / "logs");
  EXPECT_EQ(run("backup", "elsewhere", "--to=" + (root_ / "db")).exit_code, 0);
  auto database = Database::open(options(/*logs_outside=*/true));
  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_EQ((*database)->recovery_report().records, static_cast<std::uint64_t>(kKeys));
  EXPECT_TRUE((*database)->close().ok());
  EXPECT_EQ(run("recover", "elsewhere").exit_code, 0) << "and what it came from is another database by now";
}

TEST_F(CopiesForTools, OnlyWhatIsWholeIsBackedUp) {
  make_dead(options());
  const Ran dead = run("backup", "db", "--to=" + (root_ / "backup"));
  EXPECT_EQ(dead.exit_code, 3);
  EXPECT_THAT(dead.err, HasSubstr("granary recover it, then back it up"));
  EXPECT_FALSE(fs::exists(root_ / "backup"));
  ASSERT_EQ(run("recover", "db").exit_code, 0);
  std::string segment;
  for (const auto& entry : fs::directory_iterator(root_ / "db")) {
    if (entry.path().filename().string().starts_with("log-g00000001")) segment = entry.path();
  }
  fs::remove(segment);
  const Ran elsewhere = run("backup", "db", "--to=" + root_.path());
  EXPECT_EQ(elsewhere.exit_code, 3);
  EXPECT_THAT(elsewhere.err, HasSubstr("is not empty")) << "which is found before the database is read";
  EXPECT_EQ(run("backup", "db", "--to=" + (root_ / "backup")).exit_code, 4);
  EXPECT_FALSE(fs::exists(root_ / "backup"));
}

/// Nothing would tell where its log has to end, so that one which lacks its end would look whole.
TEST_F(CopiesForTools, WhatDidNotEndInOrderIsRecoveredBeforeItIsBackedUp) {
  make_dead(options());
  copy("db", "copy");  // without rings
  const Ran refused = run("backup", "copy", "--to=" + (root_ / "backup"));
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("did not end in order: granary recover it"));
  EXPECT_FALSE(fs::exists(root_ / "backup"));
  ASSERT_EQ(run("recover", "copy").exit_code, 0);
  EXPECT_EQ(run("backup", "copy", "--to=" + (root_ / "backup")).exit_code, 0);
}

/// As where the device fails, or the directory above it is somebody else's.
TEST_F(CopiesForTools, ADirectoryThatCannotBeLookedAtIsNotCalledMissing) {
  make_closed(options());
  fs::create_symlink(root_ / "loop", root_ / "loop");
  for (const Ran& ran : {run("log verify", "loop"), run("log verify", "db", "--log_dirs=" + (root_ / "loop"))}) {
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr("cannot look at '" + root_ / "loop" + "': Too many levels of symbolic links"));
  }
  EXPECT_THAT(run("log verify", "missing").err, HasSubstr("there is no such directory"));
  EXPECT_THAT(run("log verify", "db", "--log_dirs=" + (root_ / "missing")).err, HasSubstr("is no directory"));
}

/// Not where the log was before, which the manifest names as well.
TEST_F(CopiesForTools, ARecoveryLogsWhereTheLastProcessDid) {
  const auto segments_in = [this](const std::string& name) {
    const auto files = fs::directory_iterator(root_ / name);
    return std::count_if(begin(files), end(files), [](const fs::directory_entry& entry) {
      return entry.path().filename().string().starts_with("log-g");
    });
  };
  make_closed(options(/*logs_outside=*/true));
  Options later = options();
  later.log_directories = {root_ / "later"};
  ASSERT_TRUE(Database::open(later).value()->close().ok());
  const Ran recovered = run("recover", "db");
  EXPECT_EQ(recovered.exit_code, 0) << recovered.err;
  EXPECT_EQ(segments_in("logs"), 1);
  EXPECT_EQ(segments_in("later"), 2);
}

TEST_F(CopiesForTools, AFileWithTheNameOfACheckpointStays) {
  make_closed(options());
  const std::string file = root_ / "db/checkpoint-000000000099";
  std::ofstream(file) << "somebody's";
  EXPECT_EQ(run("recover", "db", "--dry-run").exit_code, 0);
  const Ran recovered = run("recover", "db");
  EXPECT_EQ(recovered.exit_code, 0) << recovered.err;
  EXPECT_EQ(contents(file), "somebody's");
}

/// As where /dev/shm is one: the database has noted the path with the link in it.
TEST_F(CopiesForTools, RingsBehindASymbolicLinkAreNoOrphans) {
  make_dead(options());
  fs::rename(root_ / "rings", root_ / "memory");
  fs::create_directory_symlink(root_ / "memory", root_ / "rings");
  EXPECT_EQ(rings()[0]["use"], "waiting") << rings()[0]["why"];
  EXPECT_EQ(granary("rings --remove_orphans " + rings_flag()).exit_code, 0);
  EXPECT_EQ(rings().size(), 1u) << "what was written is nowhere else";
  fs::remove(root_ / "rings");
  fs::rename(root_ / "memory", root_ / "rings");
  EXPECT_TRUE(Database::open(options()).value()->recovery_report().rings);
}

TEST_F(CopiesForTools, RingsAreListedAndThoseOfADeletedDatabaseRemoved) {
  {
    auto database = Database::open(options()).value();
    write(*database);
    ASSERT_EQ(rings().size(), 1u);
    EXPECT_EQ(rings()[0]["use"], "running");
    EXPECT_GE(rings()[0]["rings"], 1);
    EXPECT_EQ(rings()[0]["database_directory"], root_ / "db");
    EXPECT_EQ(granary("rings --remove=" + rings()[0]["directory"].get<std::string>()).exit_code, 3);
    ASSERT_TRUE(database->close().ok());
  }
  EXPECT_EQ(rings().size(), 0u);
  fs::remove_all(root_ / "db");
  make_dead(options());
  EXPECT_EQ(rings()[0]["use"], "waiting");
  EXPECT_EQ(granary("rings --remove_orphans " + rings_flag()).exit_code, 0);
  EXPECT_EQ(rings().size(), 1u) << "it is needed";
  fs::remove_all(root_ / "db");
  const Ran listed = granary("rings " + rings_flag());
  EXPECT_THAT(listed.out, HasSubstr("orphan: the database is not there any more"));
  EXPECT_GE(rings()[0]["bytes"].get<std::uint64_t>(), std::uint64_t{64} << 10);
  const Ran removed = granary("rings --remove_orphans " + rings_flag());
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_TRUE(fs::is_empty(root_ / "rings"));
  EXPECT_EQ(granary("rings " + rings_flag()).out, "no log rings\n");
  EXPECT_EQ(granary("rings --remove=" + root_.path()).exit_code, 2);
}

}  // namespace
}  // namespace granary::cli
