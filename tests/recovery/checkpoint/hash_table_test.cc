// Covers checkpoints of hash tables: what they hold, whatever the chains, the sizes and the threads; and loading them.
// Under concurrency: concurrent_test.cc. Crashes: tests/durability, whose tables are of both kinds.

#include <map>

#include <gtest/gtest.h>

#include "recovery/checkpoint/table_range.h"
#include "tests/recovery/checkpoint/checkpoint_fixture.h"

namespace granary::tests {
namespace {

using Records = std::map<std::string, std::string>;

TableOptions hash_for(std::uint64_t keys) { return {.index = IndexKind::kHash, .expected_keys = keys}; }

/// All keys of a hash table by its index, with what a transaction gets for them.
Records contents(ManualDatabase& database, const Table& table) {
  Records records;
  const kvstore::hash::Table& index = table.core()->index().hash();
  index.visit(0, index.buckets(), [&](std::string_view key, kvstore::hash::Value) {
    EXPECT_TRUE(records.emplace(key, database.value(table, key)).second) << "a key is there twice";
  });
  EXPECT_EQ(index.check(), "");
  return records;
}

class HashCheckpoint : public testing::Test {
 protected:
  Table make(std::uint64_t expected_keys) { return database_.table("t", hash_for(expected_keys)); }

  void fill(const Table& table, std::uint64_t keys, std::string_view value) {
    for (std::uint64_t i = 0; i < keys; i += 100) {
      database_.commit([&](Transaction& t) {
        for (std::uint64_t j = i; j < i + 100; ++j)
          EXPECT_EQ(t.put(table, "key " + std::to_string(j), value), Outcome::kOk);
      });
    }
  }

  /// What a database with such a table loads.
  Records loaded(std::uint64_t expected_keys, std::size_t threads) {
    ManualDatabase other(1);
    const Table table = other.table("t", hash_for(expected_keys));
    const auto done = load(*other, read_options(directory_ / "c"), {table.core()}, threads);
    EXPECT_TRUE(done.ok()) << done.status().message();
    return contents(other, table);
  }

