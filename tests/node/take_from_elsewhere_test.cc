// How a node that comes back waits for the node whose log it needs, and what it says if it has waited in vain.

#include "src/node/take_from_elsewhere.h"

#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership_thread.h"

namespace granary::db {
namespace {

using membership::Membership;
using testing::HasSubstr;

class TakeFromElsewhere : public testing::Test {
 protected:
  static constexpr std::uint64_t kBriefly_us = 50'000;
  static constexpr std::uint64_t kPatience_us = 30'000'000;

  std::unique_ptr<Membership> join(membership::NodeId id) {
    return Membership::join(std::make_unique<membership::MemoryBoard>(place_),
                            {.node = id, .cluster = "bank", .fingerprint = 1, .address = "here"}, {})
        .value();
  }

  const Status no_answer_{StatusCode::kUnavailable, "node 2 does not answer: nobody takes messages there"};
  const std::shared_ptr<membership::MemoryPlace> place_ = std::make_shared<membership::MemoryPlace>();
  const std::unique_ptr<Membership> own_ = join(1);
  const membership::MembershipThread thread_{*own_};
};

TEST_F(TakeFromElsewhere, ANodeThatDoesNotRunIsNamed) {
  const Status missing = take_from_when_it_runs(*own_, 2, kBriefly_us, []() -> Status {
    ADD_FAILURE() << "there is nobody to ask";
    return {};
  });
  EXPECT_EQ(missing.code(), StatusCode::kUnavailable);
  EXPECT_THAT(missing.message(), HasSubstr("node 2 does not run"));
}

TEST_F(TakeFromElsewhere, ANodeThatRunsAndDoesNotAnswerIsSaidToRun) {
  const auto other = join(2);
  ASSERT_TRUE(own_->wait_until([](const membership::Configuration& found) { return found.lives(2); }, kPatience_us));
  int asked = 0;
  const Status silent = take_from_when_it_runs(*own_, 2, kBriefly_us, [&] {
    ++asked;
    std::this_thread::sleep_for(std::chrono::microseconds(kBriefly_us));
    return no_answer_;
  });
  EXPECT_EQ(silent.code(), StatusCode::kUnavailable);
  EXPECT_EQ(silent.message(), no_answer_.message());
  EXPECT_EQ(asked, 1) << "one question may take all the time";
}

TEST_F(TakeFromElsewhere, ANodeThatEndsWhileItIsAskedIsAskedAgainInItsNextLife) {
  auto other = join(2);
  int asked = 0;
  const Status taken = take_from_when_it_runs(*own_, 2, kPatience_us, [&] {
    if (++asked > 1) return Status();
    other.reset();
    const bool dead =
        own_->wait_until([](const membership::Configuration& found) { return !found.lives(2); }, kPatience_us);
    EXPECT_TRUE(dead);
    other = join(2);
    return no_answer_;
  });
  EXPECT_TRUE(taken.ok()) << taken.message();
  EXPECT_EQ(asked, 2);
}

TEST_F(TakeFromElsewhere, OtherErrorsEndTheWait) {
  const auto other = join(2);
  const Status damaged =
      take_from_when_it_runs(*own_, 2, kPatience_us, [] { return Status(StatusCode::kDamaged, "the log is damaged"); });
  EXPECT_EQ(damaged.code(), StatusCode::kDamaged);
}

}  // namespace
}  // namespace granary::db
