// What transactions across nodes cost: round trips, one-sided operations, messages.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

class Cost : public AcrossNodes {
 protected:
  struct Figures {
    std::array<std::uint64_t, kTripPhases> rounds;
    std::uint64_t reads, read_bytes, writes, compare_swaps, messages;
    bool operator==(const Figures&) const = default;
  };
  Figures cost_of(Body body) {
    const Figures before = figures();
    commit(0, body);
    Figures after = figures();
    for (std::size_t i = 0; i < kTripPhases; ++i) after.rounds[i] -= before.rounds[i];
    after.reads -= before.reads;
    after.read_bytes -= before.read_bytes;
    after.writes -= before.writes;
    after.compare_swaps -= before.compare_swaps;
    after.messages -= before.messages;
    return after;
  }
  /// Once places are known and connections made.
  Figures warm_cost_of(Body body) {
    (void)cost_of(body);
    return cost_of(body);
  }

 private:
  Figures figures() {
    const ReachCounters& counters = cluster_.node(0).remote().counters();
    Figures now{};
    for (std::size_t i = 0; i < kTripPhases; ++i) now.rounds[i] = counters.rounds[i];
    now.reads = counters.reads;
    now.read_bytes = counters.read_bytes;
    now.writes = counters.writes;
    now.compare_swaps = counters.compare_swaps;
    now.messages = counters.messages;
    return now;
  }
};

INSTANTIATE_TEST_SUITE_P(Hash, Cost, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

/// W writes and r reads at one participant, places known: a round trip for each step.
TEST_P(Cost, OneRoundTripAStepAtOneParticipant) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}}, MultiGet{table, "1y", buffers[1], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
  };
  const Figures warm = warm_cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 1, 1}));
  const bool in_real_time = tests::asked_protocol.in_real_time;
  EXPECT_EQ(warm.compare_swaps, in_real_time ? 1u : 2u) << "the lock; what is only read, valid until the stamp";
  EXPECT_EQ(warm.reads, 2u + 2u + 1u) << "two records; header and E; the header that is not locked";
  EXPECT_EQ(warm.writes, 2u);
  EXPECT_EQ(warm.messages, 0u);
}

/// The transaction gets its time at this node, so its epoch may be one that the other node has not reached. The
/// worker's first transaction READs the other node's E, and the second one relies on that.
TEST_P(Cost, WhatIsWrittenHereAndReadThereNeedsNoRoundTripForTheEpoch) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
  };
  EXPECT_EQ(warm_cost_of(run).rounds, (std::array<std::uint64_t, kTripPhases>{1, 0, 0, 1, 0}));
}

TEST_P(Cost, TheSameAtSeveralParticipants) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 3> buffers;
    std::array<MultiGet, 3> gets = {MultiGet{table, "1x", buffers[0], {}}, MultiGet{table, "2x", buffers[1], {}},
                                    MultiGet{table, "1y", buffers[2], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
  };
  EXPECT_EQ(warm_cost_of(run).rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 1, 1}));
}

TEST_P(Cost, WhatIsWrittenNeedsNoValidation) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "old"), Outcome::kOk);
  };
  EXPECT_EQ(warm_cost_of(run).rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 0, 1}));
}

/// Reads three records of two nodes, and says of two that it will write them, as it does.
void write_two_of_three(Transaction& t, const Table& table) {
  std::array<std::array<char, 32>, 3> buffers;
  std::array<MultiGet, 3> gets = {MultiGet{table, "1x", buffers[0], {}, true}, MultiGet{table, "1y", buffers[1], {}},
                                  MultiGet{table, "2x", buffers[2], {}, true}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
  EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
}

/// The locks are taken in the round of what is only read.
TEST_P(Cost, WhatWillBeWrittenIsLockedInTheRoundThatReadsIt) {
  const Figures warm = warm_cost_of(write_two_of_three);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{0, 1, 0, 1, 1}));
  EXPECT_EQ(warm.writes, 4u);
  EXPECT_EQ(warm.messages, 0u);
}

