// A board that does not answer while a node starts is asked again; a node that serves takes the first answer.

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/memory_board.h"

namespace granary::membership {
namespace {

constexpr std::uint64_t kLong_us = 600'000'000;

class Patience : public testing::Test {
 protected:
  /// The place does not answer until the node has waited for it so many times; kNever: it never does.
  void stand_still(int waits) {
    place_->set_reachable(false);
    waits_ = waits;
  }
  /// Each time that the node waits it asks whether it is to give up.
  Result<std::unique_ptr<Membership>> join(std::uint64_t unreachable_us) {
    MembershipOptions options{.node = 1, .cluster = "bank", .address = "127.0.0.1:7001"};
    options.unreachable_us = unreachable_us;
    options.give_up = [this] {
      if (waits_ != kNever && waits_ > 0 && --waits_ == 0) place_->set_reachable(true);
      return given_up_;
    };
    return Membership::join(std::make_unique<MemoryBoard>(place_), std::move(options), {});
  }
  /// Whether the board answers again.
  bool answers() const { return waits_ == 0; }

  static constexpr int kNever = -1, kSome = 3;
  const std::shared_ptr<MemoryPlace> place_ = std::make_shared<MemoryPlace>();
  bool given_up_ = false;
  int waits_ = 0;
};

TEST_F(Patience, ANodeJoinsWhenTheBoardAnswersAgain) {
  stand_still(kSome);
  const auto joined = join(kLong_us);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ((*joined)->generation(), 1u);
  EXPECT_TRUE(answers());
}

TEST_F(Patience, HasAnEnd) {
  stand_still(kNever);
  EXPECT_EQ(join(/*unreachable_us=*/100'000).status().code(), StatusCode::kUnavailable);
}

TEST_F(Patience, IsGivenUpAtOnce) {
  stand_still(kNever);
  given_up_ = true;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(join(kLong_us).status().code(), StatusCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST_F(Patience, ANodeBecomesReadyAndServesWhenTheBoardAnswersAgain) {
  const auto member = join(kLong_us);
  ASSERT_TRUE(member.ok()) << member.status().message();
  stand_still(kSome);
  EXPECT_TRUE((*member)->be_ready().ok());
  EXPECT_TRUE(answers());
  stand_still(kSome);
  EXPECT_TRUE((*member)->serve().ok());
  EXPECT_TRUE(answers());
  EXPECT_EQ((*member)->configuration()->find(1)->state, MemberState::kServing);
  stand_still(kSome);
  EXPECT_EQ((*member)->be_quiet({}).code(), StatusCode::kUnavailable) << "it is told at once, and tries again later";
  EXPECT_FALSE(answers());
}

}  // namespace
}  // namespace granary::membership
