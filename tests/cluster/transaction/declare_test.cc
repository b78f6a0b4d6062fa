// Transactions that declare what they will do elsewhere (lease_2pl): what they hold and for how long, what it costs,
// and what becomes of leases when time passes. Single leases are in tests/cluster/record_access/lease_test.cc.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

constexpr std::uint64_t kNow = 1'000'000;
/// After a lease that was taken at kNow.
constexpr std::uint64_t kAfterLease = kNow + SimCluster::kLeaseIsThere + 1;

class DeclaredKeys : tests::WithLeases, public testing::TestWithParam<IndexKind> {
 protected:
  /// `leases`: of node 0.
  explicit DeclaredKeys(bool leases = true)
      : tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true})) {
    if (!leases) cluster_.node(0).read_without_leases();
    cluster_.start();
    cluster_.pass_epochs(2);
    cluster_.set_time(kNow);
    for (const std::string key : {"0x", "1x", "1y", "2x", "2y"})
      EXPECT_EQ(put(home_of(key), key, "old"), AbortReason::kNone);
  }

  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  const Table& table(std::size_t node) const { return tables_[node]; }
  Outcome declare(Transaction& t, std::size_t node, std::vector<std::string_view> reads,
                  std::vector<std::string_view> writes) {
    std::vector<Declared> keys;
    for (const std::string_view key : reads) keys.push_back({table(node), key, false});
    for (const std::string_view key : writes) keys.push_back({table(node), key, true});
    return t.declare(keys);
  }
  std::string get(Transaction& t, std::size_t node, std::string_view key) {
    std::string value;
    return t.get(table(node), key, value) == Outcome::kOk ? value : "(none)";
  }
  /// By another worker of the node: alone, without declaring it.
  AbortReason put(std::size_t node, std::string_view key, std::string_view value) {
    Transaction t = begin(node, 1);
    EXPECT_EQ(t.put(table(node), key, value), Outcome::kOk);
    return t.commit().reason;
  }
  /// By whichever operation met the lock or lease first: a READ of the record, or a lock of its own.
  static bool met_holder(AbortReason reason) {
    return reason == AbortReason::kRemotelyLocked || reason == AbortReason::kRecordBusy;
  }
  bool in_index(std::string_view key) const { return table(home_of(key)).core()->index().find(key).value != 0; }
  std::string at(std::size_t node, std::string_view key) {
    Transaction t = begin(node, 1);
    return get(t, node, key);
  }
  /// By node 0.
  void expect_reads_locked() {
    Transaction t = begin(0);
    ASSERT_EQ(declare(t, 0, {"1y"}, {}), Outcome::kOk);
    EXPECT_EQ(put(1, "1y", "new"), AbortReason::kRemotelyLocked);
    Transaction other = begin(2);
    EXPECT_EQ(declare(other, 2, {"1y"}, {}), Outcome::kAborted);
    EXPECT_EQ(get(t, 0, "1y"), "old");
    EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    EXPECT_EQ(put(1, "1y", "new"), AbortReason::kNone);
  }

  SimCluster cluster_{3};
  const std::vector<Table> tables_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, DeclaredKeys, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(DeclaredKeys, AreHeldUntilTheEnd) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {"1y", "2y", "0x"}, {"1x", "2x"}), Outcome::kOk);
  for (const std::size_t node : {1u, 2u}) {  // the owner, and another node, of each
    for (const char* key : {"1x", "1y", "2x", "2y"}) EXPECT_TRUE(met_holder(put(node, key, "new"))) << key;
    EXPECT_EQ(at(node, "1y"), "old") << "leases hinder no reader";
  }
  EXPECT_EQ(get(t, 0, "1y") + get(t, 0, "2y") + get(t, 0, "1x"), "oldoldold");
  EXPECT_EQ(t.put(table(0), "1x", "mine"), Outcome::kOk);
  EXPECT_EQ(t.update(table(0), "2x", "mine"), Outcome::kOk);
  EXPECT_EQ(t.put(table(0), "0x", "mine"), Outcome::kOk);
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  for (const std::size_t node : {0u, 1u, 2u})
    EXPECT_EQ(at(node, "1x") + at(node, "2x") + at(node, "0x"), "mineminemine");
  EXPECT_EQ(put(1, "1x", "new"), AbortReason::kNone) << "freed";
  EXPECT_EQ(put(1, "2y", "new"), AbortReason::kRemotelyLocked) << "nobody gives a lease back";
  cluster_.set_time(kAfterLease);
  EXPECT_EQ(put(1, "2y", "new"), AbortReason::kNone);
}

