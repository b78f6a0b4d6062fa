// Gets that say that their record will be written, and so lock it in the round trip that reads it, where the place of
// the record is known: a hash table's at once, an ordered table's behind a READ of its leaf. What they lock may have
// been removed meanwhile, or have left its place. That they are serializable is in history_test.cc, what they cost in
// cost_test.cc, what leaves have become in leaf_test.cc, and how their locks are named in lock_ahead_test.cc.

#include <array>

#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "tests/cluster/transaction/across_nodes.h"
#include "tests/support/at_sync_point.h"

namespace granary::cluster::test {
namespace {

constexpr unsigned kOwner = 1;

class LockedReads : public AcrossNodes {
 protected:
  /// Node 0 knows where the record of 1x is, or its leaf, which its owner then removes. The record is absent for a
  /// while, and in its place.
  LockedReads() {
    EXPECT_EQ(at(0, "1x"), "old");
    commit(kOwner, [](Transaction& t, const Table& table) { EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk); });
  }
  static Outcome get_to_write(Transaction& t, const Table& table, std::string_view key) {
    std::array<char, 32> buffer;
    return t.get_to_write(table, key, buffer).outcome;
  }
  /// Epochs pass, until the owner may take the removed record out of its table.
  void wait_until_it_may_go() {
    cluster_.pass_epochs(10);
    epoch::ControlBlock& control = cluster_.node(kOwner).control();
    control.by_leader.snapshot_reclamation.store(control.by_leader.epoch - 1);
  }
  /// The owner takes it out, and the key gets another record.
  void replace() {
    cluster_.node(kOwner).worker().collect_garbage();
    EXPECT_EQ(tables_[kOwner].core()->index().find("1x").value, 0u) << "the record is gone";
    Transaction t = begin(kOwner);
    EXPECT_EQ(t.insert(table(kOwner), "1x", "anew"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
  }
  record::SharedRecord& record_of(std::string_view key) {
    const auto value = tables_[home_of(key)].core()->index().find(key).value;
    return record::shared_of(*reinterpret_cast<record::Record*>(value));
  }
  record::StateWord state_of(std::string_view key) { return record_of(key).state(); }
  /// Whether nobody holds the record. Under a protocol that computes times its state word may be an rts.
  bool is_free(std::string_view key) { return !record::is_x_locked(state_of(key)); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, LockedReads, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(LockedReads, FindNothingThatWasRemoved) {
  commit(0, [](Transaction& t, const Table& table) {
    EXPECT_EQ(get_to_write(t, table, "1x"), Outcome::kNotFound);
    EXPECT_EQ(get_to_write(t, table, "1y"), Outcome::kOk);
  });
}

TEST_P(LockedReads, FindNothingThatWasRemovedBesideOthers) {
  EXPECT_EQ(at(0, "1y"), "old");
  commit(0, [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}, true},
                                    MultiGet{table, "1y", buffers[1], {}, true}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(gets[0].result.outcome, Outcome::kNotFound);
    EXPECT_EQ(gets[1].result.outcome, Outcome::kOk);
  });
  EXPECT_TRUE(is_free("1x") && is_free("1y"));
}

TEST_P(LockedReads, LetWhatWasRemovedBeInserted) {
  commit(0, [](Transaction& t, const Table& table) {
    (void)get_to_write(t, table, "1x");
    EXPECT_EQ(t.insert(table, "1x", "new"), Outcome::kOk);
  });
  EXPECT_EQ(at(1, "1x"), "new");
}

TEST_P(LockedReads, FindTheRecordThatTheKeyHasByNow) {
  wait_until_it_may_go();
  replace();
  commit(0, [](Transaction& t, const Table& table) {
    EXPECT_EQ(get_to_write(t, table, "1x"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "newer"), Outcome::kOk);
  });
  EXPECT_EQ(at(kOwner, "1x"), "newer");
}

TEST_P(LockedReads, HoldWhatTheyHaveFoundUntilTheTransactionEnds) {
  EXPECT_EQ(at(0, "1y"), "old");
  for (const bool commits : {true, false}) {
    Transaction t = begin(0);
    EXPECT_EQ(get_to_write(t, table(0), "1y"), Outcome::kOk);
    EXPECT_TRUE(record::is_x_locked(state_of("1y")));
    Transaction late = begin(2);
    EXPECT_EQ(late.put(table(2), "1y", "late"), Outcome::kOk);
    EXPECT_FALSE(late.commit().committed());
    if (commits) {
      EXPECT_TRUE(t.commit().committed());
    } else {
      t.abort();
    }
    EXPECT_TRUE(is_free("1y"));
  }
}

/// And what the same call has locked beside it is given back.
TEST_P(LockedReads, EndTheTransactionThatMeetsALock) {
  EXPECT_EQ(at(0, "1y") + at(0, "2x") + at(2, "1y"), "oldoldold");
  Transaction holder = begin(2);
  EXPECT_EQ(get_to_write(holder, table(2), "1y"), Outcome::kOk);
  Transaction t = begin(0);
  std::array<std::array<char, 32>, 2> buffers;
  std::array<MultiGet, 2> gets = {MultiGet{table(0), "1y", buffers[0], {}, true},
                                  MultiGet{table(0), "2x", buffers[1], {}, true}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kRemotelyLocked);
  EXPECT_TRUE(is_free("2x"));
  EXPECT_EQ(holder.put(table(2), "1y", "held"), Outcome::kOk);
  EXPECT_TRUE(holder.commit().committed());
  EXPECT_EQ(at(0, "1y"), "held");
}

/// Of hash tables, whose places are remembered.
class CountsOfLockedReads : public LockedReads {
 protected:
  struct Counts {
    std::uint64_t hits = 0, misses = 0, stale = 0;
    bool operator==(const Counts&) const = default;
  };
  Counts counts() {
    const auto& places = cluster_.node(0).remote().counters().locations;
    return {.hits = places.hits, .misses = places.misses, .stale = places.stale};
  }
  /// Runs a transaction at node 0, and returns how far it has raised the counters there.
  Counts counts_of(FunctionRef<void(Transaction& t, const Table& table)> body) {
    const Counts before = counts();
    commit(0, body);
    const Counts now = counts();
    return {.hits = now.hits - before.hits, .misses = now.misses - before.misses, .stale = now.stale - before.stale};
  }
};
INSTANTIATE_TEST_SUITE_P(Hash, CountsOfLockedReads, testing::Values(IndexKind::kHash),
                         [](const auto&) { return "Hash"; });

TEST_P(CountsOfLockedReads, HaveEachDeclaredKeyOnce) {
  EXPECT_EQ(at(0, "2x"), "old");
  EXPECT_EQ(counts_of([](Transaction& t, const Table& table) {
              EXPECT_EQ(t.declare(std::vector<Declared>{{table, "2x", true}, {table, "1y", true}}), Outcome::kOk);
            }),
            (Counts{.hits = 1, .misses = 1}));
}

TEST_P(CountsOfLockedReads, HaveNoMissBesideAStalePlace) {
  wait_until_it_may_go();
  replace();
  EXPECT_EQ(
      counts_of([](Transaction& t, const Table& table) { EXPECT_EQ(get_to_write(t, table, "1x"), Outcome::kOk); }),
      (Counts{.hits = 1, .stale = 1}));
}

/// Of ordered tables, between the READ of a leaf and the lock of the record to which it leads.
class LocksBehindLeaves : public LockedReads {
 protected:
  static constexpr const char* kPlaced = "locked_reads.placed";
};
INSTANTIATE_TEST_SUITE_P(Ordered, LocksBehindLeaves, testing::Values(IndexKind::kOrdered),
                         [](const auto&) { return "Ordered"; });

TEST_P(LocksBehindLeaves, LetGoOfARecordThatHasLeftItsTable) {
  wait_until_it_may_go();
  const record::SharedRecord& former = record_of("1x");
  const tests::AtSyncPoint meanwhile(kPlaced, [this] { replace(); });
  commit(0, [](Transaction& t, const Table& table) {
    EXPECT_EQ(get_to_write(t, table, "1x"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "newer"), Outcome::kOk);
  });
  EXPECT_EQ(at(kOwner, "1x"), "newer");
  EXPECT_NE(&former, &record_of("1x"));
  EXPECT_FALSE(record::is_x_locked(former.state()));
}

TEST_P(LocksBehindLeaves, DeclaredKeysFollowTheirRecords) {
  wait_until_it_may_go();
  const tests::AtSyncPoint meanwhile(kPlaced, [this] { replace(); });
  commit(0, [](Transaction& t, const Table& table) {
    EXPECT_EQ(t.declare(std::vector<Declared>{{table, "1x", true}, {table, "1y", true}}), Outcome::kOk);
    EXPECT_EQ(value_of(t, table, "1x") + value_of(t, table, "1y"), "anewold");
    EXPECT_EQ(t.put(table, "1x", "newer"), Outcome::kOk);
  });
  EXPECT_EQ(at(kOwner, "1x"), "newer");
  EXPECT_TRUE(is_free("1x") && is_free("1y"));
}

/// The version under the lock counts, not one that the leaf was READ with.
TEST_P(LocksBehindLeaves, SeeWhatWasWrittenMeanwhile) {
  const tests::AtSyncPoint meanwhile(kPlaced, [this] {
    Transaction t = begin(kOwner);
    EXPECT_EQ(t.put(table(kOwner), "1y", "meanwhile"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
  });
  commit(0, [](Transaction& t, const Table& table) {
    std::array<char, 32> buffer;
    const GetResult got = t.get_to_write(table, "1y", buffer);
    EXPECT_EQ(std::string_view(buffer.data(), got.size), "meanwhile");
    EXPECT_EQ(t.put(table, "1y", "behind"), Outcome::kOk);
  });
  EXPECT_EQ(at(kOwner, "1y"), "behind");
}

TEST_P(LocksBehindLeaves, EndTheTransactionIfTheOwnerCannotBeReachedAnyMore) {
  const tests::AtSyncPoint meanwhile(kPlaced, [this] { cluster_.network.partition({0}, {kOwner}); });
  Transaction t = begin(0);
  EXPECT_EQ(get_to_write(t, table(0), "1y"), Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kNodeUnreachable);
}

}  // namespace
}  // namespace granary::cluster::test
