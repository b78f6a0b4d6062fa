// A disk that really fills up under a process: it tells why, once, and reads on; no room, no opening; with room again
// the database has exactly what is durable, and nothing that was released is missing. faults_test has every call of it
// on a file system in memory, tests/cli the command.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <granary/granary.h>

#include "src/base/test_hooks.h"
#include "tests/durability/small_options.h"
#include "tests/support/crash_child.h"
#include "tests/support/ring_directory.h"
#include "tests/support/small_disk.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

constexpr unsigned kMebibytes = 4;
constexpr std::size_t kBallast = std::size_t{1} << 20;
constexpr std::uint64_t kInFlight = 128;  // records that are not released yet, at most: segments stay small
constexpr const char* kNoSpace = "No space left on device";

/// How the process ends whose disk is full.
enum class Leaves : std::uint8_t { kAfterAsking, kWithoutAsking, kKilled };

struct Case {
  const char* name;
  Leaves leaves;
  bool rings;    ///< are there afterwards; else the machine was restarted
  bool ballast;  ///< room comes from a file that is removed; else the disk grows
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Options options_on(const SmallDisk& disk, const RingDirectory& rings) {
  Options options = small_options(disk.path() + "/db", rings.path());
  options.epoch_ms = 2;
  return options;
}

class FullDisk : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << disk_.why();
    if (GetParam().ballast) std::ofstream(ballast()) << std::string(kBallast, 'b');
  }
  Options options() const { return options_on(disk_, rings_); }
  std::string ballast() const { return disk_.path() + "/ballast"; }
  std::string standard_error() const { return rings_.path() + "/stderr"; }

  void fill(const CrashChild::Report& report) const;
  void run_until_full();
  void make_room() const {
    if (GetParam().ballast) {
      ASSERT_TRUE(std::filesystem::remove(ballast()));
    } else {
      ASSERT_TRUE(disk_.resize(4 * kMebibytes));
    }
  }
  void see_what_is_left(Database& database) const;

  SmallDisk disk_{kMebibytes};
  RingDirectory rings_;
  std::map<std::uint64_t, std::uint64_t> committed_;  // key -> epoch
  std::uint64_t released_ = 0;
};

/// In the child: writes one record after the other until it is refused, then looks around.
void FullDisk::fill(const CrashChild::Report& report) const {
  auto database = Database::open(options()).value();
  const auto table = database->create_table<std::uint64_t, std::array<char, 1000>>("t").value();
  Worker worker = database->register_worker().value();
  AbortReason reason = AbortReason::kNone;
  for (std::uint64_t key = 0; reason == AbortReason::kNone; ++key) {
    const RunResult done = worker.run([&](Transaction& t) { static_cast<void>(t.put(table, key, {})); });
    reason = done.reason;
    if (!done) break;
    report("committed " + std::to_string(key) + " " + std::to_string(done.ticket.epoch));
    report("released " + std::to_string(database->released_epoch()));
    if (key % kInFlight == 0) static_cast<void>(database->wait_released(done.ticket));
  }
  report("refused " + std::string(name(reason)));
  Transaction t = worker.begin();
  report(t.get(table, 0) ? "reads on" : "reads nothing");
  static_cast<void>(t.commit());
  report("waited " + database->wait_released({.tid = 1, .epoch = database->current_epoch() + 9}).message());
  report("checkpoint " + database->checkpoint().message());
  if (GetParam().leaves == Leaves::kAfterAsking) report("status " + database->log_status().message());
  if (GetParam().leaves == Leaves::kKilled) ::kill(::getpid(), SIGKILL);
}