TEST_P(DeclaredKeys, CostNothingAtCommitButTheWriteBack) {
  (void)at(0, "1x");  // so that the places are known
  (void)at(0, "1y");
  const auto& counters = cluster_.node(0).remote().counters();
  const auto rounds = [&counters](TripPhase phase) { return counters.rounds[static_cast<std::size_t>(phase)].load(); };
  Transaction warm = begin(0);
  (void)(get(warm, 0, "1x") + get(warm, 0, "1y"));
  warm.abort();
  std::array<std::uint64_t, kTripPhases> before{};
  for (std::size_t i = 0; i < kTripPhases; ++i) before[i] = counters.rounds[i];
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {"1y"}, {"1x"}), Outcome::kOk);
  EXPECT_EQ(get(t, 0, "1y"), "old");
  EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
  EXPECT_EQ(rounds(TripPhase::kLock) - before[static_cast<std::size_t>(TripPhase::kLock)], 1u);
  ASSERT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(rounds(TripPhase::kLock) - before[static_cast<std::size_t>(TripPhase::kLock)], 1u);
  EXPECT_EQ(rounds(TripPhase::kAgree) - before[static_cast<std::size_t>(TripPhase::kAgree)], 0u);
  EXPECT_EQ(rounds(TripPhase::kValidate) - before[static_cast<std::size_t>(TripPhase::kValidate)], 0u);
  EXPECT_EQ(rounds(TripPhase::kWriteBack) - before[static_cast<std::size_t>(TripPhase::kWriteBack)], 1u);
}

TEST_P(DeclaredKeys, ALeaseIsSharedByManyReaders) {
  Transaction one = begin(0);
  Transaction two = begin(2);
  ASSERT_EQ(declare(one, 0, {"1x"}, {}), Outcome::kOk);
  ASSERT_EQ(declare(two, 2, {"1x"}, {}), Outcome::kOk);
  EXPECT_EQ(get(one, 0, "1x") + get(two, 2, "1x"), "oldold");
  EXPECT_EQ(one.commit().reason, AbortReason::kNone);
  EXPECT_EQ(two.commit().reason, AbortReason::kNone);
}

TEST_P(DeclaredKeys, ALeaseThatRanOutAborts) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {"1y"}, {"2x"}), Outcome::kOk);
  EXPECT_EQ(get(t, 0, "1y"), "old");
  EXPECT_EQ(t.put(table(0), "2x", "new"), Outcome::kOk);
  cluster_.set_time(kNow + SimCluster::kLeaseIsValid);
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired);
  EXPECT_EQ(at(1, "2x"), "old");
  EXPECT_EQ(put(1, "2x", "free"), AbortReason::kNone);
}

TEST_P(DeclaredKeys, AReaderWhoseLeaseRanOutAborts) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {"1y", "2y"}, {}), Outcome::kOk);
  EXPECT_EQ(get(t, 0, "1y"), "old");
  cluster_.set_time(kAfterLease);
  EXPECT_EQ(put(1, "2y", "new"), AbortReason::kNone);
  EXPECT_EQ(t.commit().reason, AbortReason::kLeaseExpired);
}

TEST_P(DeclaredKeys, ALeaseThatWasSeenIsSharedWithoutACompareAndSwap) {
  const auto& counters = cluster_.node(2).remote().counters();
  Transaction one = begin(0);
  ASSERT_EQ(declare(one, 0, {"1x"}, {}), Outcome::kOk);
  cluster_.set_time(kNow + SimCluster::kLeaseIsShared);
  Transaction two = begin(2);
  const std::uint64_t swaps = counters.compare_swaps;
  ASSERT_EQ(declare(two, 2, {"1x"}, {}), Outcome::kOk);
  EXPECT_EQ(counters.compare_swaps - swaps, GetParam() == IndexKind::kHash ? 0u : 1u) << "an owner tells no state";
  EXPECT_EQ(get(two, 2, "1x"), "old");
  EXPECT_EQ(two.commit().reason, AbortReason::kNone);

  Transaction late = begin(2);
  ASSERT_EQ(declare(late, 2, {"1x"}, {}), Outcome::kOk);
  EXPECT_EQ(get(late, 2, "1x"), "old");
  cluster_.set_time(kNow + SimCluster::kLeaseIsValid);
  EXPECT_EQ(late.commit().reason, AbortReason::kLeaseExpired) << "its end is the other's";
}

