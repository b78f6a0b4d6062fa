// A logger by hand: what it writes when, what it publishes, segments and their removal. Crashes at every call:
// logger_crash_test.cc; failing calls: logger_fault_test.cc.

#include "src/log/logger.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/log/logger_rig.h"

namespace granary::tests {
namespace {

std::uint64_t bytes_of(LoggerRig& rig, std::size_t logger = 0) { return rig.logger(logger).counters().bytes.load(); }

TEST(Logger, AnEpochIsDurableOneStepAfterItIsComplete) {
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  const epoch::Epoch epoch = rig.commit(0, "value");
  rig.step_all();
  EXPECT_LT(rig.durable().current(), epoch) << "others may still commit in it";
  EXPECT_TRUE(rig.decode(*rig.files().process_crash_image()).replayed().empty());
  rig.advance();
  EXPECT_EQ(rig.durable().current(), epoch);
  const auto left = rig.decode(*rig.files().power_loss_image(Survives::kSynced));
  EXPECT_EQ(left.durable, epoch);
  EXPECT_EQ(left.replayed().size(), 1u);
  EXPECT_EQ(rig.judge_power_loss(1, 20), "");
}

TEST(Logger, AnOpenTransactionKeepsDBelowItsEpoch) {
  for (const std::uint32_t loggers : {1u, 2u}) {
    LoggerRig rig({.loggers = loggers});
    ASSERT_TRUE(rig.open().ok());
    const epoch::Epoch epoch = rig.epochs().current();
    rig.enter(0);
    rig.serialize(0);
    for (int i = 0; i < 5; ++i) {
      rig.commit(1, "meanwhile");
      rig.advance();
      ASSERT_EQ(rig.durable().current(), epoch - 1);
    }
    EXPECT_EQ(rig.commit(0, "late"), epoch);
    EXPECT_EQ(rig.epochs().current(), epoch + 1) << "E may be one ahead of an open transaction";
    rig.advance();
    EXPECT_EQ(rig.durable().current(), epoch + 1);
    EXPECT_EQ(rig.judge_power_loss(1, 20), "");
  }
}

TEST(Logger, WhatIsCommittedDuringATurnWaitsForTheNext) {
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  rig.commit(0, "drained now");
  rig.epochs().tick();
  bool done = false;
  rig.files().set_observer([&](FileCall call, const std::string&) {
    if (call != FileCall::kAppend || done) return;
    done = true;
    rig.commit(0, "its ring was looked at before");
    for (int i = 0; i < 3; ++i) rig.epochs().tick();
  });
  rig.step_all();
  EXPECT_TRUE(done);
  EXPECT_EQ(rig.judge_power_loss(1, 5), "");
  rig.step_all();
  EXPECT_EQ(rig.judge_power_loss(1, 5), "");
  EXPECT_EQ(rig.decode(*rig.files().power_loss_image(Survives::kSynced)).replayed().size(), 2u);
}

/// A recovery that reads only the end of the log goes by the first marker in it.
TEST(Logger, NothingOfLaterEpochsStandsBeforeTheMarkerHoweverFarEMovesMeanwhile) {
  for (const std::optional<log::Codec> codec : {std::optional<log::Codec>(), std::optional(log::Codec::kLz4)}) {
    LoggerRig rig({.codec = codec});
    ASSERT_TRUE(rig.open().ok());
    rig.commit(0, "drained first");
    rig.epochs().tick();
    const epoch::Epoch complete = rig.epochs().current() - 1;
    bool done = false;
    rig.files().set_observer([&](FileCall call, const std::string&) {
      if (call != FileCall::kAppend || done) return;
      done = true;
      for (epoch::Epoch ahead = 1; ahead < 6; ++ahead) {
        EXPECT_EQ(rig.commit(1, "the device is slow"), complete + ahead);
        rig.epochs().tick();
      }
    });
    rig.step_all();
    ASSERT_TRUE(done);
    EXPECT_EQ(rig.durable().current(), complete);
    EXPECT_EQ(rig.logger(0).counters().entries.load(), 3u) << "those of two epochs ahead, and no more";
    EXPECT_EQ(rig.judge_process_crash(), "");
    EXPECT_EQ(rig.judge_power_loss(1, 5), "");
    rig.step_all();
    EXPECT_EQ(rig.logger(0).counters().entries.load(), 6u);
    EXPECT_EQ(rig.judge_power_loss(1, 5), "");
  }
}

TEST(Logger, PublishesAfterTheSyncAndNotBefore) {
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  std::vector<epoch::Epoch> before_sync;
  rig.files().set_observer([&](FileCall call, const std::string&) {
    if (call == FileCall::kSync) before_sync.push_back(rig.durable().current());
  });
  std::vector<epoch::Epoch> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back(rig.durable().current());
    rig.commit(0, "value");
    rig.advance();
    EXPECT_GT(rig.durable().current(), expected.back());
  }
  EXPECT_EQ(before_sync, expected);
}

TEST(Logger, AloneAndIdleItWritesNothingWhileDMoves) {
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  rig.commit(0, "value");
  rig.advance();
  const std::uint64_t bytes = bytes_of(rig), syncs = rig.files().calls(FileCall::kSync);
  const epoch::Epoch durable = rig.durable().current();
  for (int i = 0; i < 50; ++i) rig.advance();
  EXPECT_EQ(rig.durable().current(), durable + 50);
  EXPECT_EQ(bytes_of(rig), bytes);
  EXPECT_EQ(rig.files().calls(FileCall::kSync), syncs);
  EXPECT_EQ(rig.judge_power_loss(1, 5), "");
  rig.commit(1, "after the pause");
  rig.advance();
  EXPECT_GT(bytes_of(rig), bytes);
  EXPECT_EQ(rig.decode(*rig.files().power_loss_image(Survives::kSynced)).durable, durable + 51);
  EXPECT_EQ(rig.judge_power_loss(1, 5), "");
}

TEST(Logger, AloneItStillMarksWhatWasDrainedBeforeItsEpochWasComplete) {
  // The entry is in the file before the marker of the epoch before: the next turn has nothing to drain, but must mark.
  LoggerRig rig({});
  ASSERT_TRUE(rig.open().ok());
  rig.commit(0, "first");
  rig.epochs().tick();
  rig.commit(0, "second, of the running epoch");
  rig.step_all();
  const std::uint64_t bytes = bytes_of(rig);
  rig.advance();
  EXPECT_GT(bytes_of(rig), bytes);
  EXPECT_EQ(rig.decode(*rig.files().power_loss_image(Survives::kSynced)).replayed().size(), 2u);
  EXPECT_EQ(rig.judge_power_loss(1, 20), "");
}

TEST(Logger, AmongSeveralAnIdleOneMarksEveryEpoch) {
  LoggerRig rig({.loggers = 2});
  ASSERT_TRUE(rig.open().ok());
  for (int i = 0; i < 10; ++i) {
    rig.commit(0, "only ever for logger 0");
    rig.advance();
    const auto left = rig.decode(*rig.files().power_loss_image(Survives::kSynced));
    ASSERT_EQ(left.durable, rig.durable().current());
    ASSERT_EQ(left.replayed().size(), rig.committed());
  }
}

TEST(Logger, ANewSegmentIsInItsDirectoryBeforeItIsUsed) {
  LoggerRig rig({.segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rig.files().power_loss_image(Survives::kSynced)->paths(), rig.files().paths());
    rig.commit(0, "value");
    rig.advance();
  }
  EXPECT_EQ(rig.files().paths().size(), 6u) << "a segment for each marker";
}

TEST(Logger, SegmentsRotateBetweenEpochsAndBeginWithAMarker) {
  LoggerRig rig({.loggers = 2, .segment_bytes = 2000});
  ASSERT_TRUE(rig.open().ok());
  base::Random random(1);
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 5; ++j) rig.commit(static_cast<std::size_t>(j % 2), random);
    rig.advance();
  }
  const auto left = rig.decode(*rig.files().process_crash_image());
  EXPECT_TRUE(left.mistakes.empty()) << left.mistakes.front();
  for (const DecodedLogger& logger : left.loggers) {
    EXPECT_GT(logger.segments, 3u);
    EXPECT_EQ(logger.first_sequence, 0u);
    EXPECT_EQ(logger.markers, 40 + logger.segments);
  }
  EXPECT_EQ(left.replayed().size(), rig.committed());
}

