// One lock of a dead node is settled at its home, over a simulated fabric: each state that the record may be in. Whole
// transactions of a node that dies are in settle_all_test.cc.

#include "src/cluster/recovery/settle.h"

#include <gtest/gtest.h>

#include "src/cluster/record_access/checked_read.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/regions.h"
#include "tests/cluster/record_access/sim_nodes.h"
#include "tests/cluster/record_access/versions.h"

namespace granary::cluster {
namespace {

using record::kAbsent;
using record::kFree;
using record::kLatest;
using record::kLocked;
using LockEnd = Settle::LockEnd;

constexpr std::uint64_t kIncarnation = (std::uint64_t{1} << 20) + 3;
constexpr std::uint64_t kPlace = 4096;
constexpr rdma::NodeId kDead = 9;

class SettleTest : public testing::TestWithParam<std::string> {
 protected:
  SettleTest() {
    record_.make(kIncarnation, kTid, kValue);
    set_state(word_);
  }

  void set_state(record::StateWord word) { base::store_word(&record_.shared().state_word, word); }
  log::Debt undecided() const {
    return {.node = kOwner, .table = 0, .key = record_.key(), .state_offset = kPlace, .word = word_, .version = {}};
  }
  log::Debt decided(record::TidWord tid = kNewTid, const std::string& value = kNewValue) const {
    log::Debt debt = undecided();
    debt.version = {.tid = record::tid_of(tid), .removed = false, .value = value};
    return debt;
  }
  Settle step(const log::Debt& debt, const std::function<bool()>& may_act) {
    return {debt,
            {.node = kOwner, .region = kDataRegion, .generation = 1},
            nodes_.remote().buffer(Settle::buffer_bytes(debt)),
            may_act};
  }
  LockEnd settle(const log::Debt& debt) {
    const std::function<bool()> may_act = [] { return true; };
    Settle settle = step(debt, may_act);
    nodes_.run({&settle});
    EXPECT_EQ(settle.outcome(), AccessOutcome::kDone);
    return settle.lock_end();
  }
  /// The bytes of the record without its state.
  std::string bytes() const {
    const char* const begin = nodes_.region->base() + kPlace;
    return {begin + base::kWord, begin + record_.remote(kOwner).bytes()};
  }
  void expect_version(record::TidWord tid, const std::string& value) {
    EXPECT_EQ(record_.state(), kFree);
    EXPECT_EQ(record_.tid(), tid);
    EXPECT_EQ(record_.incarnation(), kIncarnation);
    CheckedRead read(record_.remote(kOwner), nodes_.remote().buffer(record_.remote(kOwner).bytes()));
    nodes_.run({&read});
    ASSERT_EQ(read.outcome(), AccessOutcome::kDone) << "the checksum fits";
    EXPECT_EQ(read.value(), value);
  }

  SimNodes nodes_{{.seed = 7}, 1};
  OwnedRecord record_{nodes_.region->base(), kPlace, GetParam()};
  HolderWords words_{kDead, 1, 0};
  const record::StateWord word_ = words_.next();
};

INSTANTIATE_TEST_SUITE_P(Keys, SettleTest,
                         testing::Values(std::string("8 bytes."),
                                         std::string("a key that crosses a line's end, as it is long")),
                         [](const auto& key) { return key.param.size() == 8 ? "Short" : "Long"; });

TEST_P(SettleTest, WhatIsUndecidedIsFreedUnchanged) {
  const std::string before = bytes();
  EXPECT_EQ(settle(undecided()), LockEnd::kFreed);
  EXPECT_EQ(record_.state(), kFree);
  EXPECT_EQ(bytes(), before);
}

TEST_P(SettleTest, WhatIsDecidedIsWrittenAndFreed) {
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  expect_version(kNewTid, kNewValue);
  EXPECT_EQ(record_.read(), kNewValue) << "for its owner";
}

TEST_P(SettleTest, AValueMayBeEmptyOrTheGreatest) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{kMaxValue}}) {
    set_state(word_);
    EXPECT_EQ(settle(decided(kNewTid, std::string(bytes, 'g'))), LockEnd::kRedone);
    expect_version(kNewTid, std::string(bytes, 'g'));
  }
}

TEST_P(SettleTest, ARemovalLeavesAnAbsentRecord) {
  log::Debt debt = decided(kNewTid, "");
  debt.version->removed = true;
  EXPECT_EQ(settle(debt), LockEnd::kRedone);
  EXPECT_EQ(record_.state(), kFree);
  EXPECT_EQ(record_.tid(), kNewTid | kAbsent);
}

/// The words of a WRITE land in any order: the TID word may be there without the value, or the value without it.
TEST_P(SettleTest, AHalfDoneWriteBackIsRepaired) {
  base::store_word(&record_.shared().head.tid_word, kNewTid);
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  expect_version(kNewTid, kNewValue);

  record_.install(kTid, kValue);
  set_state(word_);
  record::value_words(record_.shared(), record_.key().size())[3] ^= 1;
  base::store_word(&record_.shared().head.size_word, record::make_size_word(kIncarnation, kNewValue.size()));
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  expect_version(kNewTid, kNewValue);
}

TEST_P(SettleTest, OneThatWasNotFreedYetIsWrittenOnceMore) {
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  set_state(word_);
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  expect_version(kNewTid, kNewValue);
}

