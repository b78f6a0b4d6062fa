// What a node remembers of recoveries: its own and those of others, of several lives, and no more than it should.

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "src/node/recoveries.h"

namespace granary::db {
namespace {

using membership::Configuration;
using membership::Owed;

Owed owed(membership::NodeId node, membership::Generation generation) {
  return {.node = node, .generation = generation, .number = 1};
}
Configuration with(std::vector<Owed> debts) {
  Configuration configuration;
  configuration.owed = std::move(debts);
  return configuration;
}

/// Of one transaction, with as many locks as there are words in `decided`.
std::vector<log::Debt> debts(std::uint64_t transaction, std::vector<bool> decided) {
  std::vector<log::Debt> all;
  for (const bool one : decided) {
    all.push_back({.transaction = transaction});
    if (one) all.back().version = log::Debt::Version{};
  }
  return all;
}

TEST(Recoveries, ForgetsWhatOthersHaveRecovered) {
  Recoveries recoveries;
  recoveries.follow(with({owed(2, 1), owed(3, 4)}));
  EXPECT_EQ(recoveries.list(with({owed(2, 1), owed(3, 4)})).size(), 2u);
  recoveries.follow(with({owed(3, 4)}));
  const auto left = recoveries.list(with({owed(3, 4)}));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].node, 3u);
  EXPECT_EQ(left[0].generation, 4u);
}

/// The membership's thread hears that nothing is owed any more before the recoverer has said that it is done.
TEST(Recoveries, KeepsWhatIsUnderWayUntilItIsOver) {
  Recoveries recoveries;
  RecoveryTry now = recoveries.begin(owed(2, 1));
  now.work.redone_records = 7;
  recoveries.follow(with({}));
  recoveries.end(owed(2, 1), 1, now.work);
  const auto all = recoveries.list(with({}));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].work.redone_records, 7u);
  EXPECT_EQ(recoveries.list(with({owed(2, 1)})).size(), 1u) << "an older configuration";
}

TEST(Recoveries, ShowsTheOpenOnesFirstAndTheLatestLast) {
  Recoveries recoveries;
  for (const membership::Generation life : {1u, 2u})
    recoveries.end(owed(2, life), 1, recoveries.begin(owed(2, life)).work);
  const auto all = recoveries.list(with({owed(3, 5)}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].phase, NodeRecovery::Phase::kWaiting);
  EXPECT_EQ(all[1].generation, 1u);
  EXPECT_EQ(all[2].generation, 2u);
  EXPECT_EQ(all[2].claimed_by, 1u);
}

TEST(Recoveries, RemembersSomeOfItsOwnAlsoInALaterLife) {
  Recoveries former;
  const auto most = static_cast<membership::Generation>(Recoveries::kMostEnded);
  for (membership::Generation life = 1; life <= most + 3; ++life)
    former.end(owed(2, life), 1, former.begin(owed(2, life)).work);
  Recoveries recoveries;
  recoveries.inherit(former);
  const auto all = recoveries.list(with({}));
  ASSERT_EQ(all.size(), Recoveries::kMostEnded);
  EXPECT_EQ(all.front().generation, 4u);
  EXPECT_EQ(all.back().generation, most + 3);
}

/// While the dead process has yet to end, a node tries again and again.
TEST(Recoveries, CountsBriefTriesAsOne) {
  Recoveries recoveries;
  recoveries.follow(with({owed(2, 1)}));
  const std::uint64_t waited = recoveries.begin(owed(2, 1)).work.waited_us;
  recoveries.fail(owed(2, 1), "");
  EXPECT_EQ(recoveries.begin(owed(2, 1)).work.waited_us, waited);
  recoveries.fail(owed(2, 1), "the log is damaged");
  EXPECT_EQ(recoveries.list(with({owed(2, 1)}))[0].failure, "the log is damaged");
  EXPECT_GE(recoveries.begin(owed(2, 1)).work.waited_us, waited);
  EXPECT_EQ(recoveries.list(with({owed(2, 1)}))[0].failure, "");
}

TEST(Recoveries, CountsTransactionsByWhetherTheyWereDecided) {
  std::vector<log::Debt> all = debts(1, {true, true, false});
  for (const auto& more : {debts(2, {false, false}), debts(3, {false}), debts(4, {false, true})})
    all.insert(all.end(), more.begin(), more.end());
  RecoveryWork work;
  count_settled(all, {}, work);
  EXPECT_EQ(work.redone_transactions, 2u);
  EXPECT_EQ(work.undone_transactions, 2u);
}

TEST(Recoveries, PhasesHaveNames) {
  EXPECT_EQ(name(NodeRecovery::Phase::kWaiting), "waiting");
  EXPECT_EQ(name(NodeRecovery::Phase::kGivenUp), "given_up");
  EXPECT_EQ(name(NodeRecovery::Phase::kRecovered), "recovered");
}

}  // namespace
}  // namespace granary::db