/// Its READ may be of before the clock was set, and others may have found the lease expired since.
TEST_P(DeclaredKeys, ALeaseThatWasSeenBeforeIsLookedAtAgain) {
  const auto& counters = cluster_.node(2).remote().counters();
  Transaction one = begin(0);
  ASSERT_EQ(declare(one, 0, {"1x"}, {}), Outcome::kOk);
  Transaction two = begin(2);
  EXPECT_EQ(get(two, 2, "1x"), "old");
  const std::uint64_t swaps = counters.compare_swaps;
  ASSERT_EQ(declare(two, 2, {"1x"}, {}), Outcome::kOk);
  EXPECT_EQ(counters.compare_swaps - swaps, 1u);
  EXPECT_EQ(two.commit().reason, AbortReason::kNone);
}

/// It is neither shared nor waited for, and its record is read as if it had not been declared.
TEST_P(DeclaredKeys, ALeaseThatIsAboutToEndLeavesOptimisticReads) {
  for (const bool overwritten : {false, true}) {
    const std::uint64_t now = kNow + (overwritten ? 100'000 : 0);
    cluster_.set_time(now);
    Transaction one = begin(0);
    ASSERT_EQ(declare(one, 0, {"1x"}, {}), Outcome::kOk);
    cluster_.set_time(now + SimCluster::kLeaseIsShared + 1);
    Transaction two = begin(2);
    const auto& locked = cluster_.node(2).remote().counters().rounds[static_cast<std::size_t>(TripPhase::kLock)];
    const std::uint64_t before = locked;
    ASSERT_EQ(declare(two, 2, {"1x"}, {"1y"}), Outcome::kOk);
    EXPECT_EQ(locked - before, 1u);
    EXPECT_EQ(get(two, 2, "1x"), "old");
    cluster_.set_time(now + SimCluster::kLeaseIsThere + 1);
    if (overwritten) {
      EXPECT_EQ(put(1, "1x", "new"), AbortReason::kNone);
    }
    EXPECT_EQ(two.put(table(2), "1y", "mine"), Outcome::kOk);
    EXPECT_EQ(two.commit().reason, overwritten ? AbortReason::kReadChanged : AbortReason::kNone);
  }
}

/// Its own lease, which others may share, keeps it from the lock; the next attempt knows.
TEST_P(DeclaredKeys, WhatWasDeclaredToBeReadMayBeWrittenNextTime) {
  for (const bool declared_again : {false, true}) {
    const auto attempt = [&] {
      Transaction t = begin(0);
      if (declare(t, 0, {"1x", "1y"}, {"2x"}) == Outcome::kOk) {
        EXPECT_EQ(declared_again ? declare(t, 0, {}, {"1x"}) : Outcome::kOk, Outcome::kOk);
        EXPECT_EQ(t.put(table(0), "1x", "mine"), Outcome::kOk);
      }
      return t.commit().reason;
    };
    EXPECT_EQ(attempt(), AbortReason::kRemotelyLocked);
    EXPECT_EQ(attempt(), AbortReason::kRemotelyLocked) << "the lease is still there";
    EXPECT_EQ(put(1, "2x", "free"), AbortReason::kNone) << "what else was locked is not, meanwhile";
    cluster_.set_time(declared_again ? 2 * kAfterLease : kAfterLease);
    EXPECT_EQ(attempt(), AbortReason::kNone);
    EXPECT_EQ(at(1, "1x"), "mine");
    Transaction reader = begin(0);
    ASSERT_EQ(declare(reader, 0, {"1x"}, {}), Outcome::kOk);
    Transaction other = begin(2);
    EXPECT_EQ(declare(other, 2, {"1x"}, {}), Outcome::kOk) << "leased again: what was learnt has served";
  }
}

/// Until the transaction is over, however it ends.
TEST_P(DeclaredKeys, WhatWasLearntServesOneTransaction) {
  for (const int ending : {0, 1, 2}) {
    const std::uint64_t now = kNow + ending * 100'000;
    cluster_.set_time(now);
    Transaction first = begin(0);
    ASSERT_EQ(declare(first, 0, {"1x"}, {}), Outcome::kOk);
    EXPECT_EQ(first.put(table(0), "1x", "old"), Outcome::kOk);
    EXPECT_EQ(first.commit().reason, AbortReason::kRemotelyLocked);
    cluster_.set_time(now + SimCluster::kLeaseIsThere + 1);

    Transaction another = begin(0);  // the next attempt is made elsewhere in the worker
    Transaction second = begin(0);
    ASSERT_EQ(declare(second, 0, {"1x"}, {}), Outcome::kOk);
    Transaction other = begin(2);
    EXPECT_EQ(declare(other, 2, {"1x"}, {}), Outcome::kAborted) << "locked";
    another.abort();
    if (ending == 0) {
      EXPECT_EQ(second.put(table(0), "1x", "old"), Outcome::kOk);
    }
    if (ending == 2) {
      second.abort();
    } else {
      EXPECT_EQ(second.commit().reason, AbortReason::kNone);
    }

    Transaction third = begin(0);
    ASSERT_EQ(declare(third, 0, {"1x"}, {}), Outcome::kOk);
    Transaction reader = begin(2);
    EXPECT_EQ(declare(reader, 2, {"1x"}, {}), Outcome::kOk) << "leased; ending " << ending;
  }
}

TEST_P(DeclaredKeys, WithoutATimeReadsAreLockedToo) {
  cluster_.node(0).time().withdraw();
  expect_reads_locked();
}

class DeclaredKeysWithoutLeases : public DeclaredKeys {
 protected:
  DeclaredKeysWithoutLeases() : DeclaredKeys(/*leases=*/false) {}
};

INSTANTIATE_TEST_SUITE_P(Hash, DeclaredKeysWithoutLeases, testing::Values(IndexKind::kHash),
                         [](const auto&) { return "Hash"; });

TEST_P(DeclaredKeysWithoutLeases, ReadsAreLockedToo) { expect_reads_locked(); }

TEST_P(DeclaredKeys, AreLetGoByWhoAborts) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {}, {"1x"}), Outcome::kOk);
  EXPECT_EQ(put(1, "1x", "new"), AbortReason::kRemotelyLocked);
  t.abort();
  EXPECT_EQ(put(1, "1x", "new"), AbortReason::kNone);

  Transaction holder = begin(2);
  ASSERT_EQ(declare(holder, 2, {}, {"1y"}), Outcome::kOk);
  Transaction late = begin(0);
  EXPECT_EQ(declare(late, 0, {}, {"1x", "1y", "2x"}), Outcome::kAborted);
  EXPECT_TRUE(met_holder(late.commit().reason));
  EXPECT_EQ(put(1, "1x", "newer"), AbortReason::kNone) << "what it had got is free again";
  EXPECT_EQ(put(1, "2x", "newer"), AbortReason::kNone);
}

