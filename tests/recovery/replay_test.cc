// Replay against a model: the newest write of each key wins, whatever the order, the number of threads and the sizes.
// Not here: what a Database makes of it.

#include "recovery/replay.h"

#include <chrono>
#include <cstdio>

#include <gmock/gmock.h>
#include <granary/limits.h>
#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/recovery/replay_rig.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::recovery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Database = tests::StoredLog;
using tests::ReplayRig;
using tests::SegmentBuilder;
using tests::TableContents;
using tests::TestWrite;

/// What is left of many writes.
class Model {
 public:
  void apply(std::uint64_t tid, const std::vector<TestWrite>& writes) {
    for (const TestWrite& write : writes) {
      auto& newest = tables_[write.table][write.key];
      if (newest.first < tid) newest = {tid, write.value};
    }
  }
  TableContents contents(std::uint32_t table) {
    TableContents present;
    for (const auto& [key, version] : tables_[table]) {
      if (version.second) present[key] = {version.first, *version.second};
    }
    return present;
  }

 private:
  std::map<std::uint32_t, std::map<std::string, std::pair<std::uint64_t, std::optional<std::string>>>> tables_;
};

std::vector<TestWrite> random_writes(base::Random& random, std::uint64_t keys) {
  std::vector<TestWrite> writes;
  for (std::uint64_t i = 1 + random.below(4); i != 0; --i) {
    TestWrite write{static_cast<std::uint32_t>(random.below(2)), "key" + std::to_string(random.below(keys)), {}};
    if (random.below(4) != 0)
      write.value = std::string(random.below(8) == 0 ? random.below(3000) : random.below(120),
                                static_cast<char>('a' + random.below(26)));
    const bool again = std::any_of(writes.begin(), writes.end(), [&](const TestWrite& other) {
      return other.table == write.table && other.key == write.key;
    });
    if (!again) writes.push_back(std::move(write));
  }
  return writes;
}

class ReplayThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ReplayThreads, testing::Values(1, 3));

TEST_P(ReplayThreads, NewestWinsInWhateverOrder) {
  for (const std::uint64_t seed : tests::seeds(tests::sampled(12))) {
    base::Random random(seed);
    constexpr std::uint32_t kLoggers = 4;
    std::vector<SegmentBuilder> segments;
    for (std::uint32_t i = 0; i < kLoggers; ++i) segments.emplace_back(SegmentName{1, i, 0});
    std::vector<std::string> packed(kLoggers);
    std::string ring;
    Model model;
    for (int i = 0; i < 3000; ++i) {
      // TIDs in no order at all; two transactions never have the same.
      const std::uint64_t tid = record::make_tid(1 + random.below(90), static_cast<std::uint64_t>(i) + 1);
      const auto writes = random_writes(random, 1 + random.below(400));
      const std::string body = tests::body_of(writes);
      const std::uint32_t logger = static_cast<std::uint32_t>(random.below(kLoggers));
      const std::string entry = tests::entry_of(tid, log::EntryKind::kTransaction, body);
      if (random.below(50) == 0) {
        ring += entry;
      } else if (random.below(3) == 0) {
        packed[logger] += entry;
      } else {
        segments[logger].entry(tid, log::EntryKind::kTransaction, body);
      }
      if (random.below(100) == 0) {
        segments[logger].packed(random.below(2) == 0 ? log::Codec::kLz4 : log::Codec::kZstd, packed[logger]);
        packed[logger].clear();
      }
      model.apply(tid, writes);
    }
    Database database(kLoggers);
    for (std::uint32_t i = 0; i < kLoggers; ++i) {
      segments[i].packed(log::Codec::kLz4, packed[i]).marker(90, 0);
      database.put_segment(i, segments[i]);
    }
    ReplayRig rig(static_cast<std::size_t>(GetParam()));
    const std::vector<RingEntries> rings = {{"ring-0000", ring}};
    std::uint64_t last_done = 0, last_all = 0;
    const auto replayed = rig.replay(database.disk, database.scan(), rings, {.progress = [&](auto done, auto all) {
                                       EXPECT_GT(done, last_done);
                                       last_done = done;
                                       last_all = all;
                                     }});
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    EXPECT_EQ(replayed->transactions, 3000u);
    EXPECT_EQ(last_done, last_all);
    EXPECT_EQ(replayed->bytes, last_all);
    for (const std::uint32_t table : {0u, 1u}) {
      ASSERT_EQ(rig.contents(table), model.contents(table)) << "seed " << seed << ", table " << table;
    }
  }
}