TEST_P(Cost, WhatIsToBeLockedAndHasNoKnownPlaceIsLookedUpBesideTheLocks) {
  EXPECT_EQ(at(0, "1x"), "old");  // its place is known from then on
  const Figures figures = cost_of([](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}, true},
                                    MultiGet{table, "1y", buffers[1], {}, true}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(gets[1].result.outcome, Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1y", "new"), Outcome::kOk);
  });
  EXPECT_EQ(figures.rounds[0], 0u);
  EXPECT_EQ(at(1, "1y"), "new");
}

TEST_P(Cost, WhatWasToBeWrittenAndIsNotIsGivenBack) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<char, 32> buffer;
    EXPECT_EQ(t.get_to_write(table, "1x", buffer).outcome, Outcome::kOk);
    EXPECT_EQ(t.put(table, "1y", "new"), Outcome::kOk);
  };
  (void)warm_cost_of(run);
  commit(2, [](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "other"), Outcome::kOk); });
  EXPECT_EQ(at(0, "1x"), "other");
}

TEST_P(Cost, OthersMeetTheLockOfWhatWillBeWritten) {
  std::array<char, 32> buffer;
  EXPECT_EQ(at(0, "1x"), "old");  // its place is known from then on
  Transaction t = begin(0);
  EXPECT_EQ(t.get_to_write(table(0), "1x", buffer).outcome, Outcome::kOk);
  Transaction late = begin(1);
  EXPECT_EQ(late.put(table(1), "1x", "late"), Outcome::kOk);
  EXPECT_FALSE(late.commit().committed());
  EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(at(1, "1x"), "new");
  {
    Transaction dropped = begin(0);
    EXPECT_EQ(dropped.get_to_write(table(0), "1x", buffer).outcome, Outcome::kOk);
  }
  commit(1, [](Transaction& own, const Table& table) { EXPECT_EQ(own.put(table, "1x", "free"), Outcome::kOk); });
}

TEST_P(Cost, AReaderValidatesInOneRound) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
  };
  const Figures warm = warm_cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{2, 0, 0, 1, 0}))
      << "the second get is asked for after the first";
  EXPECT_EQ(warm.reads, 2u + (tests::asked_protocol.in_real_time ? 4u : 2u))
      << "two records; E, and what is not known to be valid when the others are";
}

/// In an ordered table the leaves lead to the records, which takes one round trip more.
class CostBehindLeaves : public Cost {};
INSTANTIATE_TEST_SUITE_P(Ordered, CostBehindLeaves, testing::Values(IndexKind::kOrdered),
                         [](const auto&) { return "Ordered"; });

TEST_P(CostBehindLeaves, WhatWillBeWrittenIsLockedInTheRoundThatReadsIt) {
  const Figures warm = warm_cost_of(write_two_of_three);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 1, 1})) << "the leaves, the records";
  EXPECT_EQ(warm.writes, 4u);
  EXPECT_EQ(warm.messages, 0u);
}

/// The leaf tells that a record is not there, so nothing is locked.
TEST_P(CostBehindLeaves, WhatIsNotThereCostsTheLeafAndItsValidation) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<char, 32> buffer;
    EXPECT_EQ(t.get_to_write(table, "1z", buffer).outcome, Outcome::kNotFound);
  };
  const Figures warm = warm_cost_of(run);
  const std::uint64_t to_agree = tests::asked_protocol.in_real_time ? 0 : 1;
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{1, 0, to_agree, 1, 0}));
  EXPECT_EQ(warm.compare_swaps + warm.messages, 0u);
  EXPECT_EQ(warm,
            warm_cost_of([](Transaction& t, const Table& table) { EXPECT_EQ(value_of(t, table, "1z"), "(none)"); }))
      << "as without the hint";
}

/// lease_2pl.
class CostOfDeclared : tests::WithLeases, public Cost {
 protected:
  CostOfDeclared() { cluster_.set_time(now_us_); }
  /// Until nothing is left of leases.
  void pass() { cluster_.set_time(now_us_ += 10 * SimClusterNode::kLease_us); }
  static void declare(Transaction& t, const Table& table, std::vector<std::string_view> reads,
                      std::vector<std::string_view> writes) {
    std::vector<Declared> keys;
    for (const std::string_view key : reads) keys.push_back({table, key, false});
    for (const std::string_view key : writes) keys.push_back({table, key, true});
    EXPECT_EQ(t.declare(keys), Outcome::kOk);
  }
  static void read_two(Transaction& t, const Table& table) {
    declare(t, table, {"1x", "1y"}, {});
    EXPECT_EQ(value_of(t, table, "1x") + value_of(t, table, "1y"), "oldold");
  }

