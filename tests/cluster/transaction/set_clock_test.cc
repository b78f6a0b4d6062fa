// A clock is set forward or back, by half a lease, two of them or an hour, at each moment of a lease's life: before it
// is taken and after, while a writer waits for its end and while others share it; one node's clock, or those of all.
// Until a node looks at its clock it counts on by the counter, and is right; from then on it has no time, and locks
// what it would lease (I9, docs/clock.md). Random histories of it are in history_test.cc.

#include <gtest/gtest.h>

#include "tests/cluster_config/clock/set_clock.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

using cluster_config::clock::Clock;
using cluster_config::clock::ClockOptions;
using cluster_config::clock::SetClock;

constexpr std::uint64_t kDelta_us = 100;
constexpr std::int64_t kLease_us = SimClusterNode::kLease_us;
constexpr ClockOptions kClock{.max_age_us = 1'000, .hold_us = 3'000, .longest_lease_us = kLease_us};
constexpr std::int64_t kHour_us = 3'600'000'000;

constexpr std::size_t kReader = 0, kOwner = 1, kOther = 2;
constexpr std::string_view kKey = "1x";

class SetClocks : tests::WithLeases, public testing::TestWithParam<std::int64_t> {
 protected:
  SetClocks() {
    for (const std::size_t node : {kReader, kOwner, kOther}) {
      auto source = std::make_unique<SetClock>(time_ns_, 0, kDelta_us);
      sources_.push_back(source.get());
      cluster_.node(node).use_clock(
          std::make_unique<Clock>(std::move(source), base::TscClock::simulated(time_ns_), kClock));
    }
    cluster_.start();
    cluster_.pass_epochs(2);
    look(kReader), look(kOwner), look(kOther);
    EXPECT_EQ(put(kOwner, "old"), AbortReason::kNone);
  }

  void set(std::size_t node) { sources_[node]->set(GetParam()); }
  void set_all() {
    for (SetClock* const source : sources_) source->set_cluster(GetParam());
  }
  /// The node's thread looks at its clock.
  void look(std::size_t node) { cluster_.node(node).clock().step(time_ns_ / 1000); }
  /// Clocks that are right are known to be; all threads come to their turn.
  void pass(std::uint64_t us) {
    constexpr std::uint64_t kStep_us = 500;
    for (std::uint64_t passed = 0; passed < us; passed += kStep_us) {
      time_ns_ += kStep_us * 1000;
      for (const std::size_t node : {kReader, kOwner, kOther}) {
        sources_[node]->look();
        look(node);
      }
    }
  }
  bool knows_time(std::size_t node) { return cluster_.node(node).clock().time().read().known; }

  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  /// Declares that it reads the record, and reads it.
  Transaction reader(std::size_t node, std::string_view expected = "old") {
    Transaction t = begin(node);
    const Declared key{tables_[node], kKey, false};
    EXPECT_EQ(t.declare({&key, 1}), Outcome::kOk);
    std::string value;
    EXPECT_EQ(t.get(tables_[node], kKey, value), Outcome::kOk);
    EXPECT_EQ(value, expected);
    return t;
  }
  AbortReason put(std::size_t node, std::string_view value) {
    Transaction t = begin(node, 1);
    EXPECT_EQ(t.put(tables_[node], kKey, value), Outcome::kOk);
    return t.commit().reason;
  }
  /// Neither by its owner nor by another node.
  void expect_kept(std::string_view why) {
    for (const std::size_t node : {kOwner, kOther}) {
      const AbortReason reason = put(node, "new");
      EXPECT_TRUE(reason == AbortReason::kRemotelyLocked || reason == AbortReason::kRecordBusy) << why << ", " << node;
    }
  }
  std::uint64_t leases(std::size_t node) { return cluster_.node(node).remote().counters().leases; }
  /// With a lock in place of a lease, if none is left of before, as only who knows the time takes it for over; there is
  /// nothing to wait for afterwards.
  void expect_locks(std::size_t node, std::string_view value) {
    const std::uint64_t before = leases(node);
    Transaction t = reader(node, value);
    expect_kept("by its lock");
    EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    EXPECT_EQ(leases(node), before);
    EXPECT_EQ(put(kOwner, value), AbortReason::kNone);
  }

