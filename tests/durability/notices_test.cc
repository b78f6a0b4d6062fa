// What a database tells of its own accord goes to the sink of its options, and nothing of it to stderr. Notices of a
// cluster's node are tested with the node (tests/node/kill_test.cc, peer_watch_test.cc).

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

/// Keeps what is told, and looks at the end that nothing was printed.
class NoticesOfADatabase : public testing::Test {
 protected:
  NoticesOfADatabase() {
    options_.background = Background::kThreads;
    options_.epoch_ms = 5;
    options_.checkpoint_interval_s = 0;
    options_.notices = [this](const Notice& notice) {
      const std::lock_guard lock(mutex_);
      told_.push_back(notice);
    };
    files_.pass_through(rings_.path());
    testing::internal::CaptureStderr();
  }
  ~NoticesOfADatabase() override { EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); }

  std::unique_ptr<Database> open_on_disk() {
    options_.directory = "/db";
    options_.reliable_directory = rings_.path();
    return Database::open(options_, files_).value();
  }
  std::vector<Notice> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  Notice wait_for_notice() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (told().empty() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::vector<Notice> all = told();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Notice() : all.front();
  }

  Options options_ = manual_options();
  const RingDirectory rings_;
  FaultFiles files_;

 private:
  std::mutex mutex_;
  std::vector<Notice> told_;
};

TEST_F(NoticesOfADatabase, TellWhichWorkerHoldsAnEpoch) {
  const auto database = Database::open(options_).value();
  Worker worker = database->register_worker().value();
  Transaction open = worker.begin();
  const Notice notice = wait_for_notice();
  EXPECT_EQ(notice.topic, NoticeTopic::kOpenTransaction);
  EXPECT_EQ(notice.severity, NoticeSeverity::kWarning);
  EXPECT_THAT(notice.text, HasSubstr("worker 0 has kept a transaction open for over a second"));
  EXPECT_EQ(notice.epoch, database->current_epoch());
  open.abort();
}

TEST_F(NoticesOfADatabase, TellThatACheckpointFailed) {
  options_.checkpoint_interval_s = 1;
  const auto database = open_on_disk();
  files_.plan({.call = FileCall::kCreate, .path = "checkpoint-", .from_then_on = true});
  const Notice notice = wait_for_notice();
  EXPECT_EQ(notice.topic, NoticeTopic::kCheckpoint);
  EXPECT_EQ(notice.severity, NoticeSeverity::kWarning);
  EXPECT_THAT(notice.text, HasSubstr("/db/checkpoint-"));
}

TEST_F(NoticesOfADatabase, TellWhatWentWrongWhenTheDatabaseClosed) {
  auto database = open_on_disk();
  const Table table = database->create_table("t").value();
  Worker worker = database->register_worker().value();
  files_.plan({.call = FileCall::kSync, .path = "log-", .from_then_on = true});
  ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
  worker = {};
  database.reset();
  const Notice notice = wait_for_notice();
  EXPECT_EQ(notice.topic, NoticeTopic::kClosing);
  EXPECT_THAT(notice.text, HasSubstr("closing the database: "));
}

/// Closing in order needs no rings, so the transactions that only they had are in the log then.
TEST_F(NoticesOfADatabase, TellThatTheLogRingsAreGone) {
  auto database = open_on_disk();
  const Table table = database->create_table("t").value();
  Worker worker = database->register_worker().value();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(rings_.path())) {
    if (entry.is_regular_file()) std::filesystem::remove(entry.path());
  }
  const Notice notice = wait_for_notice();
  EXPECT_EQ(notice.topic, NoticeTopic::kLogRings);
  EXPECT_EQ(notice.severity, NoticeSeverity::kError);
  EXPECT_THAT(notice.text, HasSubstr(rings_.path()));
  ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
  worker = {};
  const Status closed = database->close();
  EXPECT_TRUE(closed.ok()) << closed.message();
  database.reset();
  database = open_on_disk();
  EXPECT_EQ(database->recovery_report().records, 1u);
  EXPECT_EQ(told().size(), 1u);
}

}  // namespace
}  // namespace granary::tests
