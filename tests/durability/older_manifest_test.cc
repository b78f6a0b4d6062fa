// An older copy of the file MANIFEST, put back beside the log of a newer life, which was killed, or closed. It is
// refused by name as soon as it would lose anything, and until then it loses nothing.
//
// Not here: a node whose cluster has been recovered since (cluster_recovery_test.cc), and copies of whole directories
// (copies_test.cc).

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/test_hooks.h"
#include "src/log/format.h"
#include "tests/support/contents.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

/// The parameter is the number of loggers.
class OlderManifest : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr int kLogged = 20, kInRings = 5;

  Options options() const {
    Options options = manual_options();
    options.directory = root_ / "db";
    options.reliable_directory = rings_.path();
    options.memory_limit_bytes = std::uint64_t{32} << 20;
    options.loggers = GetParam();
    options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
    return options;
  }
  std::string manifest() const { return tests::contents(root_ / "db/MANIFEST"); }
  void put_back(const std::string& manifest) const {
    std::ofstream(root_ / "db/MANIFEST", std::ios::binary) << manifest;
  }

  /// Opens the database in a process that is killed at the sync point, or else after `body`.
  void die(std::string_view point, FunctionRef<void(Database&)> body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      base::set_sync_hook([point](std::string_view at) {
        if (at == point) ::kill(::getpid(), SIGKILL);
      });
      auto database = Database::open(options());
      if (!database.ok() || !point.empty()) ::_exit(1);
      body(**database);
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << point << ": status " << status;
  }
  void die_at(std::string_view point) {
    die(point, [](Database&) {});
  }
  void die_opened() { die_at(""); }
  /// Commits new keys, `logged` of which are in the log, and `in_rings` in the rings only.
  void write_and_die(int logged, int in_rings) {
    const int first = std::exchange(written_, written_ + logged + in_rings);
    die("", [&](Database& database) {
      write(database, first, logged);
      for (int i = 0; i < 3 && logged != 0; ++i) database.step();
      write(database, first + logged, in_rings);
    });
  }
  static Table table_of(Database& database) {
    const auto there = database.table("t");
    return there.ok() ? *there : database.create_table("t").value();
  }
  static void write(Database& database, int first, int count, const std::string& value = "value") {
    Worker worker = database.register_worker().value();
    const Table table = table_of(database);
    for (int i = first; i < first + count; ++i) {
      const RunResult done =
          worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key " + std::to_string(i), value)); });
      if (!done.committed()) ::_exit(2);
    }
  }

  /// Opens the database, counts its keys, and closes it.
  int keys() const {
    auto database = Database::open(options());
    EXPECT_TRUE(database.ok()) << database.status().message();
    if (!database.ok()) return -1;
    int found = 0;
    {
      Worker worker = (*database)->register_worker().value();
      const Table table = table_of(**database);
      Transaction t = worker.begin();
      EXPECT_TRUE(t.scan(table, {}, [&](std::string_view, std::string_view) {
        ++found;
        return true;
      }));
    }
    EXPECT_TRUE((*database)->close().ok());
    return found;
  }

  /// Puts the older manifest back, which no opening accepts, and then the newest one.
  void expect_refused(const std::string& older) const {
    const std::string newest = manifest();
    put_back(older);
    for (const bool salvage : {false, true}) {
      Options wanted = options();
      wanted.salvage = salvage;
      const Status refused = Database::open(wanted).status();
      EXPECT_EQ(refused.code(), StatusCode::kDamaged) << salvage;
      EXPECT_THAT(refused.message(), HasSubstr("which the manifest does not know: it is older than the log"));
      EXPECT_THAT(refused.message(), HasSubstr("Put the newest MANIFEST back"));
    }
    EXPECT_EQ(manifest(), older) << "a refusal changes nothing";
    put_back(newest);
  }

  RingDirectory rings_;
  TemporaryDirectory root_;
  int written_ = 0;
};

/// An opening that has committed nothing itself has put into the log what the former rings had, and removed them.
TEST_P(OlderManifest, OfBeforeTheRingsWereTaken) {
  for (const bool closes : {true, false}) {
    SCOPED_TRACE(closes);
    ASSERT_NO_FATAL_FAILURE(write_and_die(kLogged, kInRings));
    const std::string older = manifest();
    if (closes) {
      EXPECT_EQ(keys(), written_);
    } else {
      ASSERT_NO_FATAL_FAILURE(die_opened());
    }
    expect_refused(older);
    EXPECT_EQ(keys(), written_);
  }
}

