// Hash tables that hold more than they were made for: resized by the application, and by openings; in memory and in
// directories. Crashes around it: crash_rig.h resizes, too.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/manifest.h"
#include "src/txn/table_core.h"
#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kKeys = 3000;

std::string key_of(std::uint64_t i) { return "key " + std::to_string(i); }
TableOptions hash_for(std::uint64_t keys) { return {.index = IndexKind::kHash, .expected_keys = keys}; }

void fill(ManualDatabase& database, const Table& table) {
  for (std::uint64_t i = 0; i < kKeys; i += 100) {
    database.commit([&](Transaction& t) {
      for (std::uint64_t j = i; j < i + 100; ++j) EXPECT_EQ(t.put(table, key_of(j), std::to_string(j)), Outcome::kOk);
    });
  }
}

void expect_filled(ManualDatabase& database, const Table& table) {
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(database.value(table, key_of(i)), std::to_string(i));
  EXPECT_EQ(database.value(table, key_of(kKeys)), "(none)");
  EXPECT_EQ(table.core()->index().hash().check(), "");
  EXPECT_EQ(table.core()->index().hash().statistics().keys, kKeys);
}

std::uint64_t buckets(const Table& table) { return table.core()->index().hash().buckets(); }
std::uint64_t headers(const Table& table) { return table.core()->index().hash().statistics().indirect_headers; }
std::uint64_t buckets_for(std::uint64_t keys) { return kvstore::hash::Table::buckets_for(keys); }

TEST(Resize, MovesAllKeysAndChangesNothingElse) {
  ManualDatabase database(1);
  const Table table = database.table("t", hash_for(1));
  fill(database, table);
  database.pass_snapshot_period();
  Snapshot snapshot = database.snapshot();
  database.put(table, key_of(1), "newer");
  database.put(table, key_of(1), "1");
  const std::uint64_t before = buckets(table) + headers(table), index_bytes = database->statistics().index_bytes;
  ASSERT_TRUE(database->resize(table, kKeys).ok());
  EXPECT_EQ(buckets(table), buckets_for(kKeys));
  EXPECT_EQ(database->statistics().index_bytes,
            index_bytes + (buckets(table) + headers(table) - before) * sizeof(kvstore::hash::Bucket))
      << "the former chains and main header are free";
  expect_filled(database, table);
  std::string value;
  EXPECT_EQ(snapshot.get(table, key_of(1), value), Outcome::kOk);
  EXPECT_EQ(value, "1");
  snapshot.finish();
  database.remove(table, key_of(7));
  database.collect_everything();
  EXPECT_EQ(database.value(table, key_of(7)), "(none)");
  ASSERT_TRUE(database->resize(table, 10).ok()) << "narrower";
  EXPECT_EQ(buckets(table), buckets_for(10));
  database.put(table, key_of(7), "7");
  expect_filled(database, table);
}

/// A key that was missed before and one that is inserted behind it still meet in the node set.
TEST(Resize, TransactionsAfterItConflictAsBefore) {
  ManualDatabase database(2);
  const Table table = database.table("t", hash_for(1));
  ASSERT_TRUE(database->resize(table, 1000).ok());
  Transaction reader = database.begin();
  std::string value;
  EXPECT_EQ(reader.get(table, "absent", value), Outcome::kNotFound);
  EXPECT_EQ(reader.put(table, "other", "1"), Outcome::kOk);
  database.put(table, "absent", "now there");
  EXPECT_EQ(reader.commit().reason, AbortReason::kNodeChanged);
}

