// A change of the configuration whose answer was lost, and behind which another member has made the next one: it counts
// as made.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/memory_board.h"

namespace granary::membership {
namespace {

/// Forwards all calls but those that a test has chosen.
class ForgetfulBoard final : public Board {
 public:
  explicit ForgetfulBoard(std::shared_ptr<MemoryPlace> place) : board_(std::move(place)) {}

  /// Makes the next change and loses its answer. `other` makes the change that follows, and only that one can be seen.
  void lose_answer(std::function<void()> other) { other_ = std::move(other); }
  /// Loses the next change itself, since `other` makes one first.
  void lose_change(std::function<void()> other) {
    other_ = std::move(other);
    makes_ = false;
  }
  /// Gives no answer to the next read().
  void fall_silent() { silent_ = true; }

  Result<bool> replace(std::uint64_t version, const std::string& text) override {
    if (!other_) return board_.replace(version, text);
    if (makes_) (void)board_.replace(version, text);
    std::exchange(other_, nullptr)();
    return false;
  }
  Result<Document> read() override {
    if (std::exchange(silent_, false)) return Status(StatusCode::kUnavailable, "it is silent");
    return board_.read();
  }

  std::string name() const override { return board_.name(); }
  Status mark(NodeId id, const std::string& who) override { return board_.mark(id, who); }
  Status unmark() override { return board_.unmark(); }
  Result<Marks> marks() override { return board_.marks(); }
  void wait(std::uint64_t timeout_us) override { board_.wait(timeout_us); }
  void wake() override { board_.wake(); }
  std::uint64_t linger_us() const override { return board_.linger_us(); }
  std::uint64_t pulse_us() const override { return board_.pulse_us(); }

 private:
  MemoryBoard board_;
  std::function<void()> other_;
  bool makes_ = true, silent_ = false;
};

/// Node 1 loses answers; nodes 2 and 3 make the changes that follow.
class LostAnswer : public testing::Test {
 protected:
  LostAnswer() {
    auto board = std::make_unique<ForgetfulBoard>(place_);
    board_ = board.get();
    one_ = join(std::move(board), 1);
    two_ = join(std::make_unique<MemoryBoard>(place_), 2);
    three_ = join(std::make_unique<MemoryBoard>(place_), 3);
  }

  static std::unique_ptr<Membership> join(std::unique_ptr<Board> board, NodeId node) {
    MembershipOptions options{.node = node, .cluster = "bank", .address = "127.0.0.1:7001"};
    auto member = Membership::join(std::move(board), std::move(options), {}).value();
    EXPECT_TRUE(member->serve().ok());
    return member;
  }
  Configuration newest() {
    three_->step(0);
    return *three_->configuration();
  }
  MemberState state_of(NodeId node) { return newest().find(node)->state; }
  bool is_marked(NodeId node) {
    const Marks marks = MemoryBoard(place_).marks().value();
    return std::ranges::find(marks.nodes, node) != marks.nodes.end();
  }
  /// Node 2 dies, all are quiet about that, and node 1 claims what it owes.
  void claim_two() {
    place_->remove_mark(2);
    const std::uint64_t number = newest().number;
    EXPECT_TRUE(one_->be_quiet({.number = number, .epoch = 1}).ok());
    EXPECT_TRUE(three_->be_quiet({.number = number, .epoch = 1}).ok());
    EXPECT_TRUE(one_->claim(2, 1).ok());
  }

  /// Expects that node 1 has ended as it wanted to, and that all see it.
  void expect_ended(const Status& status, MemberState as) {
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(state_of(1), as);
    EXPECT_FALSE(is_marked(1));
  }

  const std::shared_ptr<MemoryPlace> place_ = std::make_shared<MemoryPlace>();
  ForgetfulBoard* board_ = nullptr;  ///< node 1's
  std::unique_ptr<Membership> one_, two_, three_;
};

TEST_F(LostAnswer, ToLeaveIsToHaveLeft) {
  board_->lose_answer([this] { EXPECT_TRUE(two_->leave().ok()); });
  expect_ended(one_->leave(), MemberState::kLeft);
}

TEST_F(LostAnswer, ToDieIsToBeDead) {
  board_->lose_answer([this] { EXPECT_TRUE(two_->leave().ok()); });
  expect_ended(one_->die(), MemberState::kDead);
}

/// The board stays silent until the change and its answer are past: a later attempt finds what an earlier one has made.
TEST_F(LostAnswer, ToLeaveIsFoundByTheNextAttempt) {
  board_->lose_answer([this] {
    EXPECT_TRUE(two_->leave().ok());
    board_->fall_silent();
  });
  expect_ended(one_->leave(), MemberState::kLeft);
}

/// Node 1 has not left, since the others said first that it is dead; and it owes something because they did.
TEST_F(LostAnswer, IsToldFromAChangeThatWasLost) {
  board_->lose_change([this] {
    place_->remove_mark(1);
    EXPECT_TRUE(newest().owes(1));
  });
  EXPECT_EQ(one_->leave().code(), StatusCode::kMembershipLost);
}

TEST_F(LostAnswer, ToARecoveryIsARecovery) {
  claim_two();
  board_->lose_answer([this] { EXPECT_TRUE(three_->say("something else").ok()); });
  const Status recovered = one_->note_recovered(2, 1);
  EXPECT_TRUE(recovered.ok()) << recovered.message();
  EXPECT_TRUE(newest().owed.empty());
  EXPECT_EQ(one_->note_recovered(2, 1).code(), StatusCode::kFailedPrecondition) << "it owed nothing from the start";
}

TEST_F(LostAnswer, ToAClaimThatIsGivenBackIsFoundAsWell) {
  claim_two();
  board_->lose_answer([this] { EXPECT_TRUE(three_->claim(2, 1).ok()); });
  const Status given_up = one_->give_up_claim(2, 1);
  EXPECT_TRUE(given_up.ok()) << given_up.message();
  EXPECT_EQ(newest().debt(2, 1)->claimed_by, 3);
}

}  // namespace
}  // namespace granary::membership
