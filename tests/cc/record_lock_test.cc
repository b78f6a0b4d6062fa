// The lock of two-phase locking as a word, and who waits for whom.

#include <gtest/gtest.h>

#include "src/cc/two_pl/record_lock.h"

namespace granary::cc::two_pl {
namespace {

constexpr OwnerSet kMe = 1, kOther = OwnerSet{1} << (kOwners - 1);
constexpr std::uint64_t kSize = 1234;

TEST(RecordLock, ReadersShareIt) {
  const std::uint64_t one = taken_by(kSize, kMe, Kind::kShared);
  EXPECT_TRUE(may_have(one, kOther, Kind::kShared));
  const std::uint64_t both = taken_by(one, kOther, Kind::kShared);
  EXPECT_EQ(holders_of(both), kMe | kOther);
  EXPECT_EQ(both & record::kSizeMask, kSize);
  EXPECT_FALSE(may_have(both, kMe, Kind::kExclusive));
  EXPECT_EQ(in_the_way(both, kMe), kOther);
}

TEST(RecordLock, AWriterIsAlone) {
  const std::uint64_t mine = taken_by(taken_by(kSize, kMe, Kind::kShared), kMe, Kind::kExclusive);
  EXPECT_TRUE(holds(mine, kMe, Kind::kExclusive));
  EXPECT_TRUE(holds(mine, kMe, Kind::kShared));
  EXPECT_FALSE(holds(mine, kOther, Kind::kShared));
  EXPECT_FALSE(may_have(mine, kOther, Kind::kShared));
  EXPECT_EQ(in_the_way(mine, kOther), kMe);
}

TEST(RecordLock, AWriterThatWaitsKeepsNewReadersAway) {
  record::Record record{};
  record.size_word = taken_by(kSize, kMe, Kind::kShared);
  set_wanted(record, true);
  EXPECT_FALSE(may_have(record.size_word, kOther, Kind::kShared));
  EXPECT_TRUE(may_have(record.size_word, kMe, Kind::kExclusive));
  EXPECT_EQ(taken_by(record.size_word, kMe, Kind::kExclusive), taken_by(kSize, kMe, Kind::kExclusive));
  set_wanted(record, false);
  EXPECT_TRUE(may_have(record.size_word, kOther, Kind::kShared));
  record.size_word = taken_by(kSize, kMe, Kind::kExclusive);
  set_wanted(record, true);
  EXPECT_EQ(record.size_word, taken_by(kSize, kMe, Kind::kExclusive)) << "which only the holder may change";
}

TEST(RecordLock, GivenBackItIsAsBefore) {
  record::Record record{};
  record.size_word = taken_by(taken_by(kSize, kMe, Kind::kShared), kOther, Kind::kShared);
  let_go(record, kMe);
  EXPECT_EQ(holders_of(record.size_word), kOther);
  record.size_word = taken_by(kSize, kOther, Kind::kExclusive);
  let_go(record, kOther);
  EXPECT_EQ(record.size_word, kSize);
}

TEST(Owners, AreDifferentAndComeBack) {
  Owners owners;
  OwnerSet all = 0;
  for (std::uint32_t i = 0; i < kOwners; ++i) {
    const OwnerSet one = owners.take();
    ASSERT_NE(one, 0u);
    EXPECT_EQ(all & one, 0u);
    all |= one;
  }
  EXPECT_EQ(owners.take(), 0u);
  owners.give_back(kMe);
  EXPECT_EQ(owners.take(), kMe);
}

TEST(Owners, OneOfACircleOfAnyLengthGivesWay) {
  Owners owners;
  constexpr OwnerSet kA = 1, kB = 2, kC = 4, kD = 8;
  EXPECT_FALSE(owners.must_abort(kA, kB));
  EXPECT_FALSE(owners.must_abort(kB, kC | kD));
  EXPECT_FALSE(owners.must_abort(kD, 0)) << "it is waited for, but waits for nobody";
  EXPECT_TRUE(owners.must_abort(kC, kD | kA));
  EXPECT_FALSE(owners.must_abort(kA, kB)) << "of A, B and C the last must abort";
  EXPECT_FALSE(owners.must_abort(kB, kC | kD));
  owners.waits_no_more(kC);
  EXPECT_FALSE(owners.must_abort(kA, kB)) << "C waits for nobody any more";
  EXPECT_TRUE(owners.must_abort(kD, kB)) << "which waits for D";
}

}  // namespace
}  // namespace granary::cc::two_pl