TEST_P(DeclaredKeys, WhatIsNotWrittenStaysAsItIs) {
  Transaction reader = begin(2, 1);
  EXPECT_EQ(get(reader, 2, "1x"), "old");
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {}, {"1x", "1y"}), Outcome::kOk);
  EXPECT_EQ(t.put(table(0), "1y", "new"), Outcome::kOk);
  ASSERT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(reader.commit().reason, AbortReason::kNone) << "1x has no new version";
  EXPECT_EQ(at(1, "1x") + at(1, "1y"), "oldnew");
}

TEST_P(DeclaredKeys, WhatIsNotDeclaredIsValidatedBesideThem) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {"1y"}, {"1x"}), Outcome::kOk);
  EXPECT_EQ(get(t, 0, "2y"), "old");
  EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
  EXPECT_EQ(t.put(table(0), "2x", "new"), Outcome::kOk);
  EXPECT_EQ(put(2, "2y", "new"), AbortReason::kNone);
  EXPECT_EQ(t.commit().reason, AbortReason::kReadChanged);
  EXPECT_EQ(at(1, "1x") + at(2, "2x"), "oldold");
  EXPECT_EQ(put(1, "1x", "free"), AbortReason::kNone);
}

TEST_P(DeclaredKeys, WhatChangedSinceItWasReadIsNoticedAtOnce) {
  for (const bool write : {false, true}) {
    Transaction t = begin(0);
    EXPECT_NE(get(t, 0, "1x"), "(none)");
    EXPECT_EQ(put(1, "1x", "newer"), AbortReason::kNone);
    const std::vector<std::string_view> keys{"1x"};
    EXPECT_EQ(write ? declare(t, 0, {}, keys) : declare(t, 0, keys, {}), Outcome::kAborted);
    EXPECT_EQ(t.commit().reason, AbortReason::kReadChanged);
    cluster_.set_time(kAfterLease);
  }
}

