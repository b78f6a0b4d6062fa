// Each outcome of each step over a simulated fabric, one step at a time; several at once are in hammer_test.cc.

#include <gtest/gtest.h>

#include "src/cluster/record_access/checked_read.h"
#include "src/cluster/record_access/header_read.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "tests/cluster/record_access/sim_nodes.h"
#include "tests/cluster/record_access/versions.h"

namespace granary::cluster {
namespace {

using record::kAbsent;
using record::kFree;
using record::kLatest;
using record::kLocked;
using record::make_tid;

constexpr std::uint64_t kIncarnation = (std::uint64_t{1} << 20) + 3;

class Access : public testing::TestWithParam<std::string> {
 protected:
  Access() { record_.make(kIncarnation, kTid, kValue); }

  /// Stands for another node's x-lock.
  void set_state(record::StateWord word) { base::store_word(&record_.shared().state_word, word); }
  RemoteRecord remote() const { return record_.remote(kOwner); }
  CheckedRead reader(const RemoteRecord& record) { return {record, buffer(record.bytes())}; }
  XLock locker(const RemoteRecord& record) {
    return {record, words_.next(), buffer(XLock::buffer_bytes(record.key.size())), expired_};
  }
  Release releaser(record::StateWord mine) {
    return {remote(), mine, record::kFree, buffer(Release::buffer_bytes(record_.key().size(), kMaxValue))};
  }
  void* buffer(std::size_t bytes) { return nodes_.remote().buffer(bytes); }
  AccessOutcome outcome_of(AccessStep& step, std::function<void()> between = {}) {
    nodes_.run({&step}, std::move(between));
    return step.outcome();
  }
  /// Acts so long after the next step has begun: time passes as soon as nobody runs, so it is not before a fiber does.
  void at(std::uint64_t after, std::function<void()> act) {
    nodes_.scheduler.spawn([this, after, act = std::move(act)] { nodes_.network.schedule(2, after, act); });
  }
  void lose_connection(std::uint64_t after) {
    at(after, [this] { nodes_.network.lose_connections(2, kOwner); });
  }
  void reconnect() { ASSERT_TRUE(nodes_.remote().peers().connect(kOwner, 0).ok()); }

