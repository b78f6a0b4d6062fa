// Covers what a checkpoint holds and what loading makes of it: sizes, snapshots, removed records, other numbers of
// threads and partitions, newest TID wins. Concurrency is in concurrent_test.cc, damage in damage_test.cc.

#include <gtest/gtest.h>

#include "tests/recovery/checkpoint/checkpoint_fixture.h"

namespace granary::tests {
namespace {

std::string key_of(std::uint64_t i) {
  std::string key(8, '\0');
  for (int byte = 7; byte >= 0; --byte, i >>= 8) key[byte] = static_cast<char>(i);
  return key;
}

class RoundTrip : public testing::Test {
 protected:
  std::vector<txn::TableCore*> cores() { return {small_.core(), empty_.core(), large_.core()}; }

  /// Loads into a database with the same tables and compares all that a scan sees.
  void expect_loaded(std::size_t threads) {
    ManualDatabase other(1);
    const std::vector<Table> tables = {other.table("small"), other.table("empty"), other.table("large")};
    const auto loaded =
        load(*other, read_options(directory_ / "c"), {tables[0].core(), tables[1].core(), tables[2].core()}, threads);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded->older, 0U);
    Transaction mine = database_.begin();
    Transaction theirs = other.begin();
    std::size_t i = 0;
    for (const Table& table : {small_, empty_, large_}) {
      EXPECT_TRUE(scan_text(mine, table) == scan_text(theirs, tables[i])) << table.name();
      EXPECT_EQ(tables[i].core()->tree().check(), "");
      ++i;
    }
  }

  TemporaryDirectory directory_;
  ManualDatabase database_;
  Table small_ = database_.table("small");
  Table empty_ = database_.table("empty");
  Table large_ = database_.table("large");
};

TEST_F(RoundTrip, AllSizesOfKeysAndValues) {
  database_.put(small_, "", "empty key");
  database_.put(small_, "empty value", "");
  for (std::uint64_t i = 0; i < 1000; ++i) database_.put(small_, key_of(i * 7919), std::string(i % 300, 'v'));
  for (const std::size_t bytes : {0, 1, 7, 8, 9, 4096, 65535, 65536}) {
    database_.put(large_, std::string(bytes, 'k'), std::string(65536 - bytes, 'w'));
    database_.put(large_, std::string(65536, 'k').replace(0, 1, std::to_string(bytes % 7)), std::string(bytes, 'w'));
  }
  database_.put(large_, "largest", std::string(kMaxValueBytes, 'z'));
  database_.pass_snapshot_period();

  const auto written = take_checkpoint(*database_, write_options(directory_ / "c", 3, 2), cores());
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->tables.at(small_.id()).records, 1002U);
  EXPECT_FALSE(written->tables.contains(empty_.id()));
  const auto verified = checkpoint::verify_checkpoint(read_options(directory_ / "c"), 2);
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_EQ(verified->tables, written->tables);
  EXPECT_EQ(verified->records, written->records);
  EXPECT_EQ(verified->blocks, written->blocks);
  EXPECT_EQ(verified->file_bytes, written->file_bytes);
  EXPECT_EQ(verified->epoch, written->epoch);
  for (const std::size_t threads : {1, 2, 5}) expect_loaded(threads);
}

TEST_F(RoundTrip, NothingAtAll) {
  const auto written = take_checkpoint(*database_, write_options(directory_ / "c", 4, 3), {});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->records, 0U);
  const auto verified = checkpoint::verify_checkpoint(read_options(directory_ / "c"));
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  expect_loaded(2);
}

