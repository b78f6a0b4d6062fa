// Copies of a database, and directories that were moved or put back, opened as real files: the original loses nothing,
// and whose the rings and log directories are is never guessed. Not here: what the tools make of copies
// (tests/cli/copies_test.cc).

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "recovery/manifest.h"
#include "recovery/owner.h"
#include "recovery/ring_directories.h"
#include "recovery/settle.h"
#include "src/base/file.h"
#include "tests/support/contents.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kLogged = 20;  ///< transactions that are in the log
constexpr int kInRings = 5;  ///< and then, in the rings only

struct Setup {
  const char* name;
  bool logs_outside;
  bool rings_inside;
};

class Copies : public testing::TestWithParam<Setup> {
 protected:
  Options options(const std::string& name = "db") const {
    Options options;
    options.directory = root_ / name;
    options.reliable_directory = GetParam().rings_inside ? options.directory + "/rings" : rings_.path();
    if (GetParam().logs_outside) options.log_directories = {logs(name)};
    options.memory_limit_bytes = std::uint64_t{32} << 20;
    options.max_workers = 2;
    options.ring_bytes = std::uint64_t{64} << 10;
    options.background = Background::kManual;
    options.checkpoint_interval_s = 0;
    return options;
  }
  std::string logs(const std::string& name = "db") const { return root_ / (name + "-logs"); }

  static void write(Database& database, Worker& worker, int first, int count) {
    auto table = database.table("t");
    if (!table.ok()) table = database.create_table("t");
    for (int i = first; i < first + count; ++i) {
      const RunResult done =
          worker.run([&](Transaction& t) { static_cast<void>(t.put(*table, "key " + std::to_string(i), "value")); });
      if (!done.committed()) ::_exit(2);
    }
  }

  /// What a process that died leaves: kLogged transactions in the log, kInRings more in its rings.
  void crash(const Options& options, int first = 0) const {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto database = Database::open(options);
      if (!database.ok()) ::_exit(1);
      Worker worker = (*database)->register_worker().value();
      write(**database, worker, first, kLogged);
      for (int i = 0; i < 3; ++i) (*database)->step();
      write(**database, worker, first + kLogged, kInRings);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }

  static void copy(const std::string& from, const std::string& to) {
    ASSERT_EQ(std::system(("cp -a '" + from + "' '" + to + "'").c_str()), 0);
  }
  /// The database and its log directory, as an administrator does it.
  void copy_all(const std::string& from, const std::string& to) const {
    copy(root_ / from, root_ / to);
    if (GetParam().logs_outside) copy(logs(from), logs(to));
  }
  static std::map<std::string, std::string> image_of(const std::string& directory) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      files[entry.path()] = entry.is_regular_file() ? tests::contents(entry.path()) : std::string();
    }
    return files;
  }
  /// Every byte of a database: its directory, its log, all rings.
  std::map<std::string, std::string> image(const std::string& name = "db") const {
    auto files = image_of(root_ / name);
    if (GetParam().logs_outside) files.merge(image_of(logs(name)));
    if (!GetParam().rings_inside) files.merge(image_of(rings_.path()));
    return files;
  }

  void make_closed(int count) const {
    auto database = Database::open(options()).value();
    Worker worker = database->register_worker().value();
    write(*database, worker, 0, count);
    worker = {};
    ASSERT_TRUE(database->close().ok());
  }
  std::string rings_of(const std::string& name) const {
    return recovery::read_manifest(base::system_files(), root_ / name).value().reliable_directory;
  }

  /// How many keys are there; -1 and a failure if it does not open.
  static int keys(const Options& options, RecoveryReport* report = nullptr) {
    auto database = Database::open(options);
    EXPECT_TRUE(database.ok()) << database.status().message();
    if (!database.ok()) return -1;
    if (report != nullptr) *report = (*database)->recovery_report();
    const Table table = (*database)->table("t").value();
    Worker worker = (*database)->register_worker().value();
    int found = 0;
    const RunResult read = worker.run([&](Transaction& t) {
      found = 0;
      static_cast<void>(t.scan(table, {}, [&](std::string_view, std::string_view) {
        ++found;
        return true;
      }));
    });
    EXPECT_TRUE(read.committed());
    worker = {};
    EXPECT_TRUE((*database)->close().ok());
    return found;
  }
  /// Opens it, takes a checkpoint, writes a key, and closes it.
  static void checkpoint(const Options& options) {
    auto database = Database::open(options).value();
    for (int i = 0; i < 100; ++i) database->step();
    ASSERT_TRUE(database->checkpoint().ok());
    Worker worker = database->register_worker().value();
    write(*database, worker, 100, 1);
    worker = {};
    ASSERT_TRUE(database->close().ok());
  }
  static Status open_status(const Options& options) { return Database::open(options).status(); }

  RingDirectory rings_;
  TemporaryDirectory root_;
};

