// What a life owes that did not end in order, who may recover it, and when its node comes back. For all kinds of
// boards.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include "tests/cluster_config/membership/world.h"

namespace granary::membership::tests {
namespace {

using testing::HasSubstr;

class OwedSuite : public MembershipSuite {
 protected:
  /// A node that serves.
  struct Serving : Node {
    Serving(World& world, NodeId id) : Serving(world, options_of(id)) {}
    Serving(World& world, const MembershipOptions& options) : Node(world, options) {
      EXPECT_TRUE(joined()) << status().message();
      EXPECT_TRUE((*this)->serve().ok());
    }
    /// Waits until it knows that the life owes something, and returns the number of the membership in which it was
    /// over.
    std::uint64_t number_of_debt(NodeId node, Generation generation) {
      const auto owes = [=](const Configuration& found) { return found.debt(node, generation) != nullptr; };
      EXPECT_TRUE((*this)->wait_until(owes, kPatienceUs));
      const Owed* const debt = (*this)->configuration()->debt(node, generation);
      return debt == nullptr ? 0 : debt->number;
    }
    void be_quiet(std::uint64_t number) { EXPECT_TRUE((*this)->be_quiet({.number = number, .epoch = 10}).ok()); }
  };
};

TEST_F(OwedSuite, WhoDiesOwesAndWhoLeavesDoesNot) {
  Serving one(world(), 1);
  { Serving two(world(), 2); }
  EXPECT_GT(one.number_of_debt(2, 1), 0u);
  Serving three(world(), 3);
  ASSERT_TRUE(three->leave().ok());
  ASSERT_TRUE(one.sees(3, MemberState::kLeft));
  EXPECT_EQ(one->configuration()->owed.size(), 1u);
}

/// R1 and R2: a survivor that has not spoken may still be told something by the dead node, or have a transaction open
/// that it began before.
TEST_F(OwedSuite, NobodyClaimsBeforeAllThatServeAreQuiet) {
  Serving one(world(), 1);
  Serving two(world(), 2);
  Node joining(world(), 4);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  one.be_quiet(number);
  EXPECT_EQ(one->claim(3, 1).code(), StatusCode::kFailedPrecondition);
  two.be_quiet(number - 1);
  EXPECT_THAT(one->claim(3, 1).message(), HasSubstr("not all members are quiet about life 1 of node 3"));
  two.be_quiet(number);
  EXPECT_TRUE(one->claim(3, 1).ok()) << "who joins has begun no transaction";
  EXPECT_TRUE(one->claim(3, 1).ok()) << "it has the claim already";
}

TEST_F(OwedSuite, OneRecoversAndTheDebtIsGone) {
  Serving one(world(), 1);
  Serving two(world(), 2);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  one.be_quiet(number);
  two.be_quiet(number);
  ASSERT_TRUE(one->claim(3, 1).ok());
  EXPECT_THAT(two->claim(3, 1).message(), HasSubstr("life 1 of node 3 is recovered by life 1 of node 1"));
  EXPECT_FALSE(two->note_recovered(3, 1).ok());
  EXPECT_FALSE(two->note_phase(3, 1, RecoveryPhase::kAdopting).ok());
  const std::uint64_t before = one->fence().number();
  ASSERT_TRUE(one->note_phase(3, 1, RecoveryPhase::kAdopting).ok());
  EXPECT_EQ(one->configuration()->debt(3, 1)->phase, RecoveryPhase::kAdopting);
  ASSERT_TRUE(one->note_recovered(3, 1).ok());
  EXPECT_TRUE(one->configuration()->owed.empty());
  EXPECT_EQ(one->fence().number(), before) << "no transaction aborts because of it";
  EXPECT_FALSE(one->claim(3, 1).ok());
}

/// It joined before the death, so it has not been asked about the claim; the recoverer waits for its word, and does not
/// end because of it.
TEST_F(OwedSuite, WhoBeginsToServeDuringARecoveryIsWaitedFor) {
  Serving one(world(), 1);
  Node two(world(), 2);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  one.be_quiet(number);
  ASSERT_TRUE(one->claim(3, 1).ok());
  ASSERT_TRUE(two->serve().ok());
  const Status early = one->note_recovered(3, 1);
  EXPECT_EQ(early.code(), StatusCode::kUnavailable);
  EXPECT_THAT(early.message(), HasSubstr("not all members are quiet about life 1 of node 3"));
  EXPECT_NE(one->configuration()->debt(3, 1), nullptr);
  ASSERT_TRUE(two->be_quiet({.number = number, .epoch = 10}).ok());
  EXPECT_TRUE(one->note_recovered(3, 1).ok());
  EXPECT_TRUE(one->configuration()->owed.empty());
}

TEST_F(OwedSuite, AClaimCanBeGivenBack) {
  Serving one(world(), 1);
  Serving two(world(), 2);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  one.be_quiet(number);
  two.be_quiet(number);
  ASSERT_TRUE(one->claim(3, 1).ok());
  ASSERT_TRUE(one->give_up_claim(3, 1).ok());
  EXPECT_TRUE(two->claim(3, 1).ok());
}

/// Who has given up tries again from time to time. If that made others count on it again, a node that waits for the
/// recovery would wait without end, or begin one visit after the other.
TEST_F(OwedSuite, NobodyCountsOnALifeThatHasGivenUpUntilItEnds) {
  Serving one(world(), 1);
  std::optional<Serving> two(std::in_place, world(), 2);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  one.be_quiet(number);
  two->be_quiet(number);
  const auto counts_on_two = [&] {
    const auto found = (*two)->configuration();
    return recovers(*found->find(2), *found->debt(3, 1));
  };
  ASSERT_TRUE((*two)->claim(3, 1).ok());
  EXPECT_TRUE(counts_on_two());
  ASSERT_TRUE((*two)->give_up_claim(3, 1).ok());
  EXPECT_FALSE(counts_on_two());
  ASSERT_TRUE((*two)->claim(3, 1).ok());
  ASSERT_TRUE((*two)->note_phase(3, 1, RecoveryPhase::kAdopting).ok());
  EXPECT_FALSE(counts_on_two());
  ASSERT_TRUE((*two)->give_up_claim(3, 1).ok());
  EXPECT_EQ((*two)->configuration()->debt(3, 1)->declined, (std::vector<NamedLife>{{.node = 2, .generation = 1}}));
  two.reset();
  (void)one.number_of_debt(2, 1);
  EXPECT_THAT(one->configuration()->debt(3, 1)->declined, testing::IsEmpty()) << "its next life may do better";
}

/// A member may not know yet that the node itself is back to recover its former life.
TEST_F(OwedSuite, NobodyClaimsWhatANodeIsBackToRecoverItself) {
  Serving one(world(), 1);
  { Serving two(world(), 2); }
  const std::uint64_t number = one.number_of_debt(2, 1);
  one.be_quiet(number);
  MembershipOptions visiting = options_of(2);
  visiting.together_us = 0;
  visiting.rejoins_us = kPatienceUs;
  visiting.visits = [](const Configuration& found) { return !found.owed.empty(); };
  std::optional<Node> back(std::in_place, world(), visiting);
  ASSERT_TRUE(back->joined()) << back->status().message();
  ASSERT_TRUE((*back)->visits());
  EXPECT_THAT(one->claim(2, 1).message(), HasSubstr("life 1 of node 2 is left to the next life of its node"));
  ASSERT_TRUE((*back)->claim(2, 1).ok());
  ASSERT_TRUE((*back)->note_recovered(2, 1).ok());
  ASSERT_TRUE((*back)->leave().ok());
}

/// Each life that begins or ends makes the transactions of all nodes abort, and a supervisor starts a node for ever.
TEST_F(OwedSuite, AVisitThatIsOfNoUseDoesNotBegin) {
  Serving one(world(), 1);
  { Serving two(world(), 2); }
  const std::uint64_t number = one.number_of_debt(2, 1);
  MembershipOptions visiting = options_of(2);
  visiting.together_us = 0;
  visiting.rejoins_us = kPatienceUs;
  visiting.visits = [](const Configuration& found) { return !found.owed.empty(); };
  visiting.check_visit = [](const Configuration& found) {
    return Status(StatusCode::kDamaged, "nothing is left of " + std::to_string(found.owed.front().node));
  };
  for (int start = 0; start < 3; ++start) {
    Node refused(world(), visiting);
    EXPECT_EQ(refused.status().code(), StatusCode::kDamaged);
    EXPECT_EQ(refused.status().message(), "nothing is left of 2");
  }
  EXPECT_EQ(one->configuration()->number, number);
}

/// R6: a recoverer that is dead to the others may still be at work, until it has been cut off as well.
TEST_F(OwedSuite, TheNextClaimWaitsUntilTheFormerClaimerIsCutOff) {
  Serving one(world(), 1);
  std::optional<Serving> two(std::in_place, world(), 2);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  one.be_quiet(number);
  two->be_quiet(number);
  ASSERT_TRUE((*two)->claim(3, 1).ok());
  two.reset();
  const std::uint64_t later = one.number_of_debt(2, 1);
  EXPECT_GT(later, number);
  EXPECT_EQ(one->claim(3, 1).code(), StatusCode::kFailedPrecondition);
  one.be_quiet(later);
  EXPECT_TRUE(one->claim(3, 1).ok());
  EXPECT_TRUE(one->claim(2, 1).ok());
}

TEST_F(OwedSuite, WhoHasLostItsMembershipClaimsNothing) {
  Serving one(world(), 1);
  Serving two(world(), 2);
  { Serving three(world(), 3); }
  const std::uint64_t number = one.number_of_debt(3, 1);
  ASSERT_EQ(two.number_of_debt(3, 1), number);
  one.be_quiet(number);
  two.be_quiet(number);
  ASSERT_TRUE(one->claim(3, 1).ok());
  std::shared_ptr<const Configuration> seen = two->configuration();
  while (seen->debt(3, 1)->claimed_generation == 0) seen = two->configuration();
  std::vector<Member> members = seen->members;
  members[0].state = MemberState::kDead;
  ASSERT_TRUE(two->change(seen->version, members).ok());
  ASSERT_TRUE(one.is_lost());
  EXPECT_EQ(one->note_recovered(3, 1).code(), StatusCode::kMembershipLost);
}

TEST_F(OwedSuite, ANodeComesBackOnceNobodyOwesAnything) {
  Serving one(world(), 1);
  { Serving two(world(), 2); }
  const std::uint64_t number = one.number_of_debt(2, 1);
  MembershipOptions again = options_of(2);
  again.together_us = 0;
  again.rejoins_us = 50'000;
  Node refused(world(), again);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("life 1 of node 2 ended without giving back what it held"));

