// Replay of parts of values, among whole values and removals, against rows of a model that does everything in the order
// of TIDs: whatever the order in the log, the number of threads, and the memory that parts may take. Not here:
// checkpoints below the log, and what a Database makes of it (tests/durability).

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/replay.h"
#include "src/base/random.h"
#include "tests/recovery/replay_rig.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::recovery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::ReplayRig;
using tests::SegmentBuilder;
using tests::StoredLog;
using tests::StoredVersion;
using tests::TableContents;
using tests::TestWrite;

TestWrite part(std::string key, std::uint32_t from, std::string bytes, std::uint32_t whole) {
  return {.table = 0, .key = std::move(key), .value = std::move(bytes), .part = log::PartHeader{from, whole}};
}

struct Logged {
  std::uint64_t tid = 0;
  std::vector<TestWrite> writes;

  std::string bytes() const { return tests::entry_of(tid, log::EntryKind::kTransaction, tests::body_of(writes)); }
};

/// The rows, changed in the order of TIDs.
class Rows {
 public:
  void apply(const Logged& entry) {
    for (const TestWrite& write : entry.writes) {
      if (!write.value) {
        rows_.erase(write.key);
      } else if (write.part) {
        StoredVersion& row = rows_.at(write.key);
        row.tid = entry.tid;
        row.value.replace(write.part->from, write.value->size(), *write.value);
      } else {
        rows_[write.key] = {entry.tid, *write.value};
      }
    }
  }
  const TableContents& all() const { return rows_; }

 private:
  TableContents rows_;
};