TEST_P(Copies, OfACrashedDatabaseOpensByItselfAndLeavesTheOriginalAlone) {
  crash(options());
  copy_all("db", "copy");
  const auto before = image();
  RecoveryReport report;
  EXPECT_EQ(keys(options("copy"), &report), kLogged) << "what only the rings have is the original's";
  EXPECT_FALSE(report.rings);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_THAT(report.notes.front(), HasSubstr("copy of the database that is or was in '" + root_ / "db" + "'"));
  EXPECT_EQ(image(), before) << "not a byte of the original has changed";
  EXPECT_EQ(keys(options(), &report), kLogged + kInRings);
  EXPECT_TRUE(report.rings);
  crash(options("copy"), 1000);
  EXPECT_EQ(keys(options("copy")), 2 * kLogged + kInRings) << "the copy has rings of its own from now on";
}

TEST_P(Copies, OfARunningDatabaseLeavesItAlone) {
  auto original = Database::open(options()).value();
  Worker worker = original->register_worker().value();
  write(*original, worker, 0, kLogged);
  for (int i = 0; i < 3; ++i) original->step();
  copy_all("db", "copy");
  const auto before = image();
  RecoveryReport report;
  EXPECT_EQ(keys(options("copy"), &report), kLogged);
  EXPECT_FALSE(report.rings) << "nor does it take the rings, which have nothing new at this moment";
  EXPECT_EQ(image(), before);
  write(*original, worker, kLogged, kInRings);
  worker = {};
  ASSERT_TRUE(original->close().ok());
  original.reset();
  EXPECT_EQ(keys(options()), kLogged + kInRings);
}

TEST_P(Copies, DoNotWriteToTheOriginalsLogDirectory) {
  if (!GetParam().logs_outside) return;  // the log is copied with the directory
  crash(options());
  copy(root_ / "db", root_ / "copy");
  const auto before = image();
  Options wrong = options("copy");
  for (const std::vector<std::string>& named : {std::vector<std::string>{logs()}, {}, {root_ / "new"}}) {
    wrong.log_directories = named;
    for (const bool salvage : {false, true}) {
      wrong.salvage = salvage;
      const Status refused = open_status(wrong);
      EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(refused.message(), HasSubstr("'" + logs() + "' belongs to the database in '" + root_ / "db" + "'"));
      EXPECT_THAT(refused.message(), HasSubstr("copy '" + logs() + "', too"));
    }
  }
  EXPECT_EQ(image(), before);
  EXPECT_EQ(keys(options()), kLogged + kInRings);
}

TEST_P(Copies, ADatabaseCannotTakeAnothersLogDirectory) {
  if (!GetParam().logs_outside) return;  // the log is copied with the directory
  crash(options());
  Options other = options("other");
  other.log_directories = {logs()};
  EXPECT_THAT(open_status(other).message(), HasSubstr("belongs to the database in '" + root_ / "db" + "'"));
  EXPECT_EQ(keys(options()), kLogged + kInRings);
}

