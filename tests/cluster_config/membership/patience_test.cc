// A board that does not answer while a node starts is asked again; a node that serves takes the first answer.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/memory_board.h"

namespace granary::membership {
namespace {

constexpr std::uint64_t kLong_us = 60'000'000;

class Patience : public testing::Test {
 protected:
  ~Patience() override {
    if (answering_.joinable()) answering_.join();
  }
  /// The place does not answer until `brief` has passed.
  void stand_still(std::chrono::milliseconds brief) {
    place_->set_reachable(false);
    answering_ = std::thread([this, brief] {
      std::this_thread::sleep_for(brief);
      place_->set_reachable(true);
    });
  }
  Result<std::unique_ptr<Membership>> join(std::uint64_t unreachable_us) {
    MembershipOptions options{.node = 1, .cluster = "bank", .address = "127.0.0.1:7001"};
    options.unreachable_us = unreachable_us;
    options.give_up = [this] { return given_up_.load(); };
    return Membership::join(std::make_unique<MemoryBoard>(place_), std::move(options), {});
  }

  const std::shared_ptr<MemoryPlace> place_ = std::make_shared<MemoryPlace>();
  std::atomic<bool> given_up_{false};  // by the test's thread, before join()
  std::thread answering_;
};

TEST_F(Patience, ANodeJoinsWhenTheBoardAnswersAgain) {
  stand_still(std::chrono::milliseconds(300));
  const auto joined = join(kLong_us);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ((*joined)->generation(), 1u);
}

TEST_F(Patience, HasAnEnd) {
  stand_still(std::chrono::milliseconds(600));
  EXPECT_EQ(join(/*unreachable_us=*/100'000).status().code(), StatusCode::kUnavailable);
}

TEST_F(Patience, IsGivenUpAtOnce) {
  stand_still(std::chrono::milliseconds(600));
  given_up_ = true;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(join(kLong_us).status().code(), StatusCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST_F(Patience, ANodeBecomesReadyAndServesWhenTheBoardAnswersAgain) {
  const auto member = join(kLong_us);
  ASSERT_TRUE(member.ok()) << member.status().message();
  stand_still(std::chrono::milliseconds(300));
  EXPECT_TRUE((*member)->be_ready().ok());
  answering_.join();
  stand_still(std::chrono::milliseconds(300));
  EXPECT_TRUE((*member)->serve().ok());
  EXPECT_EQ((*member)->configuration()->find(1)->state, MemberState::kServing);
  answering_.join();
  stand_still(std::chrono::milliseconds(300));
  EXPECT_EQ((*member)->be_quiet({}).code(), StatusCode::kUnavailable) << "it is told at once, and tries again later";
}

}  // namespace
}  // namespace granary::membership