/// How a log is replayed: with so many threads, with so much memory for parts (0: plenty), from its beginning or its
/// end.
struct Way {
  const char* name;
  std::size_t threads = 1;
  std::uint64_t parts_bytes = 0;
  bool frugal = false;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class ReplayParts : public testing::TestWithParam<Way> {
 protected:
  static Result<ReplayStatistics> replay(ReplayRig& rig, StoredLog& log, std::span<const RingEntries> rings = {}) {
    return rig.replay(log.disk, log.scan(), rings,
                      {.past_durable = true, .frugal = GetParam().frugal, .parts_bytes = GetParam().parts_bytes});
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, ReplayParts,
                         testing::Values(Way{"One"}, Way{"Three", 3}, Way{"OneInStretches", 1, 1},
                                         Way{"ThreeInStretches", 3, 20'000}, Way{"Frugal", 1, 0, true}),
                         [](const auto& made) { return made.param.name; });

/// What may happen to one record, in an order in which it may: whole values of two sizes, parts, a removal, a new
/// birth.
std::vector<Logged> life_of_a_record() {
  std::vector<TestWrite> writes = {{0, "", "0123456789"},  part("", 2, "aaaa", 10), part("", 4, "bbb", 10),
                                   {0, "", "ABCDEF"},      part("", 0, "cc", 6),    {0, "", std::nullopt},
                                   {0, "", "!!!!!!!!!!!!"}};
  writes.push_back(part("", 1, "d", 12));
  std::vector<Logged> entries;
  for (std::size_t i = 0; i < writes.size(); ++i) entries.push_back({record::make_tid(1 + i / 3, i + 1), {writes[i]}});
  return entries;
}

/// Each order has a key of its own, so that one log has them all. Each beginning of the life is one, too.
TEST_P(ReplayParts, InEveryOrderOfAFewEntries) {
  const std::vector<Logged> whole_life = life_of_a_record();
  Rows rows;
  for (std::size_t length = 1; length <= whole_life.size(); ++length) {
    rows.apply(whole_life[length - 1]);
    std::vector<Logged> life(whole_life.begin(), whole_life.begin() + static_cast<std::ptrdiff_t>(length));
    SegmentBuilder segment({1, 0, 0});
    TableContents expected;
    do {
      const std::string key = std::to_string(expected.size());
      for (Logged& entry : life) {
        entry.writes[0].key = key;
        segment.entry(entry.tid, log::EntryKind::kTransaction, tests::body_of(entry.writes));
      }
      expected.emplace(key, StoredVersion());
    } while (std::next_permutation(life.begin(), life.end(),
                                   [](const Logged& a, const Logged& b) { return a.tid < b.tid; }));
    if (rows.all().empty()) expected.clear();
    for (auto& [key, row] : expected) row = rows.all().begin()->second;
    StoredLog log;
    log.put_segment(0, segment.marker(9, 0));
    ReplayRig rig(GetParam().threads);
    const auto replayed = replay(rig, log);
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    ASSERT_TRUE(rig.contents(0) == expected) << length << " entries";
  }
}

std::string random_text(base::Random& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return text;
}

/// A write that the row can have.
TestWrite random_write(base::Random& random, const std::string& key, const TableContents& rows) {
  const auto row = rows.find(key);
  const std::size_t size = row == rows.end() ? 0 : row->second.value.size();
  const std::uint64_t dice = random.below(20);
  if (dice < 14 && size != 0) {
    const std::uint64_t from = random.below(size);
    return part(key, static_cast<std::uint32_t>(from), random_text(random, 1 + random.below(size - from)),
                static_cast<std::uint32_t>(size));
  }
  if (dice < 16) return {0, key, std::nullopt};
  return {0, key, random_text(random, random.below(8) == 0 ? random.below(3000) : random.below(120))};
}

/// Logs of several loggers, with packed entries, and a ring.
class ShuffledLog {
 public:
  static constexpr std::uint32_t kLoggers = 4;

  ShuffledLog(base::Random& random, std::vector<Logged> entries) : log_(kLoggers) {
    for (std::size_t i = entries.size() - 1; i != 0; --i) std::swap(entries[i], entries[random.below(i + 1)]);
    std::vector<SegmentBuilder> segments;
    for (std::uint32_t i = 0; i < kLoggers; ++i) segments.emplace_back(SegmentName{1, i, 0});
    std::vector<std::string> packed(kLoggers);
    for (const Logged& entry : entries) {
      const std::uint64_t logger = random.below(kLoggers), dice = random.below(50);
      if (dice < 2) ring_ += entry.bytes();
      if (dice == 0) continue;  // the ring alone has it
      if (dice < 15) {
        packed[logger] += entry.bytes();
      } else {
        segments[logger].entry(entry.tid, log::EntryKind::kTransaction, tests::body_of(entry.writes));
      }
      if (random.below(100) != 0) continue;
      segments[logger].packed(random.below(2) == 0 ? log::Codec::kLz4 : log::Codec::kZstd, packed[logger]);
      packed[logger].clear();
    }
    for (std::uint32_t i = 0; i < kLoggers; ++i) {
      segments[i].packed(log::Codec::kLz4, packed[i]).marker(200, 0);
      log_.put_segment(i, segments[i]);
    }
  }
  StoredLog& log() { return log_; }
  const std::string& ring() const { return ring_; }

 private:
  StoredLog log_;
  std::string ring_;
};

TEST_P(ReplayParts, InRandomOrders) {
  for (const std::uint64_t seed : tests::seeds(tests::sampled(10))) {
    base::Random random(seed);
    const std::uint64_t keys = 1 + random.below(300);
    Rows rows;
    std::vector<Logged> entries;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      Logged entry{record::make_tid(1 + i / 40, i + 1), {}};
      for (std::uint64_t writes = 1 + random.below(4); writes != 0; --writes) {
        const std::string key = "key" + std::to_string(random.below(keys));
        const bool again = std::any_of(entry.writes.begin(), entry.writes.end(),
                                       [&](const TestWrite& other) { return other.key == key; });
        if (!again) entry.writes.push_back(random_write(random, key, rows.all()));
      }
      rows.apply(entry);
      entries.push_back(std::move(entry));
    }
    ShuffledLog shuffled(random, std::move(entries));
    const std::vector<RingEntries> rings = {{"ring-0000", shuffled.ring()}};
    ReplayRig rig(GetParam().threads);
    const auto replayed = replay(rig, shuffled.log(), rings);
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    ASSERT_EQ(rig.contents(0), rows.all()) << "seed " << seed;
  }
}

/// All threads at one record's parts, which do not overlap or always do.
TEST_P(ReplayParts, OfOneRecordThatAllThreadsHave) {
  base::Random random(3);
  constexpr std::uint32_t kLoggers = 3, kSize = 400;
  Rows rows;
  std::vector<SegmentBuilder> segments;
  for (std::uint32_t i = 0; i < kLoggers; ++i) segments.emplace_back(SegmentName{1, i, 0});
  for (std::uint64_t i = 1; i <= 40'000; ++i) {
    const std::uint32_t from = static_cast<std::uint32_t>(random.below(8)) * 50;
    Logged entry{record::make_tid(1, i), {part("k", from, random_text(random, 50), kSize)}};
    if (i == 1) entry.writes = {{0, "k", std::string(kSize, '-')}};
    rows.apply(entry);
    segments[random.below(kLoggers)].entry(entry.tid, log::EntryKind::kTransaction, tests::body_of(entry.writes));
  }
  StoredLog log(kLoggers);
  for (std::uint32_t i = 0; i < kLoggers; ++i) log.put_segment(i, segments[i].marker(1, 0));
  ReplayRig rig(GetParam().threads);
  ASSERT_TRUE(replay(rig, log).ok());
  EXPECT_EQ(rig.contents(0), rows.all());
}

/// Parts above the cut do not count, as nothing does.
TEST_P(ReplayParts, NotBeyondTheCut) {
  SegmentBuilder segment({1, 0, 0});
  segment.transaction(1, 1, {{0, "k", "0123456789"}}).transaction(2, 1, {part("k", 0, "two", 10)}).marker(2, 1);
  segment.transaction(3, 1, {part("k", 5, "three", 10)}).transaction(3, 2, {part("k", 0, "TH", 10)});
  StoredLog log;
  log.put_segment(0, segment);
  ReplayRig rig(GetParam().threads);
  ASSERT_TRUE(rig.replay(log.disk, log.scan(), {}, {.frugal = GetParam().frugal}).ok());
  EXPECT_EQ(rig.contents(0), (TableContents{{"k", {record::make_tid(2, 1), "two3456789"}}}));
}

class PartsWithoutBase : public testing::Test {
 protected:
  /// What a replay says of such transactions of one segment.
  static Status status(const std::vector<std::vector<TestWrite>>& transactions, bool incomplete = false) {
    SegmentBuilder segment({1, 0, 0});
    for (std::size_t i = 0; i < transactions.size(); ++i) segment.transaction(4, i + 1, transactions[i]);
    StoredLog log;
    log.put_segment(0, segment.marker(4, 0));
    ReplayRig rig(2);
    const auto replayed = rig.replay(log.disk, log.scan(), {}, {.incomplete = incomplete});
    if (replayed.ok() && incomplete) {
      EXPECT_EQ(replayed->baseless.records, 1u);
      EXPECT_THAT(replayed->baseless.first, HasSubstr("a part of a value"));
    }
    return replayed.status();
  }
  static void expect_damage(const std::vector<std::vector<TestWrite>>& transactions, const std::string& why) {
    const Status damage = status(transactions);
    EXPECT_EQ(damage.code(), StatusCode::kDamaged);
    EXPECT_THAT(damage.message(), AllOf(HasSubstr("'/a/log-g00000001-l00-s00000000.glog'"), HasSubstr("table 0"),
                                        HasSubstr("key 'k%00'"), HasSubstr(why)));
    EXPECT_TRUE(status(transactions, /*incomplete=*/true).ok());
  }
  const std::string key_{"k\0", 2};
};

TEST_F(PartsWithoutBase, WhereNothingElseIsThere) {
  expect_damage({{part(key_, 0, "x", 3)}}, "transaction 4.1, and neither log nor checkpoint has the value");
}
TEST_F(PartsWithoutBase, BehindARemoval) {
  expect_damage({{{0, key_, "abc"}}, {{0, key_, std::nullopt}}, {part(key_, 0, "x", 3)}},
                "transaction 4.3, and neither log nor checkpoint has the value");
}
TEST_F(PartsWithoutBase, OfAValueOfAnotherSize) {
  expect_damage({{{0, key_, "abc"}}, {part(key_, 0, "x", 4)}}, "transaction 4.2, and log or checkpoint has a value of");
}
TEST_F(PartsWithoutBase, AreNotMissedBeforeARemovalOrAWholeValue) {
  EXPECT_TRUE(status({{part(key_, 0, "x", 3)}, {{0, key_, std::nullopt}}}).ok());
  EXPECT_TRUE(status({{part(key_, 0, "x", 3)}, {{0, key_, "whole"}}, {part(key_, 4, "x", 5)}}).ok());
}

/// Where values find no memory, that is what is wrong, and not that their parts miss them.
/// They are in the same stretch of epochs, or in a later one.
class PartsOfValuesWithoutMemory : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Epochs, PartsOfValuesWithoutMemory, testing::Values(1, 2));

TEST_P(PartsOfValuesWithoutMemory, AreNoDamage) {
  const std::uint64_t last_epoch = GetParam();
  SegmentBuilder segment({1, 0, 0});
  for (std::uint64_t i = 1; i < 200; ++i)
    segment.transaction(1, i, {{0, "k" + std::to_string(i), std::string(100'000, 'x')}});
  for (std::uint64_t i = 1; i < 200; ++i)
    segment.transaction(last_epoch, 200 + i, {part("k" + std::to_string(i), 7, "part", 100'000)});
  StoredLog log;
  log.put_segment(0, segment.marker(2, 0));
  ReplayRig rig(1, 2, std::uint64_t{8} << 20);
  EXPECT_EQ(rig.replay(log.disk, log.scan()).status().code(), StatusCode::kResourceExhausted);
  const auto replayed = rig.replay(log.disk, log.scan(), {}, {.frugal = true});
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_GT(replayed->missing_bytes, 0u);
  EXPECT_GT(replayed->baseless.records, 0u);
}

/// A value that was cut off would be one that nobody wrote.
TEST(ReplayOfParts, RefusesWhatNoDatabaseWrites) {
  const auto message = [](TestWrite write) {
    StoredLog log;
    log.put_segment(
        0, SegmentBuilder({1, 0, 0}).transaction(1, 1, {{0, "k", "abc"}}).transaction(1, 2, {write}).marker(1, 0));
    ReplayRig rig(1);
    const auto replayed = rig.replay(log.disk, log.scan());
    EXPECT_EQ(replayed.status().code(), StatusCode::kDamaged);
    return replayed.status().message();
  };
  EXPECT_THAT(message(part("k", 2, "xy", 3)), HasSubstr("malformed"));
  EXPECT_THAT(message(part("k", 0, "x", kMaxValueBytes + 1)), HasSubstr("larger than allowed"));
}

TEST(ReplayOfParts, RefusesThoseOfSharedRecords) {
  StoredLog log;
  log.put_segment(0, SegmentBuilder({1, 0, 0}).transaction(1, 1, {part("k", 0, "x", 3)}).marker(1, 0));
  ReplayRig rig(1);
  rig.table(0).make_shared();
  const auto replayed = rig.replay(log.disk, log.scan());
  EXPECT_EQ(replayed.status().code(), StatusCode::kDamaged);
  EXPECT_THAT(replayed.status().message(), HasSubstr("a part of a value in table 0, whose records are shared"));
}

/// Logs of former releases have no parts, and are otherwise the same.
TEST(ReplayOfParts, GoesOnFromTheLogOfAFormerRelease) {
  StoredLog log(2);
  log.put_segment(0, SegmentBuilder({1, 0, 0}, tests::kDatabase, 0, log::kFormerVersion)
                         .transaction(1, 1, {{0, "k", "0123"}})
                         .marker(2, 0));
  log.put_segment(1, SegmentBuilder({1, 1, 0}).transaction(2, 1, {part("k", 1, "xy", 4)}).marker(2, 0));
  ReplayRig rig(2);
  const auto replayed = rig.replay(log.disk, log.scan());
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_EQ(rig.contents(0), (TableContents{{"k", {record::make_tid(2, 1), "0xy3"}}}));
}

}  // namespace
}  // namespace granary::recovery