TEST_P(SettleTest, ANewerVersionIsKept) {
  const std::string newer(100, 'w');
  record_.install(kNewTid + 8, newer);
  EXPECT_EQ(settle(decided()), LockEnd::kFreed);
  expect_version(kNewTid + 8, newer);
}

TEST_P(SettleTest, ANewerRemovalIsKept) {
  record_.install((kNewTid + 8) | kAbsent, "");
  EXPECT_EQ(settle(decided()), LockEnd::kFreed);
  EXPECT_EQ(record_.tid(), (kNewTid + 8) | kAbsent);
  EXPECT_EQ(record_.state(), kFree);
}

TEST_P(SettleTest, APlaceThatIsAnotherKeysByNowIsOnlyFreed) {
  const std::string key = record_.key();
  for (const std::string& other : {key.substr(1) + "x", key.substr(1), key + "x"}) {
    OwnedRecord there(nodes_.region->base(), kPlace, other);
    there.make(kIncarnation + 1, kTid, kValue);
    set_state(word_);
    const std::string before = bytes();
    EXPECT_EQ(settle(decided()), LockEnd::kFreed) << other;
    EXPECT_EQ(record_.state(), kFree);
    EXPECT_EQ(bytes(), before);
  }
}

/// The dead node had taken the record's lock when its owner had ended the record's life: nobody finds it, and nothing
/// is written there.
TEST_P(SettleTest, ARecordWhoseLifeHasEndedIsOnlyFreed) {
  set_state(kFree);
  record::TidWord before = 0;
  ASSERT_TRUE(record_.lock(&before));
  record_.unhook();
  set_state(word_);
  const std::string ended = bytes();
  EXPECT_EQ(settle(decided()), LockEnd::kFreed);
  EXPECT_EQ(bytes(), ended);
  EXPECT_EQ(record_.state(), kFree);
}

/// Another lock of the dead life, one of its next life, another node's, a lease, and none.
TEST_P(SettleTest, AnyOtherWordIsLeftAlone) {
  const std::string before = bytes();
  for (const record::StateWord other : {words_.next(), HolderWords(kDead, 2, 0).next(),
                                        HolderWords(kOwner, 1, 0).next(), record::lease_word(1'000'000), kFree}) {
    set_state(other);
    for (const log::Debt& debt : {undecided(), decided()}) EXPECT_EQ(settle(debt), LockEnd::kSettledBefore);
    EXPECT_EQ(record_.state(), other);
    EXPECT_EQ(bytes(), before);
  }
}

TEST_P(SettleTest, TwiceGivesTheSame) {
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  EXPECT_EQ(settle(decided()), LockEnd::kSettledBefore);
  expect_version(kNewTid, kNewValue);
}

/// It has set its lock bit and looks at the state only then: the write-back wipes the bit out, and the owner backs off
/// (I2).
TEST_P(SettleTest, AnOwnerThatTriesMeanwhileBacksOff) {
  record_.shared().head.store_tid(kTid | kLocked);
  EXPECT_EQ(settle(decided()), LockEnd::kRedone);
  expect_version(kNewTid, kNewValue);
}

TEST_P(SettleTest, WhoMayNotActAnyMoreChangesNothing) {
  const std::string before = bytes();
  const std::function<bool()> may_not = [] { return false; };
  for (const log::Debt& debt : {undecided(), decided()}) {
    Settle settle = step(debt, may_not);
    nodes_.run({&settle});
    EXPECT_EQ(settle.outcome(), AccessOutcome::kDone);
    EXPECT_EQ(settle.lock_end(), LockEnd::kNotAllowed);
    EXPECT_EQ(record_.state(), word_);
    EXPECT_EQ(bytes(), before);
  }
}

TEST_P(SettleTest, APlaceOutsideOfTheRegionIsRefused) {
  log::Debt debt = decided();
  debt.state_offset = nodes_.region->size();
  const std::function<bool()> may_act = [] { return true; };
  Settle settle = step(debt, may_act);
  nodes_.run({&settle});
  EXPECT_EQ(settle.outcome(), AccessOutcome::kRefused);
}

/// Whenever the connection breaks, the next one shows what is left to do.
TEST_P(SettleTest, GoesOnOverAnotherConnection) {
  unsigned broken = 0;
  for (std::uint64_t after = 0; after < 120'000; after += 1'000) {
    set_state(kFree);
    record_.install(kTid, kValue);
    set_state(word_);
    const log::Debt debt = decided();
    const std::function<bool()> may_act = [] { return true; };
    Settle settle = step(debt, may_act);
    nodes_.scheduler.spawn(
        [this, after] { nodes_.network.schedule(2, after, [this] { nodes_.network.lose_connections(2, kOwner); }); });
    nodes_.run({&settle});
    nodes_.network.run_for(200'000);
    broken += settle.outcome() == AccessOutcome::kBroken ? 1 : 0;
    ASSERT_TRUE(nodes_.remote().peers().connect(kOwner, 0).ok());
    EXPECT_NE(this->settle(debt), LockEnd::kFreed);
    expect_version(kNewTid, kNewValue);
  }
  EXPECT_GT(broken, 10u);
}

}  // namespace
}  // namespace granary::cluster