  TemporaryDirectory directory_;
  ManualDatabase database_{1};
};

/// Of one chain, which fills block after block, and of an index with room for all.
TEST_F(HashCheckpoint, AllSizesOfKeysAndValues) {
  for (const std::uint64_t expected : {1, 1000}) {
    SCOPED_TRACE(expected);
    ManualDatabase database(1);
    const Table table = database.table("t", hash_for(expected));
    database.put(table, "", "empty key");
    database.put(table, "8 bytes.", "");
    for (std::size_t i = 0; i < 40; ++i) database.put(table, std::string(i, 'k'), std::string(100'000, 'v'));
    database.put(table, std::string(kMaxKeyBytes, 'k'), "largest key");
    database.put(table, "largest", std::string(kMaxValueBytes, 'z'));
    database.pass_snapshot_period();
    const auto written = take_checkpoint(*database, write_options(directory_ / "c", 2), {table.core()});
    ASSERT_TRUE(written.ok()) << written.status().message();
    EXPECT_EQ(written->records, 43U);
    EXPECT_GE(written->blocks, 14U) << "blocks do not end in the middle of a bucket";
    const auto verified = checkpoint::verify_checkpoint(read_options(directory_ / "c"));
    ASSERT_TRUE(verified.ok()) << verified.status().message();
    EXPECT_EQ(verified->tables, written->tables);
    for (const std::uint64_t made_for : {1, 500}) EXPECT_TRUE(loaded(made_for, 2) == contents(database, table));
    ASSERT_TRUE(checkpoint::remove_checkpoint(base::system_files(), directory_ / "c").ok());
  }
}

TEST_F(HashCheckpoint, NothingAtAll) {
  const Table table = make(1'000'000);
  const auto written = take_checkpoint(*database_, write_options(directory_ / "c", 2, 3), {table.core()});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->records, 0U);
  EXPECT_TRUE(loaded(1, 2).empty());
}

TEST_F(HashCheckpoint, EveryMixOfThreadsAndPartitions) {
  const Table table = make(10'000);
  fill(table, 10'000, "value");
  database_.pass_snapshot_period();
  const Records expected = contents(database_, table);
  for (const std::uint32_t threads : {1, 2, 5}) {
    for (const std::uint32_t partitions : {1, 3}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(partitions) + " partitions");
      const auto written =
          take_checkpoint(*database_, write_options(directory_ / "c", partitions, threads), {table.core()});
      ASSERT_TRUE(written.ok()) << written.status().message();
      EXPECT_EQ(written->records, expected.size());
      EXPECT_TRUE(loaded(10'000, partitions) == expected);
      ASSERT_TRUE(checkpoint::remove_checkpoint(base::system_files(), directory_ / "c").ok());
    }
  }
}

TEST_F(HashCheckpoint, HoldsExactlyWhatTheSnapshotSees) {
  const Table table = make(100);  // chains
  fill(table, 3000, "old");
  database_.remove(table, "key 5");
  database_.pass_snapshot_period();
  EngineWorkers workers(*database_, 1);
  const auto pin = checkpoint::SnapshotPin::take(workers.shared().epochs);
  ASSERT_TRUE(pin.ok());
  const auto key = [](std::uint64_t i) { return "key " + std::to_string(i); };
  for (std::uint64_t i = 0; i < 3000; i += 3) database_.put(table, key(i), "new");
  for (std::uint64_t i = 1; i < 3000; i += 3) database_.remove(table, key(i));
  for (std::uint64_t i = 2; i < 3000; i += 3) database_.put(table, key(i), std::string(500, 'n'));
  for (std::uint64_t i = 3000; i < 4000; ++i) database_.put(table, key(i), "born later");
  database_.collect_everything();
  txn::TableCore* const tables[] = {table.core()};
  const auto written =
      checkpoint::write_checkpoint(write_options(directory_ / "c", 2, 2), workers.shared(), *pin, tables);
  ASSERT_TRUE(written.ok()) << written.status().message();
  const Records found = loaded(1, 1);
  EXPECT_EQ(found.size(), 2999U);
  for (const auto& [name, value] : found) EXPECT_EQ(value, "old") << name;
}

TEST_F(HashCheckpoint, TheNewerVersionWinsWhateverComesFirst) {
  const Table table = make(10);
  database_.pass_epochs(5);
  for (const char* const key : {"kept", "overwritten", "removed"})
    database_.put(table, key, "of the checkpoint, and longer");
  database_.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database_, write_options(directory_ / "c"), {table.core()}).ok());
  ManualDatabase other(1);
  const Table there = other.table("t", hash_for(1));
  other.put(there, "kept", "older");
  other.pass_epochs(20);
  other.put(there, "overwritten", "newer");
  other.put(there, "removed", "newer");
  other.remove(there, "removed");
  const auto done = load(*other, read_options(directory_ / "c"), {there.core()});
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->older, 2U);
  EXPECT_EQ(other.value(there, "kept"), "of the checkpoint, and longer");
  EXPECT_EQ(other.value(there, "overwritten"), "newer");
  EXPECT_EQ(other.value(there, "removed"), "(none)");
}

/// Whatever is shared with whom, each bucket stays in exactly one share, and single keys where they were.
TEST_F(HashCheckpoint, HalvesOfARange) {
  const Table table = make(6000);
  auto first = checkpoint::whole_range(table.core()->index());
  ASSERT_TRUE(first.has_value());
  auto& low = std::get<checkpoint::BucketRange>(*first);
  low.keys = {"left over"};
  const std::uint64_t all = low.to;
  const auto second = checkpoint::split(table.core()->index(), &*first);
  ASSERT_TRUE(second.has_value());
  const auto& high = std::get<checkpoint::BucketRange>(*second);
  EXPECT_EQ(low.from, 0U);
  EXPECT_EQ(low.to, high.from);
  EXPECT_EQ(high.to, all);
  EXPECT_EQ(low.keys.size(), 1U);
  EXPECT_TRUE(high.keys.empty());
  low.from = low.to - 1;
  EXPECT_FALSE(checkpoint::split(table.core()->index(), &*first).has_value()) << "one bucket is not worth sharing";
}

}  // namespace
}  // namespace granary::tests
