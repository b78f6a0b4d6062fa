// The end of a segment after a sync that failed: the system shows bytes that the device never got.

#include "recovery/segment_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/log/ring.h"
#include "tests/support/fault_files.h"
#include "tests/support/ring_directory.h"

namespace granary::recovery {
namespace {

using testing::IsEmpty;
using testing::Not;
using tests::Fault;
using tests::FaultFiles;
using tests::FileCall;
using tests::Survives;

class SegmentEnd : public testing::Test {
 protected:
  SegmentEnd() {
    segment_.path = "/log/segment";
    segment_.name.sequence = 3;
    segment_.name.logger = 1;
    EXPECT_TRUE(files_.make_directory("/log").ok());
    auto file = files_.create(segment_.path).value();
    EXPECT_TRUE(file->append(synced_).ok());
    EXPECT_TRUE(file->sync().ok());
    EXPECT_TRUE(files_.sync_directory("/log").ok());
    EXPECT_TRUE(file->append(lost_).ok());
    files_.plan({.call = FileCall::kSync, .pages_lost = true});
    EXPECT_FALSE(file->sync().ok());
    EXPECT_TRUE(file->sync().ok()) << "later ones know nothing of it";
    segment_.end = synced_.size() + lost_.size();
  }

  /// Of a worker whose bytes are in the log of `logger`, synced up to `synced`.
  void add_ring(std::uint32_t worker, std::uint32_t logger, log::Position synced) {
    auto ring =
        log::Ring::create(rings_.path() + "/" + log::ring_name(worker), {.worker = worker, .logger = logger}, 4096);
    ASSERT_TRUE(ring.ok()) << ring.status().message();
    (*ring)->publish(8);
    (*ring)->drained(8);
    (*ring)->give_room(synced);
    survey_.rings.rings.push_back(std::move(*ring));
  }

  std::string after_power_loss() const { return files_.power_loss_image(Survives::kSynced)->contents(segment_.path); }
  std::string whole() const { return synced_ + lost_; }

  const std::string synced_ = std::string(5000, 's'), lost_ = std::string(3000, 'l');
  FaultFiles files_;
  tests::RingDirectory rings_;
  LogSurvey survey_;
  LogSegment segment_;
};

TEST_F(SegmentEnd, WithoutRingsAllIsWrittenOnceMore) {
  ASSERT_NE(after_power_loss(), whole());
  ASSERT_TRUE(rewrite_end(files_, survey_, segment_, segment_.end).ok());
  EXPECT_EQ(after_power_loss(), whole());
}

TEST_F(SegmentEnd, BehindWhatARingSaysIsWrittenOnceMore) {
  add_ring(0, 1, {3, 4000});
  add_ring(1, 1, {3, synced_.size()});
  add_ring(2, 0, {3, segment_.end});  // another logger's
  add_ring(3, 1, {2, segment_.end});  // another segment's
  const std::uint64_t renamed = files_.calls(FileCall::kRename);
  ASSERT_TRUE(rewrite_end(files_, survey_, segment_, segment_.end).ok());
  EXPECT_EQ(after_power_loss(), whole());
  EXPECT_EQ(files_.calls(FileCall::kRename), renamed) << "the file was not replaced";
}

TEST_F(SegmentEnd, ATornTailIsTakenAway) {
  segment_.faults.emplace_back();
  survey_.scan.tails.push_back({.path = segment_.path, .offset = 7000, .bytes = 1000, .cause = "torn"});
  ASSERT_TRUE(rewrite_end(files_, survey_, segment_, 7000).ok());
  EXPECT_EQ(after_power_loss(), whole().substr(0, 7000));
}

TEST_F(SegmentEnd, ATornTailBehindARingsPositionBecomesZeros) {
  add_ring(0, 1, {3, synced_.size()});
  segment_.faults.emplace_back();
  survey_.scan.tails.push_back({.path = segment_.path, .offset = 7000, .bytes = 1000, .cause = "torn"});
  ASSERT_TRUE(rewrite_end(files_, survey_, segment_, 7000).ok());
  EXPECT_EQ(after_power_loss(), whole().substr(0, 7000) + std::string(1000, '\0'));
}

TEST_F(SegmentEnd, OfADamagedSegmentIsReplaced) {
  add_ring(0, 1, {3, synced_.size()});
  segment_.faults.emplace_back();
  const std::uint64_t renamed = files_.calls(FileCall::kRename);
  ASSERT_TRUE(rewrite_end(files_, survey_, segment_, segment_.end).ok());
  EXPECT_EQ(after_power_loss(), whole());
  EXPECT_EQ(files_.calls(FileCall::kRename), renamed + 1);
}

/// The segment may be larger than the memory that is left, so it is read and written in pieces.
TEST_F(SegmentEnd, OfALargeSegmentIsWrittenPieceByPiece) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string bytes(2 * kPiece + 1000, 's');
  for (std::size_t i = 0; i < bytes.size(); i += 100) bytes[i] = static_cast<char>(i / 100);
  const std::size_t end = kPiece + 500;
  survey_.scan.tails.push_back({.path = segment_.path, .offset = end, .bytes = bytes.size() - end, .cause = "torn"});
  segment_.faults.emplace_back();
  for (const bool ringed : {false, true}) {
    if (ringed) add_ring(0, 1, {3, 700});
    files_.put(segment_.path, bytes);
    const std::uint64_t appends = files_.calls(FileCall::kAppend);
    ASSERT_TRUE(rewrite_end(files_, survey_, segment_, end).ok());
    EXPECT_EQ(after_power_loss(), bytes.substr(0, end) + std::string(ringed ? bytes.size() - end : 0, '\0'));
    EXPECT_EQ(files_.calls(FileCall::kAppend) - appends, ringed ? 3u : 2u);
  }
}

TEST_F(SegmentEnd, ACrashMeanwhileLeavesWhatWasSynced) {
  add_ring(0, 1, {3, synced_.size()});
  for (const FileCall call : {FileCall::kAppend, FileCall::kSync, FileCall::kRead, FileCall::kOpen}) {
    files_.plan({.call = call});
    EXPECT_THAT(rewrite_end(files_, survey_, segment_, segment_.end).message(), Not(IsEmpty()));
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const std::string left = files_.power_loss_image(Survives::kRandom, seed)->contents(segment_.path);
      EXPECT_EQ(left.substr(0, synced_.size()), synced_);
    }
  }
}

}  // namespace
}  // namespace granary::recovery
