// Leases on records, one at a time: how they are taken, shared and replaced, what they keep from whom, and what the
// clock has to do with it (I9). What several nodes do to each other is in hammer_test.cc.

#include "src/cluster/record_access/lease.h"

#include <gtest/gtest.h>

#include "src/cluster/record_access/checked_read.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/release.h"
#include "tests/cluster/record_access/sim_clocks.h"
#include "tests/cluster/record_access/sim_nodes.h"
#include "tests/cluster/record_access/versions.h"

namespace granary::cluster {
namespace {

using record::kAbsent;
using record::kFree;
using record::kLatest;
using record::kLocked;
using record::make_tid;

constexpr std::uint64_t kError = 5'000;
constexpr std::uint64_t kStart = 10'000;
/// Long beside the time that the steps take.
constexpr std::uint64_t kTerm = 100'000;
constexpr std::uint64_t kEnd = kStart + kTerm;
constexpr rdma::NodeId kReader = 2;

class Leases : public testing::Test {
 protected:
  Leases() {
    record_.make(1, kTid, kValue);
    pass(kStart);
  }

  void set_state(record::StateWord word) { base::store_word(&record_.shared().state_word, word); }
  RemoteRecord remote() const { return record_.remote(kOwner); }
  void* buffer(std::size_t bytes) { return nodes_.remote().buffer(bytes); }
  std::uint64_t now_us() const { return nodes_.network.now() / 1000; }
  void pass(std::uint64_t us) {
    nodes_.network.run_for(us * 1000);
    clocks_.tick();
  }

  Lease lease(std::uint64_t end_us, std::uint64_t least_end_us) {
    return {remote(),
            {.end_us = end_us, .least_end_us = least_end_us},
            buffer(Lease::buffer_bytes(record_.key().size())),
            clocks_.of(kReader)};
  }
  Lease lease(std::uint64_t end_us) { return lease(end_us, end_us); }
  /// What is READ in one round trip while nobody changes it.
  std::string value() {
    CheckedRead read(remote(), buffer(remote().bytes()));
    return outcome_of(read) == AccessOutcome::kDone ? std::string(read.value()) : "(none)";
  }
  AccessOutcome outcome_of(AccessStep& step, std::function<void()> between = {}) {
    nodes_.run({&step}, [&] {
      if (between) between();
      clocks_.tick();
    });
    clocks_.tick();
    return step.outcome();
  }
  bool owner_locks() {
    record::TidWord before = 0;
    return record_.lock(&before, &clocks_.of(kOwner));
  }