  static constexpr std::uint64_t kRecord = record::shared_record_bytes(2, 32);
  static constexpr std::uint64_t kHeader = record::shared_value_offset(2);
  static constexpr std::uint64_t kEpoch = sizeof(epoch::Epoch);

 private:
  std::uint64_t now_us_ = 1'000'000;
};

INSTANTIATE_TEST_SUITE_P(Hash, CostOfDeclared, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

/// As much as optimistic reads, and a compare-and-swap each.
TEST_P(CostOfDeclared, LeasesReadHeadersAgain) {
  (void)cost_of(read_two);
  pass();
  const Figures made = cost_of(read_two);
  EXPECT_EQ(made.rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 0, 0}));
  EXPECT_EQ(made.compare_swaps, 2u);
  EXPECT_EQ(made.reads, 6u) << "records and E; headers and E";
  EXPECT_EQ(made.read_bytes, 2 * kRecord + 2 * kHeader + 2 * kEpoch);
  EXPECT_EQ(made.writes + made.messages, 0u);
}

TEST_P(CostOfDeclared, SharedLeasesOneRoundTripInAll) {
  (void)cost_of(read_two);
  const Figures shared = cost_of(read_two);
  EXPECT_EQ(shared.rounds, (std::array<std::uint64_t, kTripPhases>{1, 0, 0, 0, 0}));
  EXPECT_EQ(shared.compare_swaps + shared.writes + shared.messages, 0u);
  EXPECT_EQ(shared.reads, 3u);
  EXPECT_EQ(shared.read_bytes, 2 * kRecord + kEpoch);
}

/// One round trip less than optimistic writes.
TEST_P(CostOfDeclared, LocksReadRecordsOnce) {
  const auto run = [](Transaction& t, const Table& table) {
    declare(t, table, {}, {"1x"});
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "old"), Outcome::kOk);
  };
  const Figures warm = warm_cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{0, 1, 0, 0, 1}));
  EXPECT_EQ(warm.compare_swaps, 1u);
  EXPECT_EQ(warm.read_bytes, kRecord + base::kWord + kEpoch) << "the previous version behind the record";
  EXPECT_EQ(warm.writes, 2u);
}

class CostOfDeclaredBehindLeaves : public CostOfDeclared {};
INSTANTIATE_TEST_SUITE_P(Ordered, CostOfDeclaredBehindLeaves, testing::Values(IndexKind::kOrdered),
                         [](const auto&) { return "Ordered"; });

TEST_P(CostOfDeclaredBehindLeaves, LocksReadRecordsOnce) {
  const auto run = [](Transaction& t, const Table& table) {
    declare(t, table, {}, {"1x", "1y", "1z"});
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "old"), Outcome::kOk);
  };
  const Figures warm = warm_cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 1, 1}))
      << "the leaf; the records that are there; the leaf's version, as one is not; what was written";
  EXPECT_EQ(warm.compare_swaps, 2u);
  EXPECT_EQ(warm.messages, 0u);
}

TEST_P(CostOfDeclared, LocksBesideLeasesOnlyHeadersAgain) {
  const auto run = [](Transaction& t, const Table& table) {
    declare(t, table, {"1y"}, {"1x"});
    EXPECT_EQ(t.put(table, "1x", "old"), Outcome::kOk);
  };
  (void)cost_of(run);
  pass();
  const Figures warm = cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kTripPhases>{1, 1, 0, 0, 1}));
  EXPECT_EQ(warm.compare_swaps, 2u);
  EXPECT_EQ(warm.read_bytes, 2 * kRecord + 2 * kHeader + kEpoch);
  EXPECT_EQ(warm.writes, 2u);
}

TEST_P(Cost, ALocalTransactionCostsNothing) {
  const Figures none{};
  EXPECT_EQ(cost_of([](Transaction& t, const Table& table) {
              EXPECT_EQ(value_of(t, table, "0x"), "old");
              EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
            }),
            none);
}

}  // namespace
}  // namespace granary::cluster::test