/// The owner commits at every time from the first READ until the record is held.
TEST_P(DeclaredKeys, WhatChangesWhileTheyAreFetchedIsReadAgain) {
  const auto& counters = cluster_.node(0).remote().counters();
  EXPECT_EQ(at(0, "1x"), "old") << "connected";
  std::string last = "old";
  std::uint64_t least = ~std::uint64_t{0};
  unsigned again = 0;
  for (std::uint64_t after = 0, now = kNow; after < 150'000; after += 1'000) {
    cluster_.set_time(now += 2 * SimCluster::kLeaseIsThere);
    cluster_.scheduler.spawn([&, after, begin = cluster_.network.now()] {
      while (cluster_.network.now() - begin < after) cluster_.scheduler.yield();
      if (put(1, "1x", std::to_string(after)) == AbortReason::kNone) last = std::to_string(after);
    });
    const std::uint64_t before = counters.reads;
    Transaction t = begin(0);
    const bool write = after % 2'000 == 0;
    ASSERT_EQ(write ? declare(t, 0, {}, {"1x"}) : declare(t, 0, {"1x"}, {}), Outcome::kOk);
    ASSERT_EQ(get(t, 0, "1x"), last) << "after " << after;
    least = std::min(least, counters.reads - before);
    if (counters.reads - before > least) ++again;
    ASSERT_EQ(t.commit().reason, AbortReason::kNone);
    cluster_.scheduler.run();
  }
  EXPECT_GT(again, 0u);
}

/// What is locked there then is let go; the key is looked up.
TEST_P(DeclaredKeys, APlaceThatIsTheKeysNoMoreIsForgotten) {
  const auto remove = [&](std::string_view key) {
    Transaction t = begin(1, 1);
    EXPECT_EQ(t.remove(table(1), key), Outcome::kOk);
    EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  };
  EXPECT_EQ(at(0, "1x") + at(0, "1y"), "oldold");
  remove("1x");
  for (int turn = 0; turn < 200 && in_index("1x"); ++turn) {
    cluster_.pass_epochs(1);
    cluster_.node(1).control().by_leader.snapshot_reclamation.store(cluster_.node(1).control().by_leader.epoch - 1);
    cluster_.node(1).worker(1).collect_garbage();
  }
  ASSERT_FALSE(in_index("1x"));
  EXPECT_EQ(put(1, "1x", "born again"), AbortReason::kNone);

  const auto stale = cluster_.node(0).remote().counters().locations.stale.load();
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {}, {"1x", "1y"}), Outcome::kOk);
  EXPECT_EQ(get(t, 0, "1x") + get(t, 0, "1y"), "born againold");
  EXPECT_TRUE(met_holder(put(1, "1x", "new")));
  EXPECT_EQ(t.put(table(0), "1x", "mine"), Outcome::kOk);
  EXPECT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(at(1, "1x"), "mine");
  if (GetParam() == IndexKind::kHash) {
    EXPECT_GT(cluster_.node(0).remote().counters().locations.stale.load(), stale);
  }
}

TEST_P(DeclaredKeys, AKeyWithoutARecordCanBeBorn) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {"2none"}, {"1none"}), Outcome::kOk);
  EXPECT_EQ(get(t, 0, "2none"), "(none)");
  EXPECT_EQ(t.insert(table(0), "1none", "born"), Outcome::kOk);
  ASSERT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(at(2, "1none"), "born");
}

TEST_P(DeclaredKeys, AreRemovedLikeAnyOther) {
  Transaction t = begin(0);
  ASSERT_EQ(declare(t, 0, {}, {"1x"}), Outcome::kOk);
  EXPECT_EQ(t.remove(table(0), "1x"), Outcome::kOk);
  ASSERT_EQ(t.commit().reason, AbortReason::kNone);
  EXPECT_EQ(at(2, "1x"), "(none)");
}

/// E of this node, and of another, moves on between start and end.
TEST_P(DeclaredKeys, TakeTheEpochOfTheirEnd) {
  for (const std::size_t ahead : {0u, 1u}) {
    Transaction t = begin(0);
    ASSERT_EQ(declare(t, 0, {"2y"}, {"1x"}), Outcome::kOk);
    EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
    cluster_.node(ahead).control().by_leader.epoch.fetch_add(1);
    if (ahead == 0) {
      cluster_.node(1).control().by_leader.epoch.fetch_add(1);
      cluster_.node(2).control().by_leader.epoch.fetch_add(1);
    }
    const CommitResult done = t.commit();
    ASSERT_EQ(done.reason, AbortReason::kNone);
    if (ahead == 0) {
      EXPECT_EQ(done.ticket.epoch, cluster_.node(0).control().by_leader.epoch.load());
    }
  }
}

}  // namespace
}  // namespace granary::cluster::test