TEST_P(Copies, ARenamedDirectoryIsTheDatabaseThatItWas) {
  crash(options());
  fs::rename(root_ / "db", root_ / "renamed");
  Options renamed = options("renamed");
  if (GetParam().logs_outside) renamed.log_directories = {logs()};
  RecoveryReport report;
  EXPECT_EQ(keys(renamed, &report), kLogged + kInRings);
  EXPECT_TRUE(report.rings);
  crash(renamed, 1000);
  if (GetParam().logs_outside) {  // and its log directory is known, too, where it was renamed
    fs::rename(logs(), logs("renamed"));
    EXPECT_THAT(open_status(renamed).message(), HasSubstr("'" + logs() + "' of the database in"));
    EXPECT_FALSE(fs::exists(logs())) << "a directory that is missing is not made";
  }
  EXPECT_EQ(keys(options("renamed")), 2 * (kLogged + kInRings));
}

/// As mv does it between two file systems: the inode is another one, and the original is gone.
TEST_P(Copies, ADirectoryThatWasMovedHasToBeSaidToBe) {
  crash(options());
  copy(root_ / "db", root_ / "moved");
  Options moved = options("moved");
  if (GetParam().logs_outside) moved.log_directories = {logs()};
  const auto say_moved = [&] {
    return recovery::take_residence(base::system_files(), moved.directory, {.log_directories = moved.log_directories});
  };
  EXPECT_THAT(say_moved().message(), HasSubstr("was not moved: the database is still in '" + root_ / "db" + "'"));
  fs::remove_all(root_ / "db");
  const Status refused = open_status(moved);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("--moved"));
  ASSERT_TRUE(say_moved().ok());
  RecoveryReport report;
  EXPECT_EQ(keys(moved, &report), kLogged + kInRings);
  EXPECT_TRUE(report.rings);
  EXPECT_EQ(keys(moved), kLogged + kInRings) << "it is known there from then on";
}

/// A backup by cp, put back at the same path over a newer life that died.
TEST_P(Copies, RingsOfANewerLifeAreNoneOfABackupThatIsPutBack) {
  make_closed(3);
  copy_all("db", "backup");
  crash(options(), 1000);
  const std::string newer = rings_of("db");
  fs::remove_all(root_ / "db");
  fs::remove_all(logs());
  copy_all("backup", "db");
  RecoveryReport report;
  EXPECT_EQ(keys(options(), &report), 3);
  EXPECT_FALSE(report.rings);
  if (GetParam().rings_inside) return;
  const auto left = recovery::list_ring_directories(rings_.path()).value();
  ASSERT_EQ(left.size(), 1u) << "those of the newer life are left, and can be told";
  EXPECT_EQ(left[0].path, newer);
  EXPECT_EQ(left[0].use, recovery::RingUse::kOrphan);
  EXPECT_EQ(left[0].owner->directory, root_ / "db");
  EXPECT_TRUE(recovery::remove_ring_directory(left[0].path).ok());
  EXPECT_TRUE(fs::is_empty(rings_.path()));
}

/// The same file by file, so that the directory is the same.
TEST_P(Copies, AnOlderStateInTheSameDirectoryHasNoRings) {
  if (GetParam().rings_inside) return;  // the rings are put back with the rest
  make_closed(3);
  copy_all("db", "backup");
  crash(options(), 1000);
  for (const std::string& each : {std::string("db"), std::string("db-logs")}) {
    if (!fs::exists(root_ / each)) continue;
    for (const auto& entry : fs::directory_iterator(root_ / each)) fs::remove_all(entry.path());
    const std::string from = each == "db" ? "backup" : "backup-logs";
    ASSERT_EQ(std::system(("cp -a '" + root_ / from + "/.' '" + root_ / each + "'").c_str()), 0);
  }
  RecoveryReport report;
  EXPECT_EQ(keys(options(), &report), 3);
  EXPECT_FALSE(report.rings);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_THAT(report.notes.front(), HasSubstr("put back to an earlier state"));
  EXPECT_EQ(recovery::list_ring_directories(rings_.path()).value().size(), 1u);
}