void FullDisk::run_until_full() {
  CrashChild child([this](const CrashChild::Report& report) {
    ::dup2(::open(standard_error().c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    fill(report);
  });
  const auto end = child.wait();
  const bool killed = GetParam().leaves == Leaves::kKilled;
  ASSERT_TRUE(killed ? end.killed : end.exit_code == 0) << text_of(standard_error());
  std::vector<std::string> said;
  for (const std::string& line : child.lines()) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t number = 0, epoch = 0;
    words >> word >> number >> epoch;
    if (word == "committed") {
      committed_[number] = epoch;
    } else if (word == "released") {
      released_ = number;
    } else {
      said.push_back(line);
    }
  }
  using testing::AllOf;
  using testing::StartsWith;
  std::vector<testing::Matcher<std::string>> expected{"refused log_failed", "reads on",
                                                      AllOf(StartsWith("waited cannot"), HasSubstr(kNoSpace)),
                                                      AllOf(StartsWith("checkpoint cannot"), HasSubstr(kNoSpace))};
  if (GetParam().leaves == Leaves::kAfterAsking)
    expected.emplace_back(AllOf(StartsWith("status cannot"), HasSubstr(kNoSpace)));
  EXPECT_THAT(said, testing::ElementsAreArray(expected));
  EXPECT_EQ(count(text_of(standard_error()), kNoSpace), GetParam().leaves == Leaves::kWithoutAsking ? 1u : 0u);
  EXPECT_GT(released_, 0u);
}

void FullDisk::see_what_is_left(Database& database) const {
  const std::uint64_t durable = database.recovery_report().durable_epoch;
  if (GetParam().rings) {
    EXPECT_GE(durable, committed_.rbegin()->second) << "the rings had them";
  }
  const auto table = database.create_table<std::uint64_t, std::array<char, 1000>>("t").value();
  Worker worker = database.register_worker().value();
  Transaction t = worker.begin();
  for (const auto& [key, epoch] : committed_)
    EXPECT_EQ(t.get(table, key).has_value(), epoch <= std::max(durable, released_)) << key << " of epoch " << epoch;
  EXPECT_FALSE(t.get(table, committed_.size()).has_value()) << "this one was refused";
  ASSERT_TRUE(t.commit().committed());
  const RunResult done = worker.run([&](Transaction& again) { static_cast<void>(again.put(table, 0, {})); });
  ASSERT_TRUE(done);
  EXPECT_TRUE(database.wait_released(done.ticket).ok()) << "there is room again";
}

TEST_P(FullDisk, LosesNothingThatWasReleased) {
  ASSERT_NO_FATAL_FAILURE(run_until_full());
  const auto refused = Database::open(options());
  ASSERT_FALSE(refused.ok()) << "there is no room to recover";
  EXPECT_EQ(refused.status().code(), StatusCode::kDiskFull) << refused.status().message();
  if (!GetParam().rings) rings_.empty();
  ASSERT_NO_FATAL_FAILURE(make_room());
  const auto database = Database::open(options());
  ASSERT_TRUE(database.ok()) << database.status().message();
  see_what_is_left(**database);
}

INSTANTIATE_TEST_SUITE_P(Ends, FullDisk,
                         testing::Values(Case{"Asked", Leaves::kAfterAsking, true, false},
                                         Case{"NeverAsked", Leaves::kWithoutAsking, false, true},
                                         Case{"Killed", Leaves::kKilled, true, true},
                                         Case{"KilledAndRestarted", Leaves::kKilled, false, false}),
                         [](const auto& instance) { return std::string(instance.param.name); });

/// A checkpoint on a disk of which the log has a part already.
class CheckpointOnAFullDisk : public testing::Test {
 protected:
  using Row = std::array<char, 1000>;

  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << disk_.why();
    database_ = Database::open(options_).value();
    table_ = database_->create_table<std::uint64_t, Row>("t").value();
    worker_ = database_->register_worker().value();
  }
  std::uint64_t free() const { return std::filesystem::space(disk_.path()).available; }
  void put(std::uint64_t key) {
    const RunResult done = worker_.run([&](Transaction& t) { static_cast<void>(t.put(table_, key, Row{})); });
    EXPECT_TRUE(done && database_->wait_released(done.ticket).ok()) << database_->log_status().message();
  }
  /// Writes so many keys in turn until no more than this part of the disk is free.
  void fill(std::uint64_t keys, std::uint64_t part) {
    for (std::uint64_t i = 0; free() > kBytes / part && !testing::Test::HasFailure(); ++i) put(i % keys);
  }

  static constexpr std::uint64_t kBytes = std::uint64_t{kMebibytes} << 20;
  SmallDisk disk_{kMebibytes};
  RingDirectory rings_;
  const Options options_ = options_on(disk_, rings_);
  std::unique_ptr<Database> database_;
  TypedTable<std::uint64_t, Row> table_;
  Worker worker_;
};

/// A checkpoint writes as much as all records together: it would fill the disk, and the log, which needs a page at any
/// time, would fail for good. It is the checkpoint that is given up, while there is still room.
TEST_F(CheckpointOnAFullDisk, LeavesTheLogItsRoom) {
  if (!base::kTestHooks) GTEST_SKIP() << "sync points need a build with test hooks";
  constexpr std::uint64_t kRoom = std::uint64_t{256} << 10, kAll = ~std::uint64_t{0};
  fill(kAll, 2);
  std::uint64_t least = free();
  base::set_sync_hook([&](std::string_view) { least = std::min(least, free()); });
  const Status given_up = database_->checkpoint();
  base::set_sync_hook({});
  EXPECT_EQ(given_up.code(), StatusCode::kDiskFull);
  EXPECT_THAT(given_up.message(), AllOf(HasSubstr("bytes free"), HasSubstr(options_.directory)));
  EXPECT_GE(least, kRoom);
  EXPECT_GT(free(), kBytes / 3) << "what was written is gone";
  put(kAll);
  ASSERT_TRUE(disk_.resize(4 * kMebibytes));
  const Status taken = database_->checkpoint();
  EXPECT_TRUE(taken.ok()) << taken.message();
}

/// The log of a few records that change all the time fills the disk, and only a checkpoint makes room.
TEST_F(CheckpointOnAFullDisk, ThatIsSmallMakesRoom) {
  fill(10, 16);
  const Status taken = database_->checkpoint();
  EXPECT_TRUE(taken.ok()) << taken.message();
  EXPECT_GT(free(), kBytes / 2);
  put(0);
}

}  // namespace
}  // namespace granary::tests
