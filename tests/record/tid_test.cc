// The TID word: its fields tile 64 bits, come back as they went in, and order as epoch, then sequence.

#include "src/record/tid.h"

#include <random>

#include <gtest/gtest.h>

namespace granary::record {
namespace {

TEST(Tid, FieldsComeBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t epoch = random() & kMaxEpoch;
    const std::uint64_t sequence = random() & kMaxSequence;
    const TidWord status = random() & kStatusMask;
    const TidWord word = make_tid(epoch, sequence) | status;
    ASSERT_EQ(epoch_of(word), epoch);
    ASSERT_EQ(sequence_of(word), sequence);
    ASSERT_EQ(tid_of(word), make_tid(epoch, sequence));
    ASSERT_EQ(is_locked(word), (status & kLocked) != 0);
    ASSERT_EQ(is_latest(word), (status & kLatest) != 0);
    ASSERT_EQ(is_absent(word), (status & kAbsent) != 0);
  }
}

/// The figures of the documents, and of docs/log-format.md for readers of others.
TEST(Tid, HasThirtyFourBitsOfEpochAndTwentySevenOfSequence) {
  EXPECT_EQ(make_tid(1, 0), TidWord{1} << 30);
  EXPECT_EQ(make_tid(0, 1), TidWord{1} << 3);
  EXPECT_EQ(kMaxEpoch, (std::uint64_t{1} << 34) - 1);
  EXPECT_EQ(kMaxSequence, (std::uint64_t{1} << 27) - 1);
}

TEST(Tid, ExtremesFit) {
  EXPECT_EQ(make_tid(kMaxEpoch, kMaxSequence) | kStatusMask, ~TidWord{0});
  EXPECT_EQ(make_tid(0, 0), 0u);
  EXPECT_EQ(epoch_of(make_tid(kMaxEpoch, 0)), kMaxEpoch);
  EXPECT_EQ(sequence_of(make_tid(0, kMaxSequence)), kMaxSequence);
}

TEST(Tid, OrdersByEpochThenSequence) {
  EXPECT_LT(make_tid(1, kMaxSequence), make_tid(2, 0));
  EXPECT_LT(make_tid(2, 1), make_tid(2, 2));
  EXPECT_EQ(make_tid(2, 1) + make_tid(0, 1), make_tid(2, 2));
  EXPECT_LT(make_tid(2, 1) | kStatusMask, make_tid(2, 2)) << "status bits never outweigh the TID";
}

}  // namespace
}  // namespace granary::record
