// Sleep at an endpoint: what ends it, and what does not. That a peer's ring comes after its WRITEs: tests/rdma/mailbox.

#include "tests/rdma/conformance/suite.h"

namespace granary::rdma::conformance {
namespace {

class Sleep : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    other_ = open_endpoint();
    const Result<ConnectionId> home = other_->connect(kHere, kPatience_us);
    ASSERT_TRUE(home.ok()) << home.status().message();
    home_ = *home;
  }
  void ring(BellId bell) {
    const PostResult rung = other_->ring(home_, bell);
    ASSERT_EQ(rung, PostResult::kPosted) << name(rung);
  }
  /// Sleeps until the time is up; true if it was, within so many sleeps.
  bool sleeps_through(std::uint64_t time_us) {
    constexpr int kEarlyEnds = 3;
    for (int i = 0; i <= kEarlyEnds; ++i) {
      if (!endpoint_->sleep(time_us)) return true;
    }
    return false;
  }

  std::unique_ptr<Endpoint> other_;  ///< of the same node
  ConnectionId home_ = 0;            ///< from it to this node
};

TEST_F(Sleep, EndsWhenItsTimeIsUp) {
  const std::uint64_t begin = world_->now_us();
  EXPECT_TRUE(sleeps_through(20'000));
  EXPECT_GE(world_->now_us() - begin, 20'000u);
}

TEST_F(Sleep, ARingEndsIt) {
  ASSERT_TRUE(sleeps_through(1'000));
  for (int i = 0; i < 20; ++i) {
    ring(endpoint_->bell());
    ASSERT_TRUE(endpoint_->sleep(kPatience_us)) << "ring " << i;
  }
}

TEST_F(Sleep, ItsOwnNodeEndsIt) {
  ASSERT_TRUE(sleeps_through(1'000));
  for (int i = 0; i < 3; ++i) {
    endpoint_->rouse();
    ASSERT_TRUE(endpoint_->sleep(kPatience_us));
  }
}

TEST_F(Sleep, ARingForSomebodyElseDoesNotEndIt) {
  ASSERT_NE(endpoint_->bell(), other_->bell());
  ring(other_->bell());
  ring(0xffff'ffff);
  ring(100'000);
  EXPECT_TRUE(sleeps_through(20'000));
  EXPECT_TRUE(other_->status(home_).ok());
}

TEST_F(Sleep, ACompletionEndsIt) {
  const Operation read = Operation::read(word(1), at(0), 8);
  ASSERT_TRUE(sleeps_through(1'000));
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(endpoint_->post(connection_, {&read, 1}, Signal::kYes, i), PostResult::kPosted);
    Completion completion;
    while (endpoint_->poll({&completion, 1}) == 0) ASSERT_TRUE(endpoint_->sleep(kPatience_us));
    EXPECT_EQ(completion.tag, i);
  }
}

TEST_F(Sleep, APeersDeathEndsIt) {
  ASSERT_TRUE(sleeps_through(1'000));
  world_->kill_peer(kPeer);
  while (endpoint_->status(connection_).ok()) ASSERT_TRUE(endpoint_->sleep(kPatience_us));
  EXPECT_EQ(endpoint_->ring(connection_, 1), PostResult::kBroken);
}

TEST_F(Sleep, AnEndpointHasItsBellForItselfAndAnotherMayHaveItLater) {
  auto third = open_endpoint();
  const BellId bell = third->bell();
  EXPECT_NE(bell, endpoint_->bell());
  EXPECT_NE(bell, other_->bell());
  third.reset();
  ring(bell);
  third = open_endpoint();
  EXPECT_TRUE(third->connect(kPeer, kPatience_us).ok());
}

}  // namespace
}  // namespace granary::rdma::conformance
