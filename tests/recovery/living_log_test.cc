// The log of a node that serves and goes on writing it, read by another one up to an epoch: what stands behind is not
// looked at, what is missing before may come, and anything else is damage.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::SegmentBuilder;

constexpr epoch::Epoch kUpTo = 12;

std::string name_of(std::uint32_t logger, std::uint64_t sequence, std::uint64_t generation = 1) {
  return "/log/" + log::segment_name(generation, logger, sequence);
}

/// Of one node: two loggers in the generation that it runs. Each transaction and marker of logger 0 begins where
/// `places` tell.
class LivingLog : public testing::Test {
 protected:
  LivingLog() {
    EXPECT_TRUE(disk_.make_directory("/log").ok());
    manifest_.database = tests::kDatabase;
    manifest_.log_directories = {"/log"};
    manifest_.generations = {{1, 2, 10, std::nullopt, 0}};
    first_.marker(9, 9).transaction(10, 1, {{0, "a", "1"}}).transaction(12, 1, {{0, "a", "2"}}).marker(12, 10);
    counts_to_ = first_.bytes().size();
    first_.transaction(13, 1, {{0, "a", "3"}}).marker(13, 11).transaction(14, 1, {{0, "a", "4"}});
    put(0, 0, first_.bytes());
    put(1, 0, SegmentBuilder({1, 1, 0}).marker(9, 9).transaction(11, 2, {{0, "b", "1"}}).marker(12, 10).bytes());
  }
  void put(std::uint32_t logger, std::uint64_t sequence, std::string_view bytes) {
    disk_.put(name_of(logger, sequence), std::string(bytes));
  }
  Result<LogScan> scan(epoch::Epoch up_to = kUpTo, bool salvage = false) {
    return scan_logs(disk_, manifest_, {.threads = 2, .salvage = salvage, .elsewhere = true, .up_to = up_to});
  }
  Status status(epoch::Epoch up_to = kUpTo) {
    const auto scanned = scan(up_to);
    return scanned.ok() ? Status() : scanned.status();
  }
  /// Of what counts.
  void expect_whole(epoch::Epoch up_to = kUpTo) {
    const auto scanned = scan(up_to);
    ASSERT_TRUE(scanned.ok()) << scanned.status().message();
    EXPECT_EQ(scanned->durable, up_to);
    EXPECT_TRUE(scanned->tails.empty());
    EXPECT_TRUE(scanned->losses.empty());
    EXPECT_TRUE(scanned->ends.empty()) << "it has none";
    for (const LogSegment& segment : scanned->segments) {
      EXPECT_EQ(segment.limit, up_to);
      EXPECT_FALSE(segment.running);
    }
  }

  tests::FaultFiles disk_;
  Manifest manifest_;
  SegmentBuilder first_{{1, 0, 0}};
  std::size_t counts_to_ = 0;  ///< of logger 0: behind the marker of kUpTo
};

TEST_F(LivingLog, CountsUpToTheEpochThatWasAskedFor) {
  for (const epoch::Epoch up_to : {10, 11, 12}) expect_whole(up_to);
  EXPECT_EQ(status(13).code(), StatusCode::kUnavailable) << "logger 1 has not marked it";
}

/// Another node replays only what concerns it, and all of the log is checked all the same.
TEST_F(LivingLog, HasNothingToReplayForANodeWithoutWrites) {
  constexpr std::uint32_t kHome = 7, kOther = 8;
  SegmentBuilder mixed({1, 0, 0});
  mixed.marker(9, 9).transaction(10, 1, {{0, "a", "1"}}).transaction(11, 1, {{0, "a", "2"}, {0, "x", "1", kHome}});
  put(0, 0, mixed.marker(12, 10).bytes());
  const auto chunks_for = [&](std::uint32_t home) -> std::optional<std::size_t> {
    const auto scanned = scan_logs(disk_, manifest_, {.elsewhere = true, .home = home, .up_to = kUpTo});
    EXPECT_TRUE(scanned.ok()) << scanned.status().message();
    if (!scanned.ok() || scanned->segments.size() != 2 || scanned->transactions != 3) return std::nullopt;
    EXPECT_EQ(scanned->segments[0].latest_transaction, home == kHome ? 11u : 0u);
    EXPECT_TRUE(scanned->segments[1].chunks.empty());
    return scanned->segments[0].chunks.size();
  };
  EXPECT_EQ(chunks_for(kHome), 1u);
  EXPECT_EQ(chunks_for(kOther), 0u);
}

TEST_F(LivingLog, WhateverStandsBehindIsNotLookedAt) {
  const std::string all = first_.bytes();
  for (std::size_t size = counts_to_; size <= all.size(); ++size) {
    put(0, 0, all.substr(0, size));
    expect_whole();
    put(0, 0, all.substr(0, size) + std::string(5000, '\0'));
    expect_whole();
    put(0, 0, all.substr(0, size) + std::string(99, 'x'));
    expect_whole();
  }
  // A part that has not arrived, before others that have.
  std::string gap = all;
  gap.replace(counts_to_, 16, 16, '\0');
  put(0, 0, gap);
  expect_whole();
  // A segment that was begun, as far as it goes.
  put(0, 0, SegmentBuilder(first_).continues(1).bytes());
  expect_whole();
  const std::string next = SegmentBuilder({1, 0, 1}).marker(13, 11).transaction(14, 1, {{0, "a", "4"}}).bytes();
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, sizeof(log::SegmentHeader), next.size()}) {
    put(0, 1, next.substr(0, size));
    expect_whole();
    put(0, 1, next.substr(0, size) + std::string(4096, '\0'));
    expect_whole();
  }
}