/// The newer life has its transactions in its rings only, and its log does not show any.
TEST_P(OlderManifest, OfBeforeTheRingsWereMade) {
  ASSERT_EQ(keys(), 0);
  for (const bool crashed : {false, true}) {
    SCOPED_TRACE(crashed);
    if (crashed) {
      ASSERT_NO_FATAL_FAILURE(die_opened());
    }
    const std::string older = manifest();
    ASSERT_NO_FATAL_FAILURE(write_and_die(0, kInRings));
    expect_refused(older);
    EXPECT_EQ(keys(), written_);
  }
}

/// The manifest is that of a first opening that was killed before it named a generation.
TEST_P(OlderManifest, OfBeforeTheFirstGeneration) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  ASSERT_NO_FATAL_FAILURE(die_at("storage.log_opened"));
  const std::string older = manifest();
  ASSERT_NO_FATAL_FAILURE(write_and_die(0, kInRings));
  expect_refused(older);
  EXPECT_EQ(keys(), written_);
}

/// An opening is killed at each of its steps. The former rings are there until its log says that the manifest names it.
TEST_P(OlderManifest, OfBeforeAnOpeningThatWasKilled) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  const std::array<std::pair<const char*, bool>, 3> steps = {{
      {"storage.log_opened", false},
      {"storage.manifest_written", false},
      {"storage.log_started", true},
  }};
  for (const auto& [step, refused] : steps) {
    SCOPED_TRACE(step);
    ASSERT_NO_FATAL_FAILURE(write_and_die(kLogged, kInRings));
    const std::string older = manifest();
    ASSERT_NO_FATAL_FAILURE(die_at(step));
    if (refused) {
      expect_refused(older);
    } else {
      put_back(older);
    }
    EXPECT_EQ(keys(), written_);
  }
}

/// The opening that follows goes on behind the one that was killed. Neither that one's manifest nor an older one fits.
TEST_P(OlderManifest, OfAnOpeningThatWasKilled) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  for (const char* const step : {"storage.log_opened", "storage.manifest_written", "storage.log_started"}) {
    SCOPED_TRACE(step);
    ASSERT_NO_FATAL_FAILURE(write_and_die(kLogged, kInRings));
    const std::string oldest = manifest();
    ASSERT_NO_FATAL_FAILURE(die_at(step));
    const std::string older = manifest();
    ASSERT_NO_FATAL_FAILURE(die_opened());
    for (const std::string& each : {oldest, older}) expect_refused(each);
    EXPECT_EQ(keys(), written_);
  }
}

/// A checkpoint has removed the newer life's first segments, and a backup of all the older files is put over the rest.
TEST_P(OlderManifest, WithItsSegmentsBesideTheEndOfANewerLog) {
  ASSERT_NO_FATAL_FAILURE(write_and_die(kLogged, 0));
  ASSERT_EQ(keys(), written_);
  ASSERT_EQ(std::system(("cp -a '" + root_ / "db" + "' '" + root_ / "older" + "'").c_str()), 0);
  {
    const auto database = Database::open(options()).value();
    const auto has_third_segment = [this](std::uint32_t logger) {
      return std::filesystem::exists(root_ / "db" + "/" + log::segment_name(3, logger, 2));
    };
    for (int i = 0; !has_third_segment(0) && !has_third_segment(1) && !has_third_segment(2); ++i) {
      ASSERT_LT(i, 100) << "too many for two segments of any logger";
      write(*database, 1000 + i, 1, std::string(8000, 'v'));
      for (int j = 0; j < 3; ++j) database->step();
    }
    for (std::uint32_t i = 0; i <= 2 * options().snapshot_epochs; ++i) database->step();
    ASSERT_TRUE(database->checkpoint().ok());
    ASSERT_TRUE(database->close().ok());
  }
  ASSERT_EQ(std::system(("cp -a '" + root_ / "older" + "/.' '" + root_ / "db" + "'").c_str()), 0);
  expect_refused(manifest());
}

INSTANTIATE_TEST_SUITE_P(Loggers, OlderManifest, testing::Values(1u, 3u));

}  // namespace
}  // namespace granary::tests
