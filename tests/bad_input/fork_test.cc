// A child of a fork that uses its parent's database: each call is refused, nothing hangs, and the parent goes on as if
// there were no child. The children start no threads, which ThreadSanitizer does not allow them.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>

#include "tests/support/in_child.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

void expect_fork_refused(const Status& status) {
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("this process is a fork of the one that opened the database"));
}

/// With a directory, or in memory only.
class Fork : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!kChildrenMayGoOn) GTEST_SKIP() << "the sanitizer's locks may be held in a child";
  }
  Fork() {
    options_.background = Background::kThreads;
    options_.epoch_ms = 5;
    if (GetParam()) {
      options_.directory = directory_.path() + "/db";
      options_.reliable_directory = rings_.path();
    }
    database_ = Database::open(options_).value();
    table_ = database_->create_table("t", {.immutable = true}).value();
    hash_ = database_->create_table("h", {.index = IndexKind::kHash, .expected_keys = 10}).value();
    worker_ = database_->register_worker().value();
    unused_ = database_->register_worker().value();
    put("before", "parent");
  }

  void put(std::string_view key, std::string_view value) {
    const RunResult done = worker_.run([&](Transaction& t) { (void)t.put(table_, key, value); });
    EXPECT_TRUE(done.committed()) << name(done.reason);
    const Status released = database_->wait_released(done.ticket);
    EXPECT_TRUE(released.ok()) << released.message();
  }
  std::string rows(Worker& worker, const Table& table) {
    Transaction t = worker.begin();
    return scan_text(t, table);
  }
  /// The parent goes on, closes in order, and its next life has what it wrote, and nothing else.
  void expect_undisturbed(const std::string& expected) {
    EXPECT_EQ(rows(worker_, table_), expected);
    put("zz", "parent");
    EXPECT_TRUE(database_->log_status().ok());
    EXPECT_TRUE(!GetParam() || database_->checkpoint().ok());
    worker_ = {};
    unused_ = {};
    const Status closed = database_->close();
    EXPECT_TRUE(closed.ok()) << closed.message();
    database_.reset();
    if (!GetParam()) return;
    database_ = Database::open(options_).value();
    EXPECT_THAT(database_->recovery_report().notes, testing::IsEmpty());
    worker_ = database_->register_worker().value();
    EXPECT_EQ(rows(worker_, database_->table("t").value()), expected + "zz=parent ");
  }
  /// The worker is the parent's; the body is called all the same.
  void expect_refused(Worker& worker, Outcome expected) {
    Outcome outcome = Outcome::kOk;
    const RunResult done = worker.run([&](Transaction& t) { outcome = t.put(table_, "child", "child"); });
    EXPECT_EQ(done.reason, AbortReason::kMisuse);
    EXPECT_EQ(outcome, expected);
    EXPECT_THAT(std::string(meaning(done.reason)), HasSubstr("fork"));
    Transaction t = worker.begin();
    std::string value;
    EXPECT_EQ(t.get(table_, "before", value), expected);
    EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
    Snapshot snapshot = worker.snapshot();
    EXPECT_EQ(snapshot.get(table_, "before", value), expected);
    worker.collect_garbage();
  }
  void expect_database_refused() {
    expect_fork_refused(database_->register_worker().status());
    expect_fork_refused(database_->create_table("u").status());
    expect_fork_refused(database_->table("t").status());
    expect_fork_refused(database_->create_index(table_, "i", {.parts = {{IndexPart::Source::kKey, 0, 1}}}).status());
    expect_fork_refused(database_->index("i").status());
    expect_fork_refused(database_->resize(hash_, 100));
    expect_fork_refused(database_->seal(table_));
    expect_fork_refused(database_->checkpoint());
    expect_fork_refused(database_->log_status());
    expect_fork_refused(database_->wait_released({}, 1000));
    expect_fork_refused(database_->close());
    EXPECT_EQ(database_->statistics().commits, 0U);
  }

  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_ = manual_options();
  std::unique_ptr<Database> database_;
  Table table_, hash_;
  Worker worker_, unused_;
};
INSTANTIATE_TEST_SUITE_P(Stored, Fork, testing::Bool(),
                         [](const auto& made) { return made.param ? "InADirectory" : "InMemory"; });

