// An index that is made while others use the database: it has everything, or there is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/durability/ringed_directory.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

/// Making the manifest durable takes its time. An index that lacked what came meanwhile would be wrong for good.
TEST(DeclaredIndex, IsRefusedIfRecordsComeMeanwhile) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  const IndexOptions by_first_byte = {.parts = {{.length = 1, .encoding = IndexEncoding::kBytes}}, .unique = false};
  {
    const auto database = Database::open(options).value();
    const Table table = database->create_table("people", {.max_value_bytes = 100}).value();
    Worker worker = database->register_worker().value();
    base::set_sync_hook([&](std::string_view point) {
      if (point != "index.declared") return;
      EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "1", "ada")); }));
    });
    const Status refused = database->create_index(table, "by letter", by_first_byte).status();
    base::set_sync_hook({});
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), testing::HasSubstr("already holds records"));
    EXPECT_EQ(database->index("by letter").status().code(), StatusCode::kNotFound);
    EXPECT_TRUE(database->create_table("by letter").ok()) << "the name is free again";
  }
  const auto database = Database::open(options).value();
  EXPECT_EQ(database->index("by letter").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(database->table("by letter").ok());
}

/// The file of the manifest has its new name, and then its directory cannot be synced: the device may name an index
/// that nobody keeps.
class IndexInDoubt : public RingedDirectory {
 protected:
  IndexInDoubt() {
    by_hand_.background = Background::kManual;
    database_ = open(*files_, by_hand_);
    table_ = database_->create_table("people", {.max_value_bytes = 100}).value();
  }

  /// The index of the first bytes of the values, which cannot be made.
  void fail_to_make_index(bool from_then_on) {
    files_->plan({.call = FileCall::kSyncDirectory, .path = "/db", .from_then_on = from_then_on});
    EXPECT_EQ(database_->create_index(table_, "by letter", by_first_byte_).status().code(), StatusCode::kIoError);
  }
  RunResult put() {
    Worker worker = database_->register_worker().value();
    return worker.run([&](Transaction& t) { static_cast<void>(t.put(table_, "1", "ada")); });
  }
  /// Opens what the process leaves that dies now.
  void reopen() {
    auto left = files_->process_crash_image();
    const RingDirectory::Contents rings = rings_.contents();
    database_.reset();
    rings_.replace(rings);
    files_ = std::move(left);
    files_->pass_through(rings_.path());
    database_ = open(*files_, by_hand_);
    table_ = database_->table("people").value();
  }
  /// Either there is no such index, or it has what the table has.
  void expect_index_whole() {
    const auto index = database_->index("by letter");
    if (!index.ok()) return;
    Worker worker = database_->register_worker().value();
    Transaction t = worker.begin();
    const ScanResult by_index = t.scan(*index, {}, [](std::string_view, std::string_view) { return true; });
    EXPECT_TRUE(by_index);
    const ScanResult rows = t.scan(table_, {}, [](std::string_view, std::string_view) { return true; });
    EXPECT_EQ(by_index.count, rows.count);
  }

  const IndexOptions by_first_byte_ = {.parts = {{.length = 1, .encoding = IndexEncoding::kBytes}}, .unique = false};
  Options by_hand_ = options();
  std::unique_ptr<FaultFiles> files_ = new_files();
  std::unique_ptr<Database> database_;
  Table table_;
};

TEST_F(IndexInDoubt, IsTakenBackOnTheDevice) {
  fail_to_make_index(false);
  EXPECT_TRUE(put().committed());
  reopen();
  expect_index_whole();
}

TEST_F(IndexInDoubt, StopsWritingIfItCannotBeTakenBack) {
  fail_to_make_index(true);
  EXPECT_EQ(put().reason, AbortReason::kLogFailed);
  EXPECT_THAT(database_->log_status().message(), testing::HasSubstr("may name the index 'by letter'"));
  reopen();
  expect_index_whole();
}

TEST_F(IndexInDoubt, StopsWritingIfRecordsHaveComeMeanwhile) {
  base::set_sync_hook([&](std::string_view point) {
    if (point != "index.declared") return;
    EXPECT_TRUE(put().committed());
    files_->plan({.call = FileCall::kAppend, .path = "MANIFEST", .from_then_on = true});
  });
  EXPECT_EQ(database_->create_index(table_, "by letter", by_first_byte_).status().code(), StatusCode::kIoError);
  base::set_sync_hook({});
  EXPECT_EQ(put().reason, AbortReason::kLogFailed);
}

}  // namespace
}  // namespace granary::tests