TEST_F(LivingLog, WhatHasNotBeenSyncedMayCome) {
  const std::string all = first_.bytes();
  const std::size_t header_and_marker = SegmentBuilder({1, 0, 0}).marker(9, 9).bytes().size();
  for (std::size_t size = header_and_marker; size < counts_to_; ++size) {
    put(0, 0, all.substr(0, size));
    EXPECT_EQ(status().code(), StatusCode::kUnavailable) << size;
    put(0, 0, all.substr(0, size) + std::string(4096, '\0'));
    const Status padded = status();
    // The last byte of a marker's padding may be zero.
    EXPECT_TRUE(padded.ok() || padded.code() == StatusCode::kUnavailable) << size << padded.message();
  }
  put(0, 0, all.substr(0, header_and_marker));
  EXPECT_THAT(status().message(), AllOf(HasSubstr(name_of(0, 0)), HasSubstr("has not synced up to epoch 12 yet"),
                                        HasSubstr("only up to epoch 9")));
  EXPECT_EQ(scan(kUpTo, /*salvage=*/true).status().code(), StatusCode::kUnavailable) << "nothing is lost";
  put(0, 0, all);
  expect_whole();
}

TEST_F(LivingLog, TheNextSegmentMayHaveComeSinceTheDirectoryWasListed) {
  put(0, 0,
      SegmentBuilder({1, 0, 0}).marker(9, 9).transaction(10, 1, {{0, "a", "1"}}).marker(10, 9).continues(1).bytes());
  EXPECT_EQ(status().code(), StatusCode::kUnavailable);
  put(0, 1, SegmentBuilder({1, 0, 1}).marker(10, 9).transaction(11, 1, {{0, "a", "2"}}).marker(12, 10).bytes());
  expect_whole();
}

TEST_F(LivingLog, DamageBeforeIsDamage) {
  std::string all = first_.bytes();
  const std::size_t in_first_transaction = SegmentBuilder({1, 0, 0}).marker(9, 9).bytes().size() + 20;
  all[in_first_transaction] ^= 1;
  put(0, 0, all);
  EXPECT_EQ(status().code(), StatusCode::kDamaged);
  EXPECT_THAT(status().message(), HasSubstr(name_of(0, 0)));
  // The header of the segment.
  all = first_.bytes();
  all[9] ^= 1;
  put(0, 0, all);
  EXPECT_EQ(status().code(), StatusCode::kDamaged);
  put(0, 0, first_.bytes());
  expect_whole();
  // Files that are missing.
  EXPECT_TRUE(disk_.remove(name_of(1, 0)).ok());
  EXPECT_EQ(status().code(), StatusCode::kDamaged);
  EXPECT_THAT(status().message(), HasSubstr(name_of(1, 0)));
  put(1, 2, SegmentBuilder({1, 1, 2}).marker(12, 10).bytes());
  EXPECT_EQ(status().code(), StatusCode::kDamaged);
}

TEST_F(LivingLog, ItsEarlierGenerationsCountAsTheManifestSays) {
  manifest_.generations = {{1, 2, 10, epoch::Epoch{11}, 11}, {2, 1, 12, std::nullopt, 0}};
  put(1, 0, SegmentBuilder({1, 1, 0}).marker(9, 9).transaction(11, 2, {{0, "b", "1"}}).marker(11, 10).bytes());
  disk_.put(name_of(0, 0, 2),
            SegmentBuilder({2, 0, 0}).marker(11, 11).transaction(20, 1, {{0, "c", "1"}}).marker(20, 11).bytes());
  const auto scanned = scan(20);
  ASSERT_TRUE(scanned.ok()) << scanned.status().message();
  for (const LogSegment& segment : scanned->segments)
    EXPECT_EQ(segment.limit, segment.name.generation == 1 ? 11u : 20u);
  // One that is over needs nobody's word.
  manifest_.generations.back().cut = manifest_.generations.back().durable = 20;
  EXPECT_TRUE(status(kUpTo).ok());
  EXPECT_EQ(scan(kUpTo)->durable, 20u);
}

/// The node has begun its generation behind that epoch: nothing of it counts.
TEST_F(LivingLog, AGenerationThatBeganLaterHasNothing) {
  manifest_.generations = {{1, 2, 30, std::nullopt, 0}};
  put(0, 0, SegmentBuilder({1, 0, 0}).marker(29, 29).transaction(30, 1, {{0, "a", "1"}}).bytes());
  put(1, 0, SegmentBuilder({1, 1, 0}).marker(29, 29).bytes());
  expect_whole();
}

/// The node has been started again since its manifest was read.
TEST_F(LivingLog, ANewerGenerationIsLeftAlone) {
  disk_.put(name_of(0, 0, 2), SegmentBuilder({2, 0, 0}).marker(40, 40).transaction(41, 1, {{0, "c", "1"}}).bytes());
  expect_whole();
}

}  // namespace
}  // namespace granary::recovery