  SimNodes nodes_{{.seed = 7}, 1};
  OwnedRecord record_{nodes_.region->base(), 4096, GetParam()};
  HolderWords words_{2, 1, 0};
  const record::StateWord other_ = HolderWords(3, 1, 0).next();
  LeaseExpired expired_;
};

INSTANTIATE_TEST_SUITE_P(Keys, Access,
                         testing::Values(std::string("8 bytes."),
                                         std::string("a key that crosses a line's end, as it is long")),
                         [](const auto& key) { return key.param.size() == 8 ? "Short" : "Long"; });

TEST_P(Access, AReadBringsTheValue) {
  RemoteRecord place = RemoteRecord::at_entry(remote().at.plus(8), record_.key(), kIncarnation, kMaxValue);
  CheckedRead read = reader(place);
  ASSERT_EQ(outcome_of(read), AccessOutcome::kDone);
  EXPECT_EQ(read.value(), kValue);
  EXPECT_EQ(read.tid(), kTid);
  EXPECT_EQ(read.incarnation(), kIncarnation) << "whole, although only its low bits were known";
}

TEST_P(Access, AReadOfAnAbsentRecordIsMissing) {
  record_.install(kNewTid | kAbsent, "");
  CheckedRead read = reader(remote());
  EXPECT_EQ(outcome_of(read), AccessOutcome::kMissing);
  EXPECT_EQ(read.tid(), kNewTid | kAbsent);
}

TEST_P(Access, AReadTellsAnotherRecord) {
  const OwnedRecord other_key(nodes_.region->base(), 4096, record_.key().substr(1) + "x");
  RemoteRecord wanted = other_key.remote(kOwner);
  CheckedRead by_key = reader(wanted);
  EXPECT_EQ(outcome_of(by_key), AccessOutcome::kMoved);

  wanted = remote();
  wanted.incarnation += 1;
  CheckedRead by_incarnation = reader(wanted);
  EXPECT_EQ(outcome_of(by_incarnation), AccessOutcome::kMoved);

  wanted = remote();
  record_.shared().head.store_tid(kTid & ~kLatest);
  CheckedRead unhooked = reader(wanted);
  EXPECT_EQ(outcome_of(unhooked), AccessOutcome::kMoved);
}

TEST_P(Access, AReadWaitsForALockAndGivesUp) {
  for (const bool locks_bit : {false, true}) {
    const auto lock = [&] { locks_bit ? record_.shared().head.store_tid(kTid | kLocked) : set_state(other_); };
    const auto unlock = [&] { locks_bit ? record_.shared().head.store_tid(kTid) : set_state(kFree); };
    lock();
    CheckedRead vain = reader(remote());
    EXPECT_EQ(outcome_of(vain), AccessOutcome::kBusy);
    CheckedRead read = reader(remote());
    EXPECT_EQ(outcome_of(read, unlock), AccessOutcome::kDone);
    unlock();
  }
}

TEST_P(Access, AReadIsNotHinderedByALeaseNorByItsOwnLock) {
  set_state(record::lease_word(1'000'000));
  CheckedRead leased = reader(remote());
  EXPECT_EQ(outcome_of(leased), AccessOutcome::kDone);
  set_state(other_);
  CheckedRead own(remote(), buffer(remote().bytes()), other_);
  EXPECT_EQ(outcome_of(own), AccessOutcome::kDone);
}

TEST_P(Access, AReadShowsNothingThatIsTorn) {
  std::uint64_t& word = record::value_words(record_.shared(), record_.key().size())[9];
  const std::uint64_t right = word;
  word += 1;
  CheckedRead vain = reader(remote());
  EXPECT_EQ(outcome_of(vain), AccessOutcome::kBusy);
  EXPECT_EQ(vain.torn(), kMostLooks);
  CheckedRead read = reader(remote());
  EXPECT_EQ(outcome_of(read, [&] { word = right; }), AccessOutcome::kDone);
  EXPECT_EQ(read.value(), kValue);
  base::store_word(&record_.shared().head.size_word, record::make_size_word(kIncarnation, kMaxValue + 1));
  CheckedRead too_long = reader(remote());
  EXPECT_EQ(outcome_of(too_long), AccessOutcome::kBusy) << "a size that was READ counts only with the checksum";
}

TEST_P(Access, TheHeaderTellsWhetherAReadIsStillValid) {
  const auto look = [&](record::TidWord tid, std::uint64_t incarnation) {
    HeaderRead header(remote(), tid, incarnation, buffer(sizeof(record::SharedRecord)));
    return outcome_of(header);
  };
  EXPECT_EQ(look(kTid, kIncarnation), AccessOutcome::kDone);
  EXPECT_EQ(look(kNewTid, kIncarnation), AccessOutcome::kChanged);
  EXPECT_EQ(look(kTid, kIncarnation + 1), AccessOutcome::kChanged);
  record_.shared().head.store_tid(kTid | kLocked);
  EXPECT_EQ(look(kTid, kIncarnation), AccessOutcome::kBusy);
  record_.shared().head.store_tid(kTid);
  set_state(other_);
  EXPECT_EQ(look(kTid, kIncarnation), AccessOutcome::kBusy);
  HeaderRead own(remote(), kTid, kIncarnation, buffer(sizeof(record::SharedRecord)), other_);
  EXPECT_EQ(outcome_of(own), AccessOutcome::kDone);
}

TEST_P(Access, ALockNamesItsHolderAndIsGivenBack) {
  XLock lock = locker(remote());
  ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), lock.mine());
  EXPECT_EQ(record::holder_of(record_.state()),
            (record::Holder{.node = 2, .generation = 1, .worker = 0, .sequence = 1}));
  EXPECT_EQ(lock.tid(), kTid);
  EXPECT_EQ(lock.incarnation(), kIncarnation);
  record::TidWord before = 0;
  EXPECT_FALSE(record_.lock(&before)) << "the owner gives way";
  EXPECT_EQ(record_.tid(), kTid);

  XLock second = locker(remote());
  EXPECT_EQ(outcome_of(second), AccessOutcome::kBusy);
  EXPECT_EQ(second.holder(), lock.mine());

  Release release = releaser(lock.mine());
  EXPECT_EQ(outcome_of(release), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), kFree);
  EXPECT_EQ(record_.read(), kValue);
}

