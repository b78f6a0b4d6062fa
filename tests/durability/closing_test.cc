// Covers a database that is closed while it writes a checkpoint of its own accord. Not how a checkpoint is cancelled
// (tests/recovery/checkpoint/writer_test.cc). And a database that comes to the last epoch there can be, and who
// advances epochs.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/manifest.h"
#include "src/base/file.h"
#include "src/base/test_hooks.h"
#include "src/db/engine.h"
#include "src/epoch/control_block.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

constexpr std::uint64_t kRecords = 40'000;  // more than a hundred pieces of a checkpoint

std::string key(std::uint64_t i) { return "key " + std::to_string(i); }

bool has_checkpoint(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("checkpoint-")) return true;
  }
  return false;
}

Options stored_options(const TemporaryDirectory& directory, const RingDirectory& rings) {
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  return options;
}

TEST(Closing, DoesNotWaitForTheRestOfACheckpoint) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = stored_options(directory, rings);
  options.background = Background::kThreads;
  options.epoch_ms = 5;
  options.checkpoint_interval_s = 1;

  constexpr int kBegun = 5;
  std::atomic<int> pieces{0};
  std::atomic<bool> closing{false};
  base::set_process_sync_hook([&](std::string_view point) {
    if (point != "checkpoint.piece" || ++pieces < kBegun) return;
    for (int turn = 0; turn < 60'000 && !closing; ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // all of them take longer than the test waits
  });
  {
    const auto database = Database::open(options).value();
    const Table table = database->create_table("t").value();
    {
      Worker worker = database->register_worker().value();
      for (std::uint64_t i = 0; i < kRecords; i += 100) {
        ASSERT_TRUE(worker.run([&](Transaction& t) {
          for (std::uint64_t j = i; j < i + 100; ++j) static_cast<void>(t.put(table, key(j), "value"));
        }));
      }
    }
    while (pieces < kBegun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    testing::internal::CaptureStderr();
    closing = true;
    EXPECT_TRUE(database->close().ok());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "that it was cancelled is no failure";
  }
  base::set_process_sync_hook({});
  EXPECT_FALSE(has_checkpoint(options.directory)) << "it was written to the end";

  ManualDatabase again(1, options);
  const Table table = again.table("t");
  std::uint64_t found = 0;
  again.commit([&](Transaction& t) {
    std::string value;
    for (std::uint64_t i = 0; i < kRecords; ++i) found += t.get(table, key(i), value) == Outcome::kOk ? 1 : 0;
  });
  EXPECT_EQ(found, kRecords);
}

/// The checkpoint's thread stands in an epoch that another one commits in the next of, and E cannot move on as long as
/// it stands there.
TEST(Closing, WaitsForAnotherThreadsCheckpointBeforeItEndsTheLog) {
  if (!base::kTestHooks) GTEST_SKIP() << "sync points need a build with test hooks";
  const TemporaryDirectory directory;
  const RingDirectory rings;
  const Options options = stored_options(directory, rings);
  std::atomic<bool> inside{false}, closing{false};
  base::set_process_sync_hook([&](std::string_view point) {
    if (point != "checkpoint.entered" || inside.exchange(true)) return;
    while (!closing) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  auto database = Database::open(options).value();
  const Table table = database->create_table("t").value();
  const auto put = [&](std::uint64_t number) {
    Worker worker = database->register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, key(number), "value")); }));
  };
  put(0);
  for (unsigned i = 0; i < 3 * options.snapshot_epochs; ++i) database->step();
  std::thread other([&] { EXPECT_TRUE(database->checkpoint().ok()) << "this piece was the last"; });
  while (!inside) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(database->step());
  put(1);
  closing = true;
  const Status closed = database->close();
  EXPECT_TRUE(closed.ok()) << closed.message();
  other.join();
  database.reset();
  base::set_process_sync_hook({});
  ManualDatabase again(1, options);
  EXPECT_EQ(again.value(again.table("t"), key(1)), "value");
}

/// Nothing that the interface has leaves an epoch open by then. If something does, the rings stay, which have what the
/// log has not.
TEST(Closing, KeepsTheRingsIfTheLastEpochCannotEnd) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  const Options options = stored_options(directory, rings);
  {
    const auto database = Database::open(options).value();
    const Table table = database->create_table("t").value();
    epoch::EpochManager& epochs = database->engine().epochs();
    epochs.enter(*epochs.acquire_slot());
    EXPECT_TRUE(database->step());
    {
      Worker worker = database->register_worker().value();
      EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, key(0), "value")); }));
    }
    const Status closed = database->close();
    EXPECT_EQ(closed.code(), StatusCode::kUnavailable);
    EXPECT_THAT(closed.message(), testing::HasSubstr("they stay in the log rings in '" + rings.path()));
  }
  ManualDatabase again(1, options);
  EXPECT_EQ(again.value(again.table("t"), key(0)), "value");
}

/// The rings are needed until the manifest says that the generation has ended, and may be left behind after that.
/// The child has inherited the locks of the directory, of the log's, and of the rings', and does nothing.
TEST(Closing, GivesUpTheLocksAlsoIfTheProcessHasForked) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = stored_options(directory, rings);
  options.log_directories = {directory.path() + "/logs"};
  auto database = Database::open(options).value();
  const Status twice = Database::open(options).status();
  EXPECT_EQ(twice.code(), StatusCode::kUnavailable);
  EXPECT_THAT(twice.message(), testing::HasSubstr("this or another process has this database open"));
  const pid_t child = ::fork();
  while (child == 0) ::pause();
  EXPECT_TRUE(database->close().ok());
  database.reset();
  const Status again = Database::open(options).status();
  EXPECT_TRUE(again.ok()) << again.message();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