TEST(Logger, RemovesWhatACheckpointCoversAndNothingElse) {
  LoggerRig rig({.segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  std::vector<epoch::Epoch> epochs;
  for (int i = 0; i < 10; ++i) {
    epochs.push_back(rig.commit(0, "value"));
    rig.advance();
  }
  const auto all = rig.files().paths();
  EXPECT_TRUE(rig.remove_until(epochs[0] - 1).ok());
  EXPECT_EQ(rig.files().paths(), all);
  EXPECT_TRUE(rig.remove_until(epochs[3]).ok());
  EXPECT_EQ(rig.files().paths(), std::vector<std::string>(all.begin() + 4, all.end()));
  EXPECT_EQ(rig.judge_power_loss(1, 20), "");
  EXPECT_TRUE(rig.remove_until(epochs[9] + 100).ok());
  EXPECT_EQ(rig.files().paths().size(), 1u) << "the one that is written to";
  EXPECT_EQ(rig.judge_power_loss(1, 20), "");
}

TEST(Logger, ARemovedSegmentTakesNoMarkerAwayThatOthersNeed) {
  // Logger 1 is idle: its last segment ends with the only marker of the newest epoch, and no transaction keeps it.
  LoggerRig rig({.loggers = 2, .segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  const epoch::Epoch covered = rig.commit(0, "in the checkpoint");
  rig.advance();
  rig.commit(0, "acknowledged, and in no checkpoint");
  rig.advance();
  EXPECT_TRUE(rig.remove_until(covered).ok());
  EXPECT_EQ(rig.judge_power_loss(1, 20), "");
}

TEST(Logger, ASegmentMayGoOnlyWhenTheNextHasItsMarker) {
  LoggerRig rig({.loggers = 2, .segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  rig.files().set_observer([&](FileCall call, const std::string& path) {
    if (testing::Test::HasFailure() || call == FileCall::kRemove) return;
    // A checkpoint of all but the last epochs comes to its end just now.
    if (call == FileCall::kCreate) {
      EXPECT_TRUE(rig.remove_until(rig.durable().current() - 2).ok());
    }
    EXPECT_EQ(rig.judge_power_loss(1, 5), "") << "before a call for " << path;
  });
  for (int i = 0; i < 10; ++i) {
    rig.commit(0, "only ever for logger 0");
    rig.advance();
  }
}

TEST(Logger, RemovalLeavesNoGapWheneverThePowerFails) {
  LoggerRig rig({.segment_bytes = 1});
  ASSERT_TRUE(rig.open().ok());
  for (int i = 0; i < 12; ++i) {
    rig.commit(0, "value");
    rig.advance();
  }
  std::uint64_t seed = 0;
  rig.files().set_observer([&](FileCall, const std::string& path) {
    if (testing::Test::HasFailure()) return;
    EXPECT_EQ(rig.judge_power_loss(seed += 100, 20), "") << "before a call for " << path;
  });
  EXPECT_TRUE(rig.remove_until(rig.durable().current()).ok());
}

TEST(Logger, EntriesStayInTheirRingUntilTheEpochEndsOrItFillsUp) {
  LoggerRig rig({.workers = 2, .segment_bytes = 1 << 20, .ring_bytes = 64 << 10});
  ASSERT_TRUE(rig.open().ok());
  const auto drained = [&rig] { return rig.logger(0).counters().entries.load(); };
  rig.commit(0, "a");
  rig.commit(1, "b");
  rig.logger(0).step();
  EXPECT_EQ(drained(), 0u);
  rig.logger(0).step(/*urgent=*/true);
  EXPECT_EQ(drained(), 2u);
  rig.commit(1, "stays");
  const std::string value(1000, 'v');
  for (int i = 0; i < 16; ++i) rig.commit(0, value);  // a quarter of the first ring
  rig.logger(0).step();
  EXPECT_EQ(drained(), 2u + 16u) << "the full one is drained, the other is not";
  rig.commit(0, "c");
  rig.advance();
  EXPECT_EQ(drained(), 2u + 16u + 2u);
  EXPECT_EQ(rig.judge_process_crash(), "");
}

TEST(Logger, AFullRingEmptiesWhileTheEpochStands) {
  LoggerRig rig({.workers = 1, .ring_bytes = 4096});
  ASSERT_TRUE(rig.open().ok());
  const epoch::Epoch epoch = rig.epochs().current();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rig.commit(0, std::string(500, 'v')), epoch);
  EXPECT_LT(rig.durable().current(), epoch);
  rig.advance();
  EXPECT_EQ(rig.decode(*rig.files().power_loss_image(Survives::kSynced)).replayed().size(), 100u);
  EXPECT_EQ(rig.logger(0).counters().entries.load(), 100u);
}

/// It was preempted between its look at E and its store, and has not looked again.
TEST(Logger, AFullRingEmptiesWhileAnotherWorkerShowsAnOldEpoch) {
  LoggerRig rig({.workers = 1, .ring_bytes = 4096});
  ASSERT_TRUE(rig.open().ok());
  const epoch::Epoch old = rig.epochs().current();
  for (int i = 0; i < 5; ++i) rig.advance();
  epoch::Slot* const late = rig.epochs().acquire_slot();
  rig.epochs().tick();
  late->local.store(old);
  rig.commit(0, std::string(3000, 'v'));
  ASSERT_FALSE(rig.has_room(0));
  rig.logger(0).step(/*urgent=*/true);
  EXPECT_TRUE(rig.has_room(0));
  late->local.store(epoch::kIdle);
}

/// A recovery reads a segment as a whole, and an epoch lasts as long as a node of the cluster stands still.
TEST(Logger, SegmentsEndWhileTheEpochStands) {
  constexpr std::uint64_t kSegment = 8192, kRing = 4096;
  for (const std::optional<log::Codec> codec : {std::optional<log::Codec>(), std::optional(log::Codec::kLz4)}) {
    LoggerRig rig({.segment_bytes = kSegment, .codec = codec, .ring_bytes = kRing});
    ASSERT_TRUE(rig.open().ok());
    const epoch::Epoch before = rig.commit(0, "before");
    rig.advance();
    EXPECT_EQ(rig.durable().current(), before);
    const epoch::Epoch epoch = rig.epochs().current();
    std::mt19937_64 random(1);
    for (int i = 0; i < 200; ++i) {
      std::string value(500, '\0');
      for (char& byte : value) byte = static_cast<char>(random());
      EXPECT_EQ(rig.commit(i % 2, value), epoch);
    }
    EXPECT_GT(rig.logger(0).segments(), 5u);
    for (const std::string& path : rig.files().paths())
      EXPECT_LT(rig.files().contents(path).size(), kSegment + 2 * kRing + 4096) << path;
    EXPECT_EQ(rig.judge_process_crash(), "");
    EXPECT_EQ(rig.judge_power_loss(1, 20), "");
    rig.advance();
    EXPECT_EQ(rig.durable().current(), epoch);
    EXPECT_EQ(rig.decode(*rig.files().power_loss_image(Survives::kSynced)).replayed().size(), 201u);
    EXPECT_EQ(rig.judge_power_loss(1, 20), "");
  }
}

/// A logger that is alone does not mark idle epochs, and the next segment begins with the last one.
TEST(Logger, ASegmentThatEndsWithinAnEpochHasTheMarkerOfTheNext) {
  LoggerRig rig({.segment_bytes = 8192, .ring_bytes = 4096});
  ASSERT_TRUE(rig.open().ok());
  rig.commit(0, "before");
  for (int idle = 0; idle < 4; ++idle) rig.advance();
  for (int i = 0; i < 60; ++i) rig.commit(i % 2, std::string(500, 'v'));
  EXPECT_GT(rig.logger(0).segments(), 2u);
  rig.advance();
  EXPECT_EQ(rig.judge_power_loss(1, 20), "");
  const auto image = rig.files().power_loss_image(Survives::kSynced);
  EXPECT_EQ(rig.decode(*image).replayed().size(), 61u);
}

class LoggerCodec : public testing::TestWithParam<std::optional<log::Codec>> {};

TEST_P(LoggerCodec, EntriesOfAnySizeComeBack) {
  LoggerRig rig({.codec = GetParam(), .ring_bytes = std::uint64_t{8} << 20});
  ASSERT_TRUE(rig.open().ok());
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 1000u, 1u << 20, 3u << 20}) rig.commit(0, std::string(bytes, 'v'));
  for (int i = 0; i < 3000; ++i) rig.commit(1, std::string(900, 'v'));  // several buffers in one turn
  rig.advance();
  const auto image = rig.files().power_loss_image(Survives::kSynced);
  EXPECT_EQ(rig.judge(*image), "");
  const auto left = rig.decode(*image);
  EXPECT_EQ(left.replayed().size(), rig.committed());
  EXPECT_EQ(left.loggers[0].packed != 0, GetParam().has_value());
  if (GetParam()) {
    EXPECT_LT(bytes_of(rig), std::uint64_t{1} << 20) << "seven MB of one letter";
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, LoggerCodec, testing::Values(std::nullopt, log::Codec::kLz4, log::Codec::kZstd));

}  // namespace
}  // namespace granary::tests