TEST(Resize, RefusesWhatCannotBe) {
  Options options = manual_options();
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  ManualDatabase database(1, options), other(1);
  const Table table = database.table("t", hash_for(kKeys));
  fill(database, table);
  const auto code = [&](const Table& which, std::uint64_t keys) { return database->resize(which, keys).code(); };
  EXPECT_EQ(code(Table(), 10), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(database.table("ordered"), 10), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(other.table("t", hash_for(1)), 10), StatusCode::kInvalidArgument);
  const TableOptions shared{.max_value_bytes = 8, .index = IndexKind::kHash, .expected_keys = 1, .shared = true};
  EXPECT_THAT(database->resize(database.table("shared", shared), 10).message(), HasSubstr("'shared'"));
  EXPECT_EQ(code(table, 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(table, kMaxExpectedKeys + 1), StatusCode::kInvalidArgument);
  EXPECT_THAT(database->resize(table, 100'000'000).message(), AllOf(HasSubstr("'t'"), HasSubstr("memory_limit_bytes")));
  {
    Transaction open = database.begin();
    EXPECT_EQ(code(table, 10), StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(buckets(table), buckets_for(kKeys));
  expect_filled(database, table);
}

class Growth : public testing::Test {
 protected:
  Options options() const {
    Options options = manual_options();
    options.directory = "/db";
    options.reliable_directory = rings_.path();
    return options;
  }
  void open() {
    database_.reset();
    auto opened = Database::open(options(), files_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = std::make_unique<ManualDatabase>(std::move(*opened), 1);
  }
  Table table() { return (*database_)->table("t").value(); }
  std::uint64_t stored_keys() { return recovery::read_manifest(files_, "/db")->tables.at(0).hash_keys.value(); }

  FaultFiles files_;
  RingDirectory rings_;
  std::unique_ptr<ManualDatabase> database_;
};

TEST_F(Growth, AnOpeningMakesRoomForWhatTheLogHolds) {
  open();
  fill(*database_, database_->table("t", hash_for(1)));
  EXPECT_EQ(buckets(table()), 1u);
  open();
  EXPECT_EQ(buckets(table()), buckets_for(kKeys));
  EXPECT_EQ(stored_keys(), kKeys);
  expect_filled(*database_, table());
  EXPECT_TRUE((*database_)->create_table("t", hash_for(1)).ok()) << "declared as before";
  EXPECT_EQ(buckets(table()), buckets_for(kKeys));
}

TEST_F(Growth, ACheckpointTellsTheNextOpeningHowManyKeysThereAre) {
  open();
  fill(*database_, database_->table("t", hash_for(1)));
  ASSERT_TRUE((*database_)->create_table("ordered").ok());
  database_->pass_snapshot_period();
  EXPECT_EQ(stored_keys(), 1u);
  ASSERT_TRUE((*database_)->checkpoint().ok());
  EXPECT_EQ(stored_keys(), kKeys);
  EXPECT_FALSE(recovery::read_manifest(files_, "/db")->tables.at(1).hash_keys);
  open();
  EXPECT_EQ(buckets(table()), buckets_for(kKeys));
  expect_filled(*database_, table());
}

TEST_F(Growth, ATableWithRoomStaysAsItIs) {
  open();
  fill(*database_, database_->table("t", hash_for(kKeys * 4 / 5)));
  open();
  EXPECT_EQ(buckets(table()), buckets_for(kKeys * 4 / 5)) << "the main header's slots hold all keys";
  expect_filled(*database_, table());
}

TEST_F(Growth, AResizeIsKept) {
  open();
  fill(*database_, database_->table("t", hash_for(1)));
  ASSERT_TRUE((*database_)->resize(table(), 5 * kKeys).ok());
  EXPECT_EQ(stored_keys(), 5 * kKeys);
  expect_filled(*database_, table());
  open();
  EXPECT_EQ(buckets(table()), buckets_for(5 * kKeys));
  expect_filled(*database_, table());
}

TEST_F(Growth, AResizeThatCannotBeStoredHasHappened) {
  open();
  fill(*database_, database_->table("t", hash_for(1)));
  files_.plan({.call = FileCall::kSync, .path = "MANIFEST"});
  EXPECT_EQ((*database_)->resize(table(), kKeys).code(), StatusCode::kIoError);
  EXPECT_EQ(stored_keys(), 1u);
  EXPECT_EQ(buckets(table()), buckets_for(kKeys));
  expect_filled(*database_, table());
}

}  // namespace
}  // namespace granary::tests