class ClosingCutShort : public testing::Test {
 protected:
  ClosingCutShort() {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
  }
  /// Writes a row with each of two workers, whose rings have it, and closes.
  static Status live(const Options& options) {
    const auto database = Database::open(options).value();
    const Table table = database->create_table("t").value();
    {
      std::array<Worker, 2> workers{database->register_worker().value(), database->register_worker().value()};
      for (std::size_t i = 0; i < workers.size(); ++i)
        EXPECT_TRUE(workers[i].run([&](Transaction& t) { static_cast<void>(t.put(table, key(i), "value")); }));
    }
    return database->close();
  }
  /// In a process of its own, which ends when it has come to the place so many times.
  void die_at(const char* place, int times) {
    const pid_t child = ::fork();
    if (child == 0) {
      base::set_process_sync_hook([&](std::string_view point) {
        if (point == place && --times == 0) ::_exit(7);
      });
      ::_exit(live(options_).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << place << " " << times;
  }
  void expect_both_rows() {
    ManualDatabase again(1, options_);
    const Table table = again.table("t");
    EXPECT_EQ(again.value(table, key(0)), "value");
    EXPECT_EQ(again.value(table, key(1)), "value");
    EXPECT_THAT(again->recovery_report().notes, testing::IsEmpty());
  }
  std::size_t ring_files() const {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(rings_.path()))
      count += each.path().filename().string().starts_with("ring-") ? 1 : 0;
    return count;
  }

  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_ = manual_options();
};

TEST_F(ClosingCutShort, ByDeathLosesNothing) {
  if (!base::kTestHooks) GTEST_SKIP() << "sync points need a build with test hooks";
  ASSERT_NO_FATAL_FAILURE(die_at("storage.end_noted", 1));
  EXPECT_EQ(ring_files(), 2u);
  expect_both_rows();
  for (const int removed : {1, 2}) {
    std::filesystem::remove_all(options_.directory);
    ASSERT_NO_FATAL_FAILURE(die_at("log.ring_removed", removed));
    expect_both_rows();
  }
}

TEST_F(ClosingCutShort, ByADirectoryThatIsGoneLeavesTheRings) {
  if (!base::kTestHooks) GTEST_SKIP() << "sync points need a build with test hooks";
  const std::string aside = options_.directory + "-aside";
  base::set_process_sync_hook([&](std::string_view point) {
    if (point == "storage.closed_log") std::filesystem::rename(options_.directory, aside);
  });
  EXPECT_FALSE(live(options_).ok());
  base::set_process_sync_hook({});
  std::filesystem::rename(aside, options_.directory);
  EXPECT_EQ(ring_files(), 2u);
  expect_both_rows();
}

/// A database whose manifest says that it had come to `epoch`, opened again.
class LateDatabase : public testing::Test {
 protected:
  void SetUp() override {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
    const auto database = Database::open(options_).value();
    const Table table = database->create_table("t").value();
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "early")); }));
    worker = {};
    ASSERT_TRUE(database->close().ok());
  }
  Result<std::unique_ptr<Database>> open_at(epoch::Epoch epoch) {
    auto manifest = recovery::read_manifest(base::system_files(), options_.directory).value();
    manifest.generations.front().first_epoch = epoch;
    EXPECT_TRUE(recovery::write_manifest(base::system_files(), options_.directory, manifest).ok());
    return Database::open(options_);
  }

  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_ = manual_options();
  const epoch::Epoch kBegin = 1 + 2 * options_.snapshot_epochs;  ///< so far behind all epochs there were E begins
};

TEST_F(LateDatabase, WritesNothingInTheLastEpochAndReadsOn) {
  {
    ManualDatabase database(std::move(open_at(epoch::kLastEpoch - kBegin - 2)).value(), 1);
    const Table table = database->table("t").value();
    database.put(table, "key", "late");
    while (database->step()) {
    }
    EXPECT_EQ(database->statistics().epoch, epoch::kLastEpoch);
    EXPECT_EQ(database.value(table, "key"), "late");
    Transaction t = database.begin();
    EXPECT_EQ(t.put(table, "key", "too late"), Outcome::kOk);
    EXPECT_EQ(t.commit().reason, AbortReason::kEpochsUsedUp);
    EXPECT_EQ(database.value(table, "key"), "late");
  }
  const auto again = Database::open(options_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(again.status().message(), testing::HasSubstr("has used up its epochs"));
}

TEST_F(LateDatabase, DoesNotOpenWithoutAnEpochToWriteIn) {
  EXPECT_TRUE(open_at(epoch::kLastEpoch - kBegin - 1).ok());
  const auto refused = open_at(epoch::kLastEpoch - kBegin);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), testing::HasSubstr(std::to_string(epoch::kLastEpoch - 1)));
}

TEST(Step, DoesNothingBesideTheThreadThatAdvancesEpochs) {
  Options options = manual_options();
  options.background = Background::kThreads;
  options.epoch_ms = 1000;
  const auto database = Database::open(options).value();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(database->step());
  EXPECT_LT(database->statistics().epoch, 10U) << "as many as took a second each";
}

}  // namespace
}  // namespace granary::tests