TEST_P(Access, ALockWaitsUntilTheOwnersBitIsGone) {
  record_.shared().head.store_tid(kTid | kLocked);
  XLock vain = locker(remote());
  EXPECT_EQ(outcome_of(vain), AccessOutcome::kBusy);
  EXPECT_EQ(vain.holder(), kFree) << "it was the owner's bit";
  EXPECT_EQ(record_.state(), kFree) << "let go";

  XLock lock = locker(remote());
  EXPECT_EQ(outcome_of(lock, [&] { record_.install(kNewTid, kNewValue); }), AccessOutcome::kDone);
  EXPECT_EQ(lock.tid(), kNewTid) << "of the owner's commit, which was first";
}

TEST_P(Access, ALockOfAnotherRecordIsLetGo) {
  RemoteRecord wanted = remote();
  wanted.incarnation += 1;
  XLock by_incarnation = locker(wanted);
  EXPECT_EQ(outcome_of(by_incarnation), AccessOutcome::kMoved);
  EXPECT_EQ(record_.state(), kFree);
  const std::string key = record_.key().substr(1) + "x";
  wanted = remote();
  wanted.key = key;
  XLock by_key = locker(wanted);
  EXPECT_EQ(outcome_of(by_key), AccessOutcome::kMoved);
  EXPECT_EQ(record_.state(), kFree);
  record_.shared().head.store_tid(kTid & ~kLatest);
  XLock unhooked = locker(remote());
  EXPECT_EQ(outcome_of(unhooked), AccessOutcome::kMoved);
  EXPECT_EQ(record_.state(), kFree);
}

TEST_P(Access, ALeaseIsTakenOverOnceItHasExpired) {
  const record::StateWord lease = record::lease_word(1'000);
  set_state(lease);
  XLock never = locker(remote());
  EXPECT_EQ(outcome_of(never), AccessOutcome::kBusy) << "nobody says that it has expired";
  EXPECT_EQ(never.holder(), lease);
  std::uint64_t now = 999;
  expired_ = [&now](std::uint64_t end_us) { return end_us < now; };
  XLock early = locker(remote());
  EXPECT_EQ(outcome_of(early), AccessOutcome::kBusy);
  now = 1'001;
  XLock lock = locker(remote());
  EXPECT_EQ(outcome_of(lock), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), lock.mine());
}

TEST_P(Access, AWriteBackReplacesTheVersionAndNothingElse) {
  base::store_word(&record_.shared().head.previous_word, 0xABCDEF);
  XLock lock = locker(remote());
  ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
  record_.shared().head.store_tid(kTid | kLocked);  // an owner that will see the x-lock
  Release release = releaser(lock.mine());
  release.set_version(kNewTid, lock.incarnation(), kNewValue);
  ASSERT_EQ(outcome_of(release), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), kFree);
  EXPECT_EQ(record_.tid(), kNewTid);
  EXPECT_EQ(record_.incarnation(), kIncarnation);
  EXPECT_EQ(record_.read(), kNewValue);
  EXPECT_EQ(base::load_word(&record_.shared().head.previous_word), 0xABCDEFu);
  CheckedRead read = reader(remote());
  ASSERT_EQ(outcome_of(read), AccessOutcome::kDone);
  EXPECT_EQ(read.value(), kNewValue);
}

TEST_P(Access, ADeleteIsAWriteBackOfAnAbsentTid) {
  XLock lock = locker(remote());
  ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
  Release release = releaser(lock.mine());
  release.set_version(kNewTid | kAbsent, lock.incarnation(), "");
  ASSERT_EQ(outcome_of(release), AccessOutcome::kDone);
  CheckedRead read = reader(remote());
  EXPECT_EQ(outcome_of(read), AccessOutcome::kMissing);
  XLock again = locker(remote());
  EXPECT_EQ(outcome_of(again), AccessOutcome::kDone) << "and is locked like any other to be born again";
  EXPECT_EQ(again.tid(), kNewTid | kAbsent);
}

TEST_P(Access, AllStepsTellABrokenConnection) {
  nodes_.network.lose_connections(2, kOwner);
  CheckedRead read = reader(remote());
  EXPECT_EQ(outcome_of(read), AccessOutcome::kBroken);
  XLock lock = locker(remote());
  EXPECT_EQ(outcome_of(lock), AccessOutcome::kBroken);
  reconnect();
  EXPECT_EQ(outcome_of(read = reader(remote())), AccessOutcome::kDone);
}