  std::atomic<std::uint64_t> time_ns_{1'000'000'000'000'000};
  std::vector<SetClock*> sources_;
  SimCluster cluster_{3};
  const std::vector<Table> tables_ = cluster_.tables("t", {.max_value_bytes = 32, .shared = true});
};

INSTANTIATE_TEST_SUITE_P(By, SetClocks,
                         testing::Values(kLease_us / 2, -kLease_us / 2, 2 * kLease_us, -2 * kLease_us, kHour_us,
                                         -kHour_us));

TEST_P(SetClocks, BeforeALeaseIsTaken) {
  set(kReader);
  Transaction t = reader(kReader);
  EXPECT_EQ(leases(kReader), 1u) << "nobody has seen the new time";
  expect_kept("as long as by the right time");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  look(kReader);
  pass(kLease_us + 1'000);
  EXPECT_EQ(put(kOther, "new"), AbortReason::kNone);
  EXPECT_FALSE(knows_time(kReader));
  expect_locks(kReader, "new");
}

TEST_P(SetClocks, AfterALeaseWasTaken) {
  Transaction unaware = reader(kReader);
  set(kReader);
  expect_kept("whatever the reader's clock shows");
  EXPECT_EQ(unaware.commit().reason, AbortReason::kNone);
  Transaction aware = reader(kReader);
  look(kReader);
  EXPECT_EQ(aware.commit().reason, AbortReason::kLeaseExpired);
  pass(kLease_us + 1'000);
  EXPECT_EQ(put(kOther, "new"), AbortReason::kNone);
  expect_locks(kReader, "new");
}

TEST_P(SetClocks, WhileWritersWaitForItsEnd) {
  Transaction t = reader(kReader);
  set(kOwner);
  expect_kept("before they look at their clock");
  look(kOwner);
  expect_kept("without a time");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone) << "the reader's own clock is right";
  pass(kLease_us + 1'000);
  EXPECT_NE(put(kOwner, "new"), AbortReason::kNone) << "it cannot tell";
  EXPECT_EQ(put(kOther, "newer"), AbortReason::kNone) << "who can goes on, and takes the lease away";
  EXPECT_EQ(put(kOwner, "new"), AbortReason::kNone);
}

TEST_P(SetClocks, WhileItIsShared) {
  Transaction first = reader(kReader);
  Transaction second = reader(kOther);
  EXPECT_EQ(leases(kOther), 1u);
  set(kOther);
  look(kOther);
  expect_kept("for the first");
  EXPECT_EQ(second.commit().reason, AbortReason::kLeaseExpired);
  EXPECT_EQ(first.commit().reason, AbortReason::kNone);
}

TEST_P(SetClocks, SetRightAgainTheyCountAgain) {
  set(kReader);
  look(kReader);
  EXPECT_FALSE(knows_time(kReader));
  sources_[kReader]->set_right();
  pass(kClock.hold_us - 1'000);
  EXPECT_FALSE(knows_time(kReader));
  pass(2'000);
  EXPECT_TRUE(knows_time(kReader));
  const std::uint64_t before = leases(kReader);
  EXPECT_EQ(reader(kReader).commit().reason, AbortReason::kNone);
  EXPECT_EQ(leases(kReader), before + 1);
}

/// As when the host's system time is set: the nodes find out one after the other.
TEST_P(SetClocks, OfAllNodesBeforeAllHaveLooked) {
  Transaction t = reader(kReader);
  set_all();
  look(kOwner);
  expect_kept("while the reader counts on");
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  Transaction aware = reader(kReader);
  look(kReader);
  look(kOther);
  EXPECT_EQ(aware.commit().reason, AbortReason::kLeaseExpired);
}

TEST_P(SetClocks, OfAllNodesAfterTheyHaveAgreedAgain) {
  Transaction t = reader(kReader);
  set_all();
  pass(kClock.hold_us + 1'000);
  for (const std::size_t node : {kReader, kOwner, kOther}) EXPECT_TRUE(knows_time(node));
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired) << "although its end may not have come yet";
  if (GetParam() == -kLease_us / 2) {
    pass(1'000);
    expect_kept("as long as it could be a lease of the time that all have");
  }
  if (GetParam() < -kLease_us) {
    EXPECT_EQ(put(kOther, "old"), AbortReason::kNone) << "by the time that all have, nobody can have such a lease";
    EXPECT_EQ(put(kOwner, "old"), AbortReason::kNone);
  }
  reader(kOther).abort();
  pass(static_cast<std::uint64_t>(3 * kLease_us) + 1'000);
  EXPECT_EQ(put(kOwner, "new"), AbortReason::kNone);
}

/// A lease has expired, and somebody has written; then it is not a lease again.
TEST_P(SetClocks, OfAllNodesTheyRenewNoLease) {
  Transaction t = reader(kReader);
  pass(kLease_us + 1'000);
  EXPECT_EQ(put(kOwner, "new"), AbortReason::kNone);
  set_all();
  pass(kClock.hold_us + 1'000);
  EXPECT_TRUE(knows_time(kReader));
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired);
}

}  // namespace
}  // namespace granary::cluster::test