  SimNodes nodes_{{.seed = 7, .least_delay = 10'000, .most_delay = 10'000}, 1};
  SimClocks clocks_{nodes_.network, kError};
  OwnedRecord record_{nodes_.region->base(), 4096, "8 bytes."};
  HolderWords words_{3, 1, 0};
};

TEST_F(Leases, AreTakenInOneRoundTrip) {
  CheckedRead plain(remote(), buffer(remote().bytes()));
  const std::uint64_t begin = nodes_.network.now();
  ASSERT_EQ(outcome_of(plain), AccessOutcome::kDone);
  const std::uint64_t one_trip = nodes_.network.now() - begin;

  Lease step = lease(kEnd);
  const std::uint64_t again = nodes_.network.now();
  ASSERT_EQ(outcome_of(step), AccessOutcome::kDone);
  EXPECT_LT(nodes_.network.now() - again, 2 * one_trip);
  EXPECT_EQ(step.tid(), kTid);
  EXPECT_EQ(step.incarnation(), record_.incarnation());
  EXPECT_EQ(step.end_us(), kEnd);
  EXPECT_EQ(record_.state(), record::lease_word(kEnd));
}

TEST_F(Leases, TakeOneRoundTripOverOneThatWasSeenToHaveExpired) {
  Lease first = lease(kEnd);
  ASSERT_EQ(outcome_of(first), AccessOutcome::kDone);
  const std::uint64_t begin = nodes_.network.now();
  CheckedRead plain(remote(), buffer(remote().bytes()));
  ASSERT_EQ(outcome_of(plain), AccessOutcome::kDone);
  const std::uint64_t one_trip = nodes_.network.now() - begin;
  pass(kEnd + 2 * kError + 1 - now_us());
  const std::uint64_t again = nodes_.network.now();
  Lease next(remote(), {.end_us = 3 * kEnd, .least_end_us = 3 * kEnd},
             buffer(Lease::buffer_bytes(record_.key().size())), clocks_.of(kReader), plain.state());
  ASSERT_EQ(outcome_of(next), AccessOutcome::kDone);
  EXPECT_LT(nodes_.network.now() - again, 2 * one_trip);
  EXPECT_EQ(record_.state(), record::lease_word(3 * kEnd));
}

TEST_F(Leases, AreNotWaitedForWhenTheyEndTooSoonToBeShared) {
  Lease first = lease(kEnd);
  ASSERT_EQ(outcome_of(first), AccessOutcome::kDone);
  const std::uint64_t begin = nodes_.network.now();
  Lease longer = lease(2 * kEnd, kEnd + 1);
  ASSERT_EQ(outcome_of(longer), AccessOutcome::kBusy);
  EXPECT_EQ(longer.holder(), record::lease_word(kEnd));
  const std::uint64_t gave_up = nodes_.network.now();
  Lease shared = lease(2 * kEnd, kEnd);
  ASSERT_EQ(outcome_of(shared), AccessOutcome::kDone);
  EXPECT_LT(gave_up - begin, 2 * (nodes_.network.now() - gave_up)) << "about as long as one that succeeds";
}

TEST_F(Leases, OfAnAbsentRecordKeepIt) {
  record_.install(kNewTid | kAbsent, "");
  Lease step = lease(kEnd);
  EXPECT_EQ(outcome_of(step), AccessOutcome::kDone);
  EXPECT_EQ(step.tid(), kNewTid | kAbsent);
  EXPECT_FALSE(owner_locks());
}

TEST_F(Leases, AreSharedIfTheyEndLateEnough) {
  Lease first = lease(kEnd);
  ASSERT_EQ(outcome_of(first), AccessOutcome::kDone);
  Lease second = lease(2 * kEnd, kEnd - 100);
  ASSERT_EQ(outcome_of(second), AccessOutcome::kDone);
  EXPECT_EQ(second.end_us(), kEnd);
  EXPECT_EQ(second.tid(), kTid);
  Lease longer = lease(2 * kEnd, kEnd + 100);
  EXPECT_EQ(outcome_of(longer), AccessOutcome::kBusy);
  EXPECT_EQ(longer.holder(), record::lease_word(kEnd)) << "never made longer";
}

TEST_F(Leases, AreNotSharedWhenTheyMayHaveEndedForSomebody) {
  Lease first = lease(kEnd);
  ASSERT_EQ(outcome_of(first), AccessOutcome::kDone);
  pass(kEnd - kError - now_us());
  Lease second = lease(3 * kEnd, kStart);
  EXPECT_EQ(outcome_of(second), AccessOutcome::kBusy);
  pass(kEnd - now_us());
  Lease third = lease(3 * kEnd, kStart);
  EXPECT_EQ(outcome_of(third), AccessOutcome::kBusy) << "nor taken over when they may not";
  pass(kEnd + 2 * kError - now_us() + 1);
  Lease fourth = lease(3 * kEnd, kStart);
  ASSERT_EQ(outcome_of(fourth), AccessOutcome::kDone);
  EXPECT_EQ(fourth.end_us(), 3 * kEnd);
}

TEST_F(Leases, KeepTheOwnerAwayUntilTheyHaveExpired) {
  Lease step = lease(kEnd);
  ASSERT_EQ(outcome_of(step), AccessOutcome::kDone);
  EXPECT_FALSE(owner_locks());
  EXPECT_EQ(record_.tid(), kTid) << "its bit is gone";
  EXPECT_EQ(record_.read(), kValue) << "who reads is not hindered";
  pass(kEnd + kError - now_us());
  EXPECT_FALSE(step.valid(clocks_.of(kReader).read()));
  EXPECT_FALSE(owner_locks());
  pass(1);
  EXPECT_TRUE(owner_locks());
}

TEST_F(Leases, KeepXLocksAwayUntilTheyHaveExpired) {
  Lease step = lease(kEnd);
  ASSERT_EQ(outcome_of(step), AccessOutcome::kDone);
  const LeaseExpired expired = expired_by(clocks_.of(kReader));
  const auto lock = [&] {
    XLock x_lock(remote(), words_.next(), buffer(XLock::buffer_bytes(record_.key().size())), expired);
    return outcome_of(x_lock);
  };
  EXPECT_EQ(lock(), AccessOutcome::kBusy);
  pass(kEnd - now_us());
  EXPECT_EQ(lock(), AccessOutcome::kBusy);
  pass(kError + 1);
  EXPECT_EQ(lock(), AccessOutcome::kDone);
}

TEST_F(Leases, WaitForAnXLockAndGiveUp) {
  const record::StateWord other = words_.next();
  set_state(other);
  Lease vain = lease(kEnd);
  EXPECT_EQ(outcome_of(vain), AccessOutcome::kBusy);
  EXPECT_EQ(vain.holder(), other);
  EXPECT_EQ(record_.state(), other);
  Lease step = lease(kEnd);
  EXPECT_EQ(outcome_of(step, [&] { set_state(kFree); }), AccessOutcome::kDone);
}

TEST_F(Leases, WaitForTheOwnersBit) {
  record_.shared().head.store_tid(kTid | kLocked);
  Lease vain = lease(kEnd);
  EXPECT_EQ(outcome_of(vain), AccessOutcome::kBusy);
  Lease step = lease(kEnd);
  ASSERT_EQ(outcome_of(step, [&] { record_.install(kNewTid, kNewValue); }), AccessOutcome::kDone);
  EXPECT_EQ(step.tid(), kNewTid) << "of the owner's commit, which was first";
  EXPECT_EQ(value(), kNewValue);
}

TEST_F(Leases, DoNotFollowEachOtherAtOnce) {
  constexpr std::uint64_t kGap = 2'000;
  Lease first = lease(kEnd);
  ASSERT_EQ(outcome_of(first), AccessOutcome::kDone);
  const LeaseTerm term{.end_us = 3 * kEnd, .least_end_us = kEnd, .gap_us = kGap};
  const auto next = [&] {
    Lease step(remote(), term, buffer(Lease::buffer_bytes(record_.key().size())), clocks_.of(kReader));
    return outcome_of(step);
  };
  const record::StateWord seen = record_.state();
  const auto in_vain = [&] { return term.is_useless(seen, clocks_.of(kReader).read()); };
  EXPECT_FALSE(in_vain());
  pass(kEnd - kError - now_us());
  EXPECT_TRUE(in_vain());
  pass(2 * kError + 1);
  EXPECT_TRUE(owner_locks()) << "a writer may have it";
  record_.unlock();
  EXPECT_EQ(next(), AccessOutcome::kBusy) << "a reader not yet";
  pass(kEnd + 2 * kError + kGap - now_us());
  EXPECT_TRUE(in_vain());
  EXPECT_EQ(next(), AccessOutcome::kBusy);
  pass(kEnd + 2 * kError + kGap - now_us() + 1);
  EXPECT_FALSE(in_vain());
  EXPECT_EQ(next(), AccessOutcome::kDone);
}

/// The owner commits at every time from posting a lease to its completion, unless the lease keeps it from it.
TEST_F(Leases, BringWhatStaysUnderThem) {
  unsigned commits = 0;
  for (std::uint64_t after = 0, sequence = 10; after < 60'000; after += 500, ++sequence) {
    Lease step = lease(now_us() + kTerm);
    nodes_.scheduler.spawn([&, after, sequence] {
      nodes_.network.schedule(kReader, after, [&, sequence] {
        clocks_.tick();
        if (!owner_locks()) return;
        ++commits;
        nodes_.network.schedule(kReader, 8'000,
                                [&, sequence] { record_.install(make_tid(3, sequence) | kLatest, kNewValue); });
      });
    });
    ASSERT_EQ(outcome_of(step), AccessOutcome::kDone);
    pass(100);
    ASSERT_EQ(step.tid(), record_.tid()) << "after " << after;
    ASSERT_TRUE(step.valid(clocks_.of(kReader).read()));
    set_state(kFree);
  }
  EXPECT_GT(commits, 5u);
  EXPECT_LT(commits, 100u);
}

TEST_F(Leases, OfAnotherRecordAreNone) {
  RemoteRecord wanted = remote();
  wanted.incarnation += 1;
  Lease step(wanted, {.end_us = kEnd}, buffer(Lease::buffer_bytes(wanted.key.size())), clocks_.of(kReader));
  EXPECT_EQ(outcome_of(step), AccessOutcome::kMoved);
}

TEST_F(Leases, AreRefusedWithoutATime) {
  Lease before = lease(kEnd);
  ASSERT_EQ(outcome_of(before), AccessOutcome::kDone);
  ASSERT_TRUE(before.valid(clocks_.of(kReader).read()));
  (void)clocks_.of(kOwner);
  clocks_.stop();
  EXPECT_FALSE(before.valid(clocks_.of(kReader).read()));
  Lease shared = lease(kEnd);
  EXPECT_EQ(outcome_of(shared), AccessOutcome::kNoTime);
  set_state(kFree);
  Lease made = lease(kEnd);
  EXPECT_EQ(outcome_of(made), AccessOutcome::kNoTime);
  pass(1'000'000);
  EXPECT_FALSE(owner_locks()) << "no lease has expired either";
}

TEST_F(Leases, TooLateForTheirEndAreNone) {
  Lease step = lease(kStart + kError);
  EXPECT_EQ(outcome_of(step), AccessOutcome::kBusy);
}

/// With clocks as far apart as they may be, the owner writes only when no reader counts on the lease any more.
TEST_F(Leases, HoldBetweenClocksThatDiffer) {
  for (const std::int64_t skew_us : {-2'500, 2'500}) {
    nodes_.network.set_clock(kReader, {.offset = skew_us * 1000});
    nodes_.network.set_clock(kOwner, {.offset = -skew_us * 1000});
    clocks_.tick();
    Lease step = lease(now_us() + kTerm);
    ASSERT_EQ(outcome_of(step), AccessOutcome::kDone);
    bool locked = false;
    for (int i = 0; i < 1'000 && !locked; ++i) {
      pass(200);
      locked = owner_locks();
      ASSERT_FALSE(locked && step.valid(clocks_.of(kReader).read())) << skew_us;
    }
    ASSERT_TRUE(locked);
    record_.unlock();
    set_state(kFree);
  }
}

}  // namespace
}  // namespace granary::cluster