TEST_P(Access, AllStepsTellAnAddressOfAnEarlierLife) {
  const RemoteRecord before = remote();
  nodes_.end_owner();
  nodes_.network.run_for(nodes_.network.options().most_notice + 1);
  nodes_.begin_owner();
  reconnect();
  CheckedRead read = reader(before);
  EXPECT_EQ(outcome_of(read), AccessOutcome::kStale);
  XLock lock = locker(before);
  EXPECT_EQ(outcome_of(lock), AccessOutcome::kStale);
}

TEST_P(Access, APlaceOutsideOfTheRegionIsRefusedWithoutHarmToOthers) {
  RemoteRecord wild = remote();
  wild.at.offset = nodes_.region->size() - 64;
  CheckedRead refused = reader(wild);
  CheckedRead read = reader(remote());
  nodes_.run({&refused, &read});
  EXPECT_EQ(refused.outcome(), AccessOutcome::kRefused);
  EXPECT_EQ(read.outcome(), AccessOutcome::kDone);
}

/// Breaks the connection after every time from posting a lock to its completion.
TEST_P(Access, ALockWhoseCompletionWasLostIsFoundOut) {
  unsigned held = 0;
  unsigned not_held = 0;
  for (std::uint64_t after = 0; after < 60'000; after += 500) {
    XLock lock = locker(remote());
    lose_connection(after);
    if (outcome_of(lock) == AccessOutcome::kBroken) {
      reconnect();
      lock.resume();
      (outcome_of(lock) == AccessOutcome::kDone ? held : not_held) += 1;
    }
    nodes_.network.run_for(1'000'000);
    reconnect();
    if (lock.outcome() == AccessOutcome::kDone) {
      ASSERT_EQ(record_.state(), lock.mine()) << "a lock that counts as held is held";
      Release release = releaser(lock.mine());
      ASSERT_EQ(outcome_of(release), AccessOutcome::kDone);
    } else {
      ASSERT_EQ(lock.outcome(), AccessOutcome::kNotHeld);
    }
    ASSERT_EQ(record_.state(), kFree) << "after " << after;
  }
  EXPECT_GT(held, 5u);
  EXPECT_GT(not_held, 5u);
}

/// The owner commits at every time from posting a lock to its completion, unless the lock keeps it from it.
TEST_P(Access, ALockTellsTheTidThatStaysUnderIt) {
  unsigned commits = 0;
  for (std::uint64_t after = 0, sequence = 10; after < 60'000; after += 500, ++sequence) {
    XLock lock = locker(remote());
    at(after, [&] {
      record::TidWord before = 0;
      if (!record_.lock(&before)) return;
      record_.install(make_tid(3, sequence) | kLatest, kNewValue);
      ++commits;
    });
    ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
    nodes_.network.run_for(1'000'000);
    ASSERT_EQ(lock.tid(), record_.tid()) << "after " << after;
    Release release = releaser(lock.mine());
    ASSERT_EQ(outcome_of(release), AccessOutcome::kDone);
  }
  EXPECT_GT(commits, 5u);
  EXPECT_LT(commits, 100u);
}

/// Another node's write-back ends at all times from posting a look to its completion. Nobody sees its old TID unlocked.
TEST_P(Access, AnOldTidIsNotSeenWithTheStateOfLater) {
  unsigned changed = 0;
  for (std::uint64_t after = 0, sequence = 10; after < 60'000; after += 500, ++sequence) {
    const record::TidWord before = record_.tid();
    HeaderRead header(remote(), before, kIncarnation, buffer(sizeof(record::SharedRecord)));
    CheckedRead read = reader(remote());
    set_state(other_);
    at(after, [&] {
      record_.install(make_tid(3, sequence) | kLatest, kNewValue);
      set_state(kFree);
    });
    nodes_.run({&header, &read});
    nodes_.network.run_for(1'000'000);
    ASSERT_NE(header.outcome(), AccessOutcome::kDone) << "after " << after;
    ASSERT_EQ(read.outcome(), AccessOutcome::kDone);
    ASSERT_EQ(read.tid(), record_.tid()) << "after " << after;
    changed += header.outcome() == AccessOutcome::kChanged ? 1 : 0;
  }
  EXPECT_GT(changed, 5u);
}