/// Many threads on few keys, many chunks: a record changes hands all the time. Memory of what was replaced or removed
/// is free afterwards.
TEST_P(ReplayThreads, FewKeysManyWrites) {
  base::Random random(5);
  constexpr std::uint32_t kLoggers = 3;
  std::vector<SegmentBuilder> segments;
  for (std::uint32_t i = 0; i < kLoggers; ++i) segments.emplace_back(SegmentName{1, i, 0});
  Model model;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 60000; ++i) {
    std::vector<TestWrite> writes = {{0, std::string(1, static_cast<char>('a' + random.below(4))), std::nullopt}};
    if (random.below(3) != 0)
      writes[0].value = std::string(random.below(150), static_cast<char>('a' + random.below(26)));
    ++sequence;
    segments[random.below(kLoggers)].transaction(1, sequence, writes);
    model.apply(record::make_tid(1, sequence), writes);
  }
  const std::vector<TestWrite> all_removed = {{0, "a", {}}, {0, "b", {}}, {0, "c", {}}, {0, "d", {}}};
  Database database(kLoggers);
  for (std::uint32_t i = 0; i < kLoggers; ++i) database.put_segment(i, segments[i].marker(1, 0));
  {
    ReplayRig rig(static_cast<std::size_t>(GetParam()));
    ASSERT_TRUE(rig.replay(database.disk, database.scan()).ok());
    EXPECT_EQ(rig.contents(0), model.contents(0));
  }
  database.put_segment(1, segments[1].transaction(1, sequence + 1, all_removed).marker(1, 0));
  ReplayRig rig(static_cast<std::size_t>(GetParam()));
  ASSERT_TRUE(rig.replay(database.disk, database.scan()).ok());
  EXPECT_TRUE(rig.contents(0).empty());
  EXPECT_EQ(rig.record_bytes(), 0);
}

SegmentBuilder four_epochs() {
  SegmentBuilder segment({1, 0, 0});
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch)
    segment.transaction(epoch, 1, {{0, "k", "v" + std::to_string(epoch)}}).marker(epoch, epoch - 1);
  return segment.transaction(5, 1, {{0, "k", "not durable"}, {1, "new", "x"}});
}

TEST(Replay, NothingBeyondTheCut) {
  Database database;
  database.put_segment(0, four_epochs());
  {
    ReplayRig rig(1);
    const auto replayed = rig.replay(database.disk, database.scan());
    ASSERT_TRUE(replayed.ok());
    EXPECT_EQ(rig.contents(0), (TableContents{{"k", {record::make_tid(4, 1), "v4"}}}));
    EXPECT_TRUE(rig.contents(1).empty());
    EXPECT_EQ(replayed->transactions, 4u);
    EXPECT_EQ(replayed->dropped, 1u);
  }
  database.manifest.generations = {{1, 1, 1, 2, 2}, {2, 1, 10, std::nullopt, 0}};
  database.disk.put("/a/" + log::segment_name(2, 0, 0), SegmentBuilder({2, 0, 0}).marker(9, 9).bytes());
  ReplayRig rig(1);
  ASSERT_TRUE(rig.replay(database.disk, database.scan(), {}, {.past_durable = true}).ok());
  EXPECT_EQ(rig.contents(0), (TableContents{{"k", {record::make_tid(2, 1), "v2"}}}));
}

TEST(Replay, WithRingsNothingIsDropped) {
  Database database;
  database.put_segment(0, four_epochs());
  const std::string ring =
      tests::entry_of(record::make_tid(5, 2), log::EntryKind::kTransaction, tests::body_of({{1, "ring", "y"}})) +
      tests::entry_of(record::make_tid(6, 1), log::EntryKind::kTransaction, tests::body_of({{1, "new", {}}}));
  const std::vector<RingEntries> rings = {{"ring-0000", ring}};
  EXPECT_EQ(*greatest_epoch(rings), 6u);
  ReplayRig rig(2);
  ASSERT_TRUE(rig.replay(database.disk, database.scan(), rings, {.past_durable = true}).ok());
  EXPECT_EQ(rig.contents(0), (TableContents{{"k", {record::make_tid(5, 1), "not durable"}}}));
  EXPECT_EQ(rig.contents(1), (TableContents{{"ring", {record::make_tid(5, 2), "y"}}}));
  const std::vector<RingEntries> broken = {{"ring-0001", std::string_view(ring).substr(0, ring.size() - 8)}};
  EXPECT_THAT(greatest_epoch(broken).status().message(), HasSubstr("'ring-0001'"));
  EXPECT_EQ(rig.replay(database.disk, {}, broken).status().code(), StatusCode::kDamaged);
}

/// A segment that stays because of later transactions holds older ones whose removal is gone with another segment.
TEST(Replay, WhatTheCheckpointHoldsIsNotReplayed) {
  Database database;
  database.put_segment(0, four_epochs());
  database.manifest.checkpoint = {5, "c"};
  ReplayRig rig(1);
  ASSERT_TRUE(rig.replay(database.disk, database.scan(), {}, {.from_epoch = 5}).ok());
  EXPECT_TRUE(rig.contents(0).empty());
}