TEST_F(RoundTrip, OneBigTableWithEveryMixOfThreadsAndPartitions) {
  for (std::uint64_t i = 0; i < 20'000; i += 100) {
    database_.commit([&](Transaction& t) {
      for (std::uint64_t j = i; j < i + 100; ++j)
        EXPECT_EQ(t.put(small_, key_of(j), std::string(100, 'v')), Outcome::kOk);
    });
  }
  database_.pass_snapshot_period();
  for (const std::uint32_t threads : {1, 2, 3, 5}) {
    for (const std::uint32_t partitions : {1, 2, 7}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(partitions) + " partitions");
      const auto written = take_checkpoint(*database_, write_options(directory_ / "c", partitions, threads), cores());
      ASSERT_TRUE(written.ok()) << written.status().message();
      EXPECT_EQ(written->records, 20'000U);
      const auto loading = partitions == 2 ? 3U : 1U;
      expect_loaded(loading);
      ASSERT_TRUE(checkpoint::remove_checkpoint(base::system_files(), directory_ / "c").ok());
      EXPECT_FALSE(std::filesystem::exists(directory_ / "c"));
    }
  }
}

TEST_F(RoundTrip, HoldsExactlyWhatTheSnapshotSees) {
  for (std::uint64_t i = 0; i < 3000; ++i) database_.put(small_, key_of(i), "old");
  database_.remove(small_, key_of(5));
  database_.pass_snapshot_period();
  EngineWorkers workers(*database_, 1);
  const auto pin = checkpoint::SnapshotPin::take(workers.shared().epochs);
  ASSERT_TRUE(pin.ok());
  // All of this is newer: overwritten, removed (and given time to be forgotten), inserted, grown out of its place.
  for (std::uint64_t i = 0; i < 3000; i += 3) database_.put(small_, key_of(i), "new");
  for (std::uint64_t i = 1; i < 3000; i += 3) database_.remove(small_, key_of(i));
  for (std::uint64_t i = 2; i < 3000; i += 3) database_.put(small_, key_of(i), std::string(500, 'n'));
  for (std::uint64_t i = 3000; i < 4000; ++i) database_.put(small_, key_of(i), "born later");
  database_.collect_everything();

  const auto tables = cores();
  const auto written =
      checkpoint::write_checkpoint(write_options(directory_ / "c", 2, 2), workers.shared(), *pin, tables);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->epoch, pin->epoch());
  EXPECT_EQ(written->records, 2999U);
  ManualDatabase other(1);
  const Table table = other.table("small");
  const auto loaded = load(*other, read_options(directory_ / "c"), {table.core()}, 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::uint64_t records = 0;
  Transaction t = other.begin();
  ASSERT_TRUE(t.scan(table, {}, [&](std::string_view, std::string_view value) {
    ++records;
    EXPECT_EQ(value, "old");
    return true;
  }));
  EXPECT_EQ(records, 2999U);
}

TEST_F(RoundTrip, TheNewerVersionWinsWhateverComesFirst) {
  ManualDatabase other(1);
  const Table table = other.table("small");
  // The checkpoint's versions are of epoch 6: one is older, the others are newer.
  other.put(table, "kept", "older");
  other.pass_epochs(20);
  other.put(table, "overwritten", "newer");
  other.put(table, "removed", "newer");
  other.remove(table, "removed");
  ManualDatabase source(1);
  const Table sources = source.table("small");
  source.pass_epochs(5);
  source.put(sources, "kept", "epoch 6, longer than what was there before");
  source.put(sources, "overwritten", "epoch 6");
  source.put(sources, "removed", "epoch 6");
  source.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*source, write_options(directory_ / "d"), {sources.core()}).ok());

  const auto loaded = load(*other, read_options(directory_ / "d"), {table.core()});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->older, 2U);
  EXPECT_EQ(other.value(table, "kept"), "epoch 6, longer than what was there before");
  EXPECT_EQ(other.value(table, "overwritten"), "newer");
  EXPECT_EQ(other.value(table, "removed"), "(none)");
  // Once more: nothing changes.
  const auto again = load(*other, read_options(directory_ / "d"), {table.core()});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->older, 3U);
  EXPECT_EQ(other.value(table, "kept"), "epoch 6, longer than what was there before");
}