TEST_P(Fork, EveryCallOfTheChildIsRefused) {
  in_child([&] {
    expect_refused(worker_, Outcome::kWrongThread);
    expect_refused(unused_, Outcome::kFinished);
    worker_.attach_thread();
    expect_refused(worker_, Outcome::kWrongThread);
    expect_database_refused();
    worker_ = {};
    unused_ = {};
    database_.reset();
  });
  expect_undisturbed("before=parent ");
}

TEST_P(Fork, ADatabaseGoesBeforeItsWorkersInTheChild) {
  in_child([&] {
    database_.reset();
    worker_ = {};
    unused_ = {};
  });
  expect_undisturbed("before=parent ");
}

/// A program's own variables are destroyed by exit().
TEST_P(Fork, TheChildExits) {
  static std::unique_ptr<Database> kept;
  static Worker workers;
  kept = std::move(database_);
  workers = std::move(worker_);
  in_child([] {}, std::exit);
  database_ = std::move(kept);
  worker_ = std::move(workers);
  expect_undisturbed("before=parent ");
}

TEST_P(Fork, WhatIsOpenIsTheParents) {
  Transaction t = worker_.begin();
  EXPECT_EQ(t.put(table_, "open", "parent"), Outcome::kOk);
  Snapshot snapshot = worker_.snapshot();
  in_child([&] {
    std::string value;
    EXPECT_EQ(t.put(table_, "open", "child"), Outcome::kWrongThread);
    EXPECT_EQ(t.get(table_, "open", value), Outcome::kWrongThread);
    EXPECT_FALSE(t.open());
    EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
    t = {};
    EXPECT_EQ(snapshot.get(table_, "before", value), Outcome::kWrongThread);
    snapshot = {};
  });
  EXPECT_TRUE(t.commit().committed());
  snapshot.finish();
  expect_undisturbed("before=parent open=parent ");
}

/// The scan ends in the child when its callback returns.
TEST_P(Fork, InTheMidstOfAScan) {
  put("behind", "parent");
  pid_t child = -1;
  std::fflush(nullptr);
  const RunResult done = worker_.run([&](Transaction& t) {
    std::size_t visited = 0;
    const ScanResult scanned = t.scan(table_, {}, [&](auto, auto) {
      ++visited;
      if (child < 0) child = ::fork();
      return true;
    });
    if (child == 0) ::_exit(scanned.outcome == Outcome::kWrongThread && visited == 1 ? 0 : 1);
    EXPECT_TRUE(scanned);
    EXPECT_EQ(visited, 2U);
  });
  EXPECT_TRUE(done.committed());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_undisturbed("before=parent behind=parent ");
}

TEST_P(Fork, BothRunTransactionsAllTheTime) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  const auto run = [&](int i, std::string_view who) {
    return worker_.run([&](Transaction& t) { (void)t.put(table_, "row" + std::to_string(1000 + i), who); });
  };
  if (child == 0) {
    int committed = 0;
    for (int i = 0; i < 500; ++i) committed += run(i, "child").committed() ? 1 : 0;
    ::_exit(committed == 0 ? 0 : 1);
  }
  std::string expected = "before=parent ";
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(run(i, "parent").committed());
    expected += "row" + std::to_string(1000 + i) + "=parent ";
    ::usleep(200);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_undisturbed(expected);
}

/// A child may have databases of its own, and its children are refused those.
TEST_P(Fork, ADatabaseOfTheChildsOwn) {
  in_child([&] {
    EXPECT_TRUE(!GetParam() || Database::open(options_).status().code() == StatusCode::kUnavailable);
    ManualDatabase own;
    const Table table = own.table("own");
    own.put(table, "k", "v");
    in_child([&] {
      EXPECT_EQ(own.worker().run([&](Transaction& t) { (void)t.put(table, "k", "w"); }).reason, AbortReason::kMisuse);
      expect_fork_refused(own->register_worker().status());
      EXPECT_FALSE(own->step());
      expect_refused(worker_, Outcome::kWrongThread);
    });
    EXPECT_EQ(own.value(table, "k"), "v");
  });
  expect_undisturbed("before=parent ");
}

}  // namespace
}  // namespace granary::tests