TEST(Replay, ChecksumsAreChecked) {
  SegmentBuilder segment({1, 0, 0});
  segment.transaction(1, 1, {{0, "k", "good"}}).marker(1, 0);
  const std::size_t good = segment.bytes().size();
  segment.transaction(2, 1, {{0, "k", "evil"}}).marker(2, 1);
  Database database;
  database.put_segment(0, segment);
  database.disk.edit("/a/" + log::segment_name(1, 0, 0), [&](std::string& bytes) { bytes[good + 16 + 12 + 1] ^= 4; });
  ReplayRig rig(1);
  ASSERT_TRUE(rig.replay(database.disk, database.scan()).ok());
  EXPECT_EQ(rig.contents(0), (TableContents{{"k", {record::make_tid(1, 1), "good"}}}));
}

TEST(Replay, WhatItCannotUnderstandIsDamage) {
  const auto message = [](const SegmentBuilder& segment) {
    Database database;
    database.put_segment(0, segment);
    ReplayRig rig(2);
    const auto replayed = rig.replay(database.disk, database.scan());
    EXPECT_EQ(replayed.status().code(), StatusCode::kDamaged);
    EXPECT_THAT(replayed.status().message(),
                AllOf(HasSubstr("'/a/log-g00000001-l00-s00000000.glog'"), HasSubstr("offset")));
    return replayed.status().message();
  };
  SegmentBuilder segment({1, 0, 0});
  segment.transaction(1, 1, {{0, "k", "v"}});
  const std::string at = "offset " + std::to_string(segment.bytes().size());
  SegmentBuilder other = segment;
  EXPECT_THAT(message(other.transaction(1, 2, {{2, "k", "v"}}).marker(1, 0)),
              AllOf(HasSubstr("table 2"), HasSubstr(at)));
  other = segment;
  EXPECT_THAT(message(other.entry(record::make_tid(1, 2), log::EntryKind::kTransaction, "nonsense").marker(1, 0)),
              AllOf(HasSubstr("malformed"), HasSubstr(at)));
  other = segment;
  EXPECT_THAT(message(other.transaction(1, 2, {{0, "k", std::string(kMaxValueBytes + 1, 'x')}}).marker(1, 0)),
              HasSubstr("larger than allowed"));
}

TEST(Replay, MemoryMayRunOut) {
  SegmentBuilder segment({1, 0, 0});
  for (std::uint64_t i = 1; i < 200; ++i)
    segment.transaction(1, i, {{0, "k" + std::to_string(i), std::string(100000, 'x')}});
  Database database;
  database.put_segment(0, segment.marker(1, 0));
  ReplayRig rig(2, 2, std::uint64_t{8} << 20);
  EXPECT_EQ(rig.replay(database.disk, database.scan()).status().code(), StatusCode::kResourceExhausted);
}

TEST(Replay, AFileThatChangedSinceTheScan) {
  Database database;
  database.put_segment(0, four_epochs());
  const LogScan scan = database.scan();
  database.disk.edit("/a/" + log::segment_name(1, 0, 0), [](std::string& bytes) { bytes.resize(100); });
  ReplayRig rig(1);
  EXPECT_EQ(rig.replay(database.disk, scan).status().code(), StatusCode::kDamaged);
}

/// How fast: run by hand, with --gtest_also_run_disabled_tests. 10 writes a transaction, 8-byte keys, 100-byte values.
TEST(Replay, DISABLED_Speed) {
  constexpr std::uint64_t kRecords = 3000000, kKeys = 1000000;
  base::Random random(3);
  Database database(3);
  for (std::uint32_t logger = 0; logger < 3; ++logger) {
    SegmentBuilder segment({1, logger, 0});
    std::vector<TestWrite> writes(10, {0, std::string(8, '\0'), std::string(100, 'v')});
    for (std::uint64_t i = 0; i < kRecords / 30; ++i) {
      for (TestWrite& write : writes) {
        const std::uint64_t key = __builtin_bswap64(random.below(kKeys));
        std::memcpy(write.key.data(), &key, sizeof key);
      }
      segment.transaction(1, i + 1, writes);
    }
    database.put_segment(logger, segment.marker(1, 0));
  }
  const auto since = [](auto start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (const std::size_t threads : {1u, 2u}) {
    auto start = std::chrono::steady_clock::now();
    const auto scan = scan_logs(database.disk, database.manifest, {.threads = static_cast<unsigned>(threads)});
    const double scanning = since(start);
    ReplayRig rig(threads, 1, std::uint64_t{1} << 30);
    start = std::chrono::steady_clock::now();
    const auto replayed = rig.replay(database.disk, *scan);
    const double seconds = since(start);
    std::printf("%zu threads: scan %.3f s; replay %.3f s, %.2f M records/s, %.3f GB/s, applied %.2f M\n", threads,
                scanning, seconds, static_cast<double>(replayed->writes) / seconds / 1e6,
                static_cast<double>(replayed->bytes) / seconds / 1e9, static_cast<double>(replayed->applied) / 1e6);
  }
}

}  // namespace
}  // namespace granary::recovery
