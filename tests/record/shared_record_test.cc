// The layout of shared records and their state word.

#include "src/record/shared_record.h"

#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace granary::record {
namespace {

constexpr Holder kHolder{.node = 0xABC, .generation = 0x1234, .worker = 0xEF, .sequence = 0x5555555};

TEST(StateWord, AnXLockNamesItsHolder) {
  const StateWord word = x_lock_word(kHolder);
  EXPECT_TRUE(is_x_locked(word));
  EXPECT_FALSE(is_lease(word));
  EXPECT_EQ(holder_of(word), kHolder);
  EXPECT_TRUE(is_x_locked(x_lock_word({}))) << "even of the first worker of node 0 it is not the free word";
}

TEST(StateWord, HoldersThatDifferHaveDifferentWords) {
  for (const Holder& other : {Holder{0xABD, 0x1234, 0xEF, 0x5555555}, Holder{0xABC, 0x1235, 0xEF, 0x5555555},
                              Holder{0xABC, 0x1234, 0xEE, 0x5555555}, Holder{0xABC, 0x1234, 0xEF, 0x5555556}}) {
    EXPECT_NE(x_lock_word(other), x_lock_word(kHolder));
  }
}

TEST(StateWord, FieldsThatOverflowStayInTheirPlace) {
  const Holder wide{.node = 1, .generation = 0x10002, .worker = 3, .sequence = (1u << kHolderSequenceBits) + 4};
  EXPECT_EQ(holder_of(x_lock_word(wide)), (Holder{1, 2, 3, 4}));
}

TEST(StateWord, ALeaseTellsItsEnd) {
  const std::uint64_t end = 1'900'000'000'000'000;
  EXPECT_TRUE(is_lease(lease_word(end)));
  EXPECT_FALSE(is_x_locked(lease_word(end)));
  EXPECT_EQ(lease_end_us(lease_word(end)), end);
  EXPECT_FALSE(is_lease(kFree));
}

TEST(SharedRecord, TheHeaderIsLaidOutForOneSidedOperations) {
  EXPECT_EQ(offsetof(SharedRecord, state_word), 0u) << "loaded first by an ascending copy";
  EXPECT_EQ(offsetof(SharedRecord, head) + offsetof(Record, previous_word), 8u);
  EXPECT_EQ(offsetof(SharedRecord, head) + offsetof(Record, tid_word), 16u);
  EXPECT_EQ(offsetof(SharedRecord, head) + offsetof(Record, size_word), 24u);
  EXPECT_EQ(offsetof(SharedRecord, check_word), 32u);
  EXPECT_EQ(offsetof(SharedRecord, owner_rts_word), 40u);
  EXPECT_EQ(shared_value_offset(8), 56u);
  EXPECT_EQ(shared_value_offset(9), 64u);
  EXPECT_EQ(shared_record_bytes(8, 100), 160u);
}

TEST(SharedRecord, TheAddressTellsItFromALocalOne) {
  alignas(kSharedGrain) std::array<std::uint64_t, 16> block{};
  auto* shared = reinterpret_cast<SharedRecord*>(block.data());
  EXPECT_TRUE(is_shared(&shared->head));
  EXPECT_EQ(&shared_of(shared->head), shared);
  EXPECT_FALSE(is_shared(reinterpret_cast<Record*>(block.data())));
  EXPECT_FALSE(is_shared(reinterpret_cast<Record*>(block.data() + 4))) << "the next block of 32 bytes";
  EXPECT_EQ(value_words(*shared, 8), block.data() + 7);
}

TEST(SharedRecord, TheFingerprintCoversTheLength) {
  EXPECT_NE(key_fingerprint("abc"), key_fingerprint(std::string_view("abc\0", 4)));
  EXPECT_NE(key_fingerprint("abc"), key_fingerprint("abd"));
}

TEST(SharedRecord, SizeAndIncarnationComeBack) {
  const std::uint64_t word = make_size_word(kIncarnationMax, kSizeMask);
  EXPECT_EQ(incarnation_of(word), kIncarnationMax);
  EXPECT_EQ(size_of(word), kSizeMask);
  EXPECT_EQ(fingerprint_of(make_check_word(0x89ABCDEF, 0x01234567)), 0x89ABCDEFu);
  EXPECT_EQ(checksum_of(make_check_word(0x89ABCDEF, 0x01234567)), 0x01234567u);
}

}  // namespace
}  // namespace granary::record
