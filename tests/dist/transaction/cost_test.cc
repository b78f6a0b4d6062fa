// What transactions across nodes cost: round trips, one-sided operations, messages.

#include <gtest/gtest.h>

#include "tests/dist/transaction/across_nodes.h"

namespace granary::dist::test {
namespace {

class Cost : public AcrossNodes {
 protected:
  struct Figures {
    std::array<std::uint64_t, kPhases> rounds;
    std::uint64_t reads, writes, compare_swaps, messages;
    bool operator==(const Figures&) const = default;
  };
  Figures cost_of(Body body) {
    const Figures before = figures();
    commit(0, body);
    Figures after = figures();
    for (std::size_t i = 0; i < kPhases; ++i) after.rounds[i] -= before.rounds[i];
    after.reads -= before.reads;
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
    for (std::size_t i = 0; i < kPhases; ++i) now.rounds[i] = counters.rounds[i];
    now.reads = counters.reads;
    now.writes = counters.writes;
    now.compare_swaps = counters.compare_swaps;
    now.messages = counters.messages;
    return now;
  }
};

INSTANTIATE_TEST_SUITE_P(Hash, Cost, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

/// w writes and r reads at one participant, places known: a round trip for each step.
TEST_P(Cost, OneRoundTripAStepAtOneParticipant) {
  const auto run = [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}}, MultiGet{table, "1y", buffers[1], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
  };
  const Figures warm = warm_cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kPhases>{1, 1, 0, 1, 1}));
  EXPECT_EQ(warm.compare_swaps, 1u);
  EXPECT_EQ(warm.reads, 2u + 2u + 1u) << "two records; header and E; the header that is not locked";
  EXPECT_EQ(warm.writes, 2u);
  EXPECT_EQ(warm.messages, 0u);
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
  EXPECT_EQ(warm_cost_of(run).rounds, (std::array<std::uint64_t, kPhases>{1, 1, 0, 1, 1}));
}

TEST_P(Cost, WhatIsWrittenNeedsNoValidation) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "old"), Outcome::kOk);
  };
  EXPECT_EQ(warm_cost_of(run).rounds, (std::array<std::uint64_t, kPhases>{1, 1, 0, 0, 1}));
}

TEST_P(Cost, AReaderValidatesInOneRound) {
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
  };
  const Figures warm = warm_cost_of(run);
  EXPECT_EQ(warm.rounds, (std::array<std::uint64_t, kPhases>{2, 0, 0, 1, 0}))
      << "the second get is asked for after the first";
  EXPECT_EQ(warm.reads, 2u + 4u);
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
}  // namespace granary::dist::test
