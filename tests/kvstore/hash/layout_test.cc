// The packed words, homes, and where keys go within a chain. Not covered: changes (model_test, version_test).

#include <map>

#include "tests/kvstore/hash/table_fixture.h"

namespace granary::kvstore::hash::test {
namespace {

TEST(HashEntry, FieldsComeBack) {
  for (const EntryType type : {EntryType::kUnused, EntryType::kHeader, EntryType::kRecord, EntryType::kNamed}) {
    const Entry entry(type, 0x123456789abcu, 0x2bcd);
    EXPECT_EQ(entry.type(), type);
    EXPECT_EQ(entry.offset(), 0x123456789abcu);
    EXPECT_EQ(entry.incarnation(), 0x2bcdu);
    EXPECT_EQ(Entry(entry.word()).word(), entry.word());
  }
}

TEST(HashEntry, IncarnationsKeepTheirLowBits) {
  EXPECT_EQ(Entry(EntryType::kRecord, 64, (std::uint64_t{1} << 39) + 5).incarnation(), 5u);
  EXPECT_EQ(Entry(EntryType::kRecord, 64, (std::uint64_t{1} << 39) + 5).type(), EntryType::kRecord);
}

/// Nodes of other builds rely on these words and places.
TEST(HashedKeys, AreTheSameInEveryBuild) {
  EXPECT_EQ(HashedKey("").word, 0x2d06800538d394c2u);
  EXPECT_EQ(HashedKey("a").word, 0xe6c632b61e964e1fu);
  EXPECT_EQ(HashedKey("customer 0000017").word, 0x0d0b2168632139afu);
  EXPECT_EQ(HashedKey(std::string(300, 'k')).word, 0x3e901c94ff54faa0u);
  EXPECT_EQ(HashedKey("12345678").word, 0x3837363534333231u);
  const Home home(0x3837363534333231u, 1'000'003);
  EXPECT_EQ(home.bucket, 414463u);
  EXPECT_EQ(home.line, 1u);
}

TEST(HashHome, SpreadsOverBucketsAndLines) {
  std::map<std::uint64_t, int> buckets, lines;
  for (std::uint64_t number = 0; number < 70000; ++number) {
    const Home home(number, 7);
    ++buckets[home.bucket];
    ++lines[home.line];
  }
  ASSERT_EQ(buckets.size(), 7u);
  ASSERT_EQ(lines.size(), 3u);
  for (const auto& [bucket, count] : buckets) EXPECT_NEAR(count, 10000, 500);
  for (const auto& [line, count] : lines) EXPECT_NEAR(count, 23333, 700);
}

TEST(HashTable, FillsAllEightSlotsBeforeItLinks) {
  Fixture one(1);
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(one.insert(number_key(i), i));
  EXPECT_EQ(one.table.statistics().indirect_headers, 0u);
  ASSERT_TRUE(one.insert(number_key(8), 8));
  EXPECT_EQ(one.table.statistics().indirect_headers, 1u);
  EXPECT_EQ(one.table.reads_to_find(number_key(0)), 1u);
  EXPECT_EQ(one.table.reads_to_find(number_key(8)), 2u);
  EXPECT_EQ(one.table.reads_to_find(number_key(9)), kNotFound);
  EXPECT_EQ(one.table.check(), "");
}

TEST(HashTable, UsesAHeadersSlotsAgain) {
  Fixture one(1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (std::uint64_t i = 0; i < 12; ++i) ASSERT_TRUE(one.insert(number_key(100 * round + i), i));
    for (std::uint64_t i = 0; i < 12; ++i)
      ASSERT_TRUE(one.table.remove(number_key(100 * round + i), one.value(i), one.worker.memory));
  }
  EXPECT_EQ(one.table.statistics().indirect_headers, 1u);
  EXPECT_EQ(one.table.statistics().keys, 0u);
}

TEST(HashTable, KeepsTheIncarnation) {
  Fixture one(4);
  one.table.insert_if_absent(number_key(1), one.value(1), one.worker.memory, 77);
  EXPECT_EQ(one.table.find(number_key(1)).incarnation, 77u);
  EXPECT_TRUE(one.table.replace(number_key(1), one.value(1), one.value(2), 78));
  EXPECT_EQ(one.table.find(number_key(1)).incarnation, 78u);
}

}  // namespace
}  // namespace granary::kvstore::hash::test