TEST_F(RoundTrip, AnOlderCheckpointChangesNothing) {
  for (std::uint64_t i = 0; i < 100; ++i) database_.put(small_, key_of(i), "old");
  database_.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database_, write_options(directory_ / "old"), cores()).ok());
  for (std::uint64_t i = 0; i < 100; ++i) database_.put(small_, key_of(i), i % 2 == 0 ? "n" : "new and longer");
  database_.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database_, write_options(directory_ / "new"), cores()).ok());
  for (const bool newer_first : {false, true}) {
    ManualDatabase other(1);
    const Table table = other.table("small");
    for (const bool newer : {newer_first, !newer_first}) {
      const auto loaded = load(*other, read_options(directory_ / (newer ? "new" : "old")), {table.core()});
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      EXPECT_EQ(loaded->older, newer_first && !newer ? 100U : 0U);
    }
    for (std::uint64_t i = 0; i < 100; ++i)
      EXPECT_EQ(other.value(table, key_of(i)), i % 2 == 0 ? "n" : "new and longer");
    EXPECT_EQ(table.core()->tree().statistics().keys, 100U);
  }
}

TEST_F(RoundTrip, IndexesAreTablesLikeAnyOther) {
  const Table base = database_.table("base");
  const Index index =
      database_->create_index(base, "by value", {.parts = {{.source = IndexPart::Source::kValue, .length = 3}}})
          .value();
  database_.put(base, "1", "ccc");
  database_.put(base, "2", "aaa");
  database_.put(base, "3", "bbb");
  database_.put(base, "3", "abb");
  database_.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database_, write_options(directory_ / "c"), {base.core(), index.core()}).ok());
  ManualDatabase other(1);
  for (const char* name : {"small", "empty", "large"}) other.table(name);
  const Table bases = other.table("base");
  const Index indexes =
      other->create_index(bases, "by value", {.parts = {{.source = IndexPart::Source::kValue, .length = 3}}}).value();
  const auto loaded = load(*other, read_options(directory_ / "c"), {bases.core(), indexes.core()}, 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  other.pass_epochs(20);
  Transaction t = other.begin();
  EXPECT_EQ(scan_text(t, indexes), "2=aaa 3=abb 1=ccc ");
  EXPECT_TRUE(t.commit().committed());
  other.put(bases, "1", "aab");
  Transaction after = other.begin();
  EXPECT_EQ(scan_text(after, indexes), "2=aaa 1=aab 3=abb ");
}

TEST_F(RoundTrip, OutOfMemoryIsAnErrorThatSaysSo) {
  for (std::uint64_t i = 0; i < 40; ++i) database_.put(large_, key_of(i), std::string(kMaxValueBytes, 'x'));
  database_.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database_, write_options(directory_ / "c"), cores()).ok());
  Options options = manual_options();
  options.memory_limit_bytes = std::uint64_t{32} << 20;
  ManualDatabase other(1, options);
  const std::vector<Table> tables = {other.table("small"), other.table("empty"), other.table("large")};
  const auto loaded = load(*other, read_options(directory_ / "c"), {tables[2].core()}, 2);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), StatusCode::kResourceExhausted) << loaded.status().message();
}

TEST_F(RoundTrip, LoadedRecordsTakePartInTransactions) {
  for (std::uint64_t i = 0; i < 100; ++i) database_.put(small_, key_of(i), "v");
  database_.pass_snapshot_period();
  ASSERT_TRUE(take_checkpoint(*database_, write_options(directory_ / "c"), cores()).ok());
  ManualDatabase other(1);
  const Table table = other.table("small");
  other.pass_epochs(20);
  ASSERT_TRUE(load(*other, read_options(directory_ / "c"), {table.core()}).ok());
  other.put(table, key_of(1), std::string(1000, 'x'));
  other.remove(table, key_of(2));
  other.collect_everything();
  EXPECT_EQ(other.value(table, key_of(1)), std::string(1000, 'x'));
  EXPECT_EQ(other.value(table, key_of(2)), "(none)");
  EXPECT_EQ(table.core()->tree().check(), "");
  Snapshot snapshot = other.snapshot();
  std::string value;
  EXPECT_EQ(snapshot.get(table, key_of(3), value), Outcome::kOk);
}

}  // namespace
}  // namespace granary::tests