/// The owner ends its commit at every time while the record is locked and READ.
TEST_P(Access, AnXLockThatFetchesShowsNothingTorn) {
  unsigned whole = 0;
  unsigned torn = 0;
  for (std::uint64_t after = 0, sequence = 10; after < 60'000; after += 250, ++sequence) {
    const std::string value(150, static_cast<char>('a' + sequence % 26));
    record_.shared().head.store_tid(record_.tid() | kLocked);
    at(after, [this, sequence, value] { record_.install(make_tid(3, sequence) | kLatest, value); });
    XLock lock(remote(), words_.next(), buffer(XLock::buffer_bytes(remote())), expired_, kFree, XLock::Fetch::kRecord);
    ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
    ASSERT_EQ(lock.tid(), record_.tid());
    if (lock.value()) {
      ASSERT_EQ(*lock.value(), value) << "after " << after;
    }
    ++(lock.value() ? whole : torn);
    set_state(kFree);
    nodes_.network.run_for(1'000'000);
  }
  EXPECT_GT(whole, 100u);
  EXPECT_GT(torn, 0u) << "it could have";
}

TEST_P(Access, AResumedWriteBackIsDoneOnce) {
  unsigned resumed = 0;
  for (std::uint64_t after = 0, sequence = 10; after < 60'000; after += 500, ++sequence) {
    XLock lock = locker(remote());
    ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
    Release release = releaser(lock.mine());
    const std::string value = std::to_string(sequence) + kNewValue;
    release.set_version(make_tid(3, sequence) | kLatest, lock.incarnation(), value);
    lose_connection(after);
    if (outcome_of(release) == AccessOutcome::kBroken) {
      ++resumed;
      reconnect();
      if (record_.state() == kFree) set_state(other_);  // the next one is quick
      release.resume();
      ASSERT_EQ(outcome_of(release), AccessOutcome::kDone);
      if (record_.state() != kFree) {
        ASSERT_EQ(record_.state(), other_);
        set_state(kFree);
      }
    }
    nodes_.network.run_for(1'000'000);
    reconnect();
    ASSERT_EQ(record_.read(), value) << "after " << after;
  }
  EXPECT_GT(resumed, 20u);
}

TEST_P(Access, AResumedUnlockFreesNobodyElsesLock) {
  XLock lock = locker(remote());
  ASSERT_EQ(outcome_of(lock), AccessOutcome::kDone);
  Release release = releaser(lock.mine());
  nodes_.network.lose_connections(2, kOwner);
  ASSERT_EQ(outcome_of(release), AccessOutcome::kBroken);
  reconnect();
  set_state(other_);  // as if it had taken effect, and another node had come
  release.resume();
  ASSERT_EQ(outcome_of(release), AccessOutcome::kDone);
  EXPECT_EQ(record_.state(), other_);
}

TEST_P(Access, StepsTravelTogether) {
  constexpr unsigned kRecords = 30;  // more operations than a chain has room for
  std::vector<OwnedRecord> records;
  std::vector<XLock> locks;
  std::vector<rdma::fiber::Step*> steps;
  records.reserve(kRecords);
  locks.reserve(kRecords);
  for (unsigned i = 0; i < kRecords; ++i) {
    records.emplace_back(nodes_.region->base(), 8192 + 512 * i, record_.key());
    records.back().make(i + 1, kTid, kValue);
    locks.push_back(locker(records.back().remote(kOwner)));
    steps.push_back(&locks.back());
  }
  const std::uint64_t begin = nodes_.network.now();
  nodes_.run(steps);
  const std::uint64_t together = nodes_.network.now() - begin;
  for (const XLock& lock : locks) EXPECT_EQ(lock.outcome(), AccessOutcome::kDone);
  XLock alone = locker(remote());
  const std::uint64_t again = nodes_.network.now();
  ASSERT_EQ(outcome_of(alone), AccessOutcome::kDone);
  EXPECT_LT(together, kRecords * (nodes_.network.now() - again) / 2);
}

TEST(HolderWords, AreEachUsedOnce) {
  HolderWords words(2, 5, 1);
  const record::StateWord first = words.next();
  EXPECT_NE(words.next(), first);
  EXPECT_EQ(record::holder_of(first), (record::Holder{.node = 2, .generation = 5, .worker = 1, .sequence = 1}));
}

}  // namespace
}  // namespace granary::cluster