/// What stands in a directory's OWNER file, and what opening makes of it. Nothing is changed by a refusal.
TEST_P(Copies, AnOwnerFileThatDoesNotFitIsRefused) {
  crash(options());
  const recovery::Manifest manifest = recovery::read_manifest(base::system_files(), root_ / "db").value();
  std::vector<std::string> owned = {manifest.reliable_directory};
  if (GetParam().logs_outside) owned.push_back(logs());
  for (const std::string& directory : owned) {
    const std::string file = directory + "/OWNER";
    const std::string whole = image_of(directory).at(file);
    std::string flipped = whole;
    flipped[flipped.size() / 2] ^= 1;
    for (const std::string& damaged : {flipped, whole.substr(0, whole.size() / 2), std::string()}) {
      std::ofstream(file, std::ios::binary) << damaged;
      const Status refused = open_status(options());
      EXPECT_EQ(refused.code(), StatusCode::kDamaged);
      EXPECT_THAT(refused.message(), HasSubstr("'" + file + "' does not say whose the directory is"));
    }
    const recovery::Owner others[] = {{recovery::new_id(), recovery::new_id(), root_ / "other", directory},
                                      {manifest.database, recovery::new_id(), root_ / "copy", directory}};
    for (const recovery::Owner& other : others) {
      ASSERT_TRUE(recovery::write_owner(base::system_files(), other).ok());
      const auto before = image();
      for (const bool salvage : {false, true}) {
        Options wanted = options();
        wanted.salvage = salvage;
        EXPECT_THAT(
            open_status(wanted).message(),
            testing::ContainsRegex("'" + directory + "' belongs? to the database in '" + other.directory + "'"));
      }
      EXPECT_EQ(image(), before);
    }
    std::ofstream(file, std::ios::binary) << whole;
  }
  for (const std::string& directory : owned) fs::remove(directory + "/OWNER");
  EXPECT_EQ(keys(options()), kLogged + kInRings) << "it is written again where it is missing";
  if (GetParam().logs_outside) {
    EXPECT_TRUE(fs::exists(logs() + "/OWNER"));
  }
}

/// Original and copy went on apart, each with a second and a third generation, and a checkpoint. Names, sizes and
/// epochs are the same.
TEST_P(Copies, FilesOfACopysLaterLifeAreRefused) {
  make_closed(3);
  copy_all("db", "copy");
  for (const std::string name : {"db", "copy"}) {
    ASSERT_EQ(keys(options(name)), 3);
    checkpoint(options(name));
  }
  const auto whole = image();
  int foreign = 0;
  for (const auto& [path, bytes] : whole) {
    const fs::path own(path);
    const bool segment = own.extension() == ".glog", part = own.extension() == ".gckpt";
    if (!segment && !part) continue;
    const std::string theirs = path.starts_with(logs()) ? logs("copy") + path.substr(logs().size())
                                                        : root_ / "copy" + path.substr((root_ / "db").size());
    ASSERT_TRUE(fs::exists(theirs)) << theirs;
    if (segment && own.filename().string().starts_with("log-g00000001")) continue;  // both had this one
    ++foreign;
    fs::copy_file(theirs, own, fs::copy_options::overwrite_existing);
    const Status refused = open_status(options());
    EXPECT_EQ(refused.code(), StatusCode::kDamaged) << path;
    EXPECT_THAT(refused.message(), HasSubstr("'" + path + "'"));
    EXPECT_THAT(refused.message(), HasSubstr("of another life of this database"));
    std::ofstream(own, std::ios::binary) << bytes;
  }
  EXPECT_GE(foreign, 2) << "the segment of a generation, and a part of a checkpoint";
  EXPECT_EQ(keys(options()), 4);
}

INSTANTIATE_TEST_SUITE_P(Setups, Copies,
                         testing::Values(Setup{"Inside", false, false}, Setup{"LogsOutside", true, false},
                                         Setup{"RingsInside", false, true}),
                         [](const auto& setup) { return setup.param.name; });

}  // namespace
}  // namespace granary::tests