  again.rejoins_us = kPatienceUs;
  one.be_quiet(number);
  ASSERT_TRUE(one->claim(2, 1).ok());
  std::thread recovery([&] { EXPECT_TRUE(one->note_recovered(2, 1).ok()); });
  Node back(world(), again);
  recovery.join();
  ASSERT_TRUE(back.joined()) << back.status().message();
  EXPECT_TRUE(back->rejoined());
  EXPECT_GT(back->configuration()->number, number);
}

/// A node dies just before this one enters. While this one waits for that, the cluster is started again with another
/// file.
TEST_F(OwedSuite, ARefusalEndsTheWaitForALateDebt) {
  std::optional<Serving> one(std::in_place, world(), 1);
  std::optional<Serving> three(std::in_place, world(), 3);
  std::uint64_t number = 0;
  int looks = 0;
  MembershipOptions returning = options_of(2);
  returning.together_us = 0;
  returning.rejoins_us = kPatienceUs;
  returning.visits = [&](const Configuration&) {
    ++looks;
    if (looks == 1) {  // as it enters: another look follows, as the configuration changes
      three.reset();
      number = one->number_of_debt(3, 1);
    }
    if (looks == 3) {  // as it waits
      one->be_quiet(number);
      EXPECT_TRUE((*one)->claim(3, 1).ok() && (*one)->note_recovered(3, 1).ok() && (*one)->leave().ok());
      one.reset();
      MembershipOptions other = options_of(1);
      other.fingerprint = 0x5678;
      one.emplace(world(), other);
    }
    return false;
  };
  Result<std::unique_ptr<Board>> board = world().open();
  ASSERT_TRUE(board.ok()) << board.status().message();
  auto joining =
      std::async(std::launch::async, [&] { return Membership::join(std::move(*board), returning, {}).status(); });
  const bool over = joining.wait_for(std::chrono::microseconds(kPatienceUs)) == std::future_status::ready;
  if (!over) world().wipe();  // where there is no cluster, nobody refuses anything
  EXPECT_TRUE(over);
  EXPECT_EQ(looks, 3);
  const Status refused = joining.get();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused.message();
  EXPECT_THAT(refused.message(), HasSubstr("start all nodes with the same file"));
}

/// As of a node that is started again and again while the others are not: the configuration would grow with each start.
TEST_F(OwedSuite, StartsOfANodeAloneAddNothing) {
  { Serving one(world(), 1); }
  MembershipOptions again = options_of(1);
  again.together_us = 0;
  again.rejoins_us = kPatienceUs;
  for (const bool leaves : {false, true, false, false}) {
    Node alone(world(), again);
    ASSERT_TRUE(alone.joined()) << alone.status().message();
    ASSERT_TRUE(alone->be_ready().ok());
    EXPECT_EQ(alone->configuration()->owed.size(), 1u);
    EXPECT_NE(alone->configuration()->debt(1, 1), nullptr);
    if (leaves) {
      EXPECT_TRUE(alone->leave().ok());
    }
  }
  Node one(world(), again);
  ASSERT_TRUE(one.joined());
  EXPECT_EQ(one->generation(), 6u);
  EXPECT_EQ(one->configuration()->owed.size(), 1u);
  ASSERT_TRUE(one->serve().ok());
  EXPECT_TRUE(one->configuration()->owed.empty());
}

/// Then all nodes begin together, and each takes over what its former life has left.
TEST_F(OwedSuite, WhereNobodyServesNodesBeginTogether) {
  { Serving one(world(), 1); }
  MembershipOptions first = options_of(1), second = options_of(2);
  first.together_us = second.together_us = 0;
  first.rejoins_us = second.rejoins_us = kPatienceUs;
  Node one(world(), first);
  Node two(world(), second);
  ASSERT_TRUE(one.joined() && two.joined());
  EXPECT_FALSE(one->rejoined());
  EXPECT_FALSE(two->rejoined());
  EXPECT_NE(one->configuration()->debt(1, 1), nullptr);
  ASSERT_TRUE(two->serve().ok());
  EXPECT_NE(two->configuration()->debt(1, 1), nullptr);
  ASSERT_TRUE(one->serve().ok());
  EXPECT_TRUE(one->configuration()->owed.empty());
}

}  // namespace
}  // namespace granary::membership::tests
