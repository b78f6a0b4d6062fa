// These tests pin down what the upper bits of a local record's size word mean (src/record/rts.h).

#include <gtest/gtest.h>

#include "src/record/rts.h"

namespace granary::record {
namespace {

TEST(Rts, KeepsTheSizeAndTellsTheTime) {
  const TidWord rts = make_tid(5000, 77);
  const std::uint64_t word = with_rts(1234, rts);
  EXPECT_EQ(word & kSizeMask, 1234u);
  EXPECT_FALSE(is_frozen(word));
  EXPECT_TRUE(is_frozen(word | kFrozen));
  EXPECT_EQ(rts_of(word, 5000), rts);
  EXPECT_EQ(rts_of(word | kFrozen, 5000), rts);
  EXPECT_EQ(rts_of(word, 5000 + kRtsEpochs - 2), rts);
}

TEST(Rts, HasRoomForTheLastSequence) {
  const TidWord rts = make_tid(4095, kMaxSequence);
  EXPECT_EQ(rts_of(with_rts(kSizeMask, rts), 4095), rts);
  EXPECT_EQ(with_rts(kSizeMask, rts) & kSizeMask, kSizeMask);
}

TEST(Rts, OldBitsMeanTheGreatestEpochThatIsNotAfterE) {
  const std::uint64_t word = with_rts(8, make_tid(5000, 9));
  EXPECT_EQ(rts_of(word, 5000 + kRtsEpochs), make_tid(5000 + kRtsEpochs, 9));
  EXPECT_EQ(rts_of(word, 4999 + kRtsEpochs), make_tid(5000, 9)) << "which has the bits of the next epoch";
  EXPECT_EQ(rts_of(word, 5001 + kRtsEpochs), make_tid(5000 + kRtsEpochs, 9));
}

TEST(Rts, NothingIsBeforeTheFirstEpoch) {
  EXPECT_EQ(rts_of(with_rts(8, make_tid(10, 3)), 4), 0u) << "there was no such epoch yet";
  EXPECT_EQ(rts_of(0, 4), make_tid(0, 0));
}

}  // namespace
}  // namespace granary::record
