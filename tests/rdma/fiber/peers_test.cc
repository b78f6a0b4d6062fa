// How long an endpoint waits for a connection.

#include "rdma/fiber/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::rdma::fiber {
namespace {

class MockEndpoint : public Endpoint {
 public:
  MOCK_METHOD(const Limits&, limits, (), (const, override));
  MOCK_METHOD(Result<ConnectionId>, connect, (NodeId, std::uint64_t), (override));
  MOCK_METHOD(void, disconnect, (ConnectionId), (override));
  MOCK_METHOD(Status, status, (ConnectionId), (const, override));
  MOCK_METHOD(Generation, peer_generation, (ConnectionId), (const, override));
  MOCK_METHOD(std::uint64_t, peer_region_bytes, (ConnectionId, RegionId), (const, override));
  MOCK_METHOD(PostResult, post, (ConnectionId, std::span<const Operation>, Signal, std::uint64_t), (override));
  MOCK_METHOD(std::size_t, poll, (std::span<Completion>), (override));
  MOCK_METHOD(BellId, bell, (), (const, override));
  MOCK_METHOD(PostResult, ring, (ConnectionId, BellId), (override));
  MOCK_METHOD(bool, sleep, (std::uint64_t), (override));
  MOCK_METHOD(void, rouse, (), (override));
};

const Status kLate(StatusCode::kUnavailable, "late");

TEST(Peers, AreMetWithGrowingPatience) {
  testing::NiceMock<MockEndpoint> endpoint;
  Peers peers(endpoint);
  const testing::InSequence in_turn;
  for (const std::uint64_t timeout_us : {100, 200, 400, 800, 800})
    EXPECT_CALL(endpoint, connect(7, timeout_us)).WillOnce(testing::Return(kLate));
  EXPECT_CALL(endpoint, connect(8, 100)).WillOnce(testing::Return(kLate));
  EXPECT_CALL(endpoint, connect(7, 800)).WillOnce(testing::Return(ConnectionId{3}));
  for (int attempt = 0; attempt < 5; ++attempt) EXPECT_FALSE(peers.connect(7, 100).ok());
  EXPECT_FALSE(peers.connect(8, 100).ok()) << "another node has a patience of its own";
  EXPECT_TRUE(peers.connect(7, 100).ok());
  EXPECT_EQ(peers.find(7), ConnectionId{3});
}

TEST(Peers, KeepTheLifeThatABrokenConnectionHasReached) {
  testing::NiceMock<MockEndpoint> endpoint;
  Peers peers(endpoint);
  EXPECT_EQ(peers.generation(7), 0u);
  EXPECT_CALL(endpoint, connect(7, 100))
      .WillOnce(testing::Return(ConnectionId{3}))
      .WillRepeatedly(testing::Return(kLate));
  EXPECT_CALL(endpoint, peer_generation(3)).WillOnce(testing::Return(5)).WillRepeatedly(testing::Return(0));
  EXPECT_TRUE(peers.connect(7, 100).ok());
  EXPECT_CALL(endpoint, status(3)).WillRepeatedly(testing::Return(kLate));
  EXPECT_FALSE(peers.connect(7, 100).ok());
  EXPECT_EQ(peers.generation(7), 5u);
}

TEST(Peers, ThatWereMetOnceAreLikelyDead) {
  testing::NiceMock<MockEndpoint> endpoint;
  Peers peers(endpoint);
  EXPECT_CALL(endpoint, connect(7, 100))
      .WillOnce(testing::Return(ConnectionId{3}))
      .WillRepeatedly(testing::Return(kLate));
  EXPECT_TRUE(peers.connect(7, 100).ok());
  EXPECT_CALL(endpoint, status(3)).WillRepeatedly(testing::Return(kLate));
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_FALSE(peers.connect(7, 100).ok());
}

/// Then its next life is there, and worth waiting for.
TEST(Peers, ThatAreHeardOfAgainAreWaitedForAsAtFirst) {
  testing::NiceMock<MockEndpoint> endpoint;
  Peers peers(endpoint);
  EXPECT_CALL(endpoint, connect(7, 500'000)).WillOnce(testing::Return(ConnectionId{3}));
  EXPECT_TRUE(peers.connect(7, 500'000).ok());
  peers.note_heard(7);
  EXPECT_EQ(peers.find(7), ConnectionId{3}) << "it works";
  EXPECT_CALL(endpoint, status(3)).WillRepeatedly(testing::Return(kLate));
  const testing::InSequence in_turn;
  for (const std::uint64_t timeout_us : {30'000, 60'000})
    EXPECT_CALL(endpoint, connect(7, timeout_us)).WillOnce(testing::Return(kLate));
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_FALSE(peers.connect(7, 500'000).ok());
  peers.note_heard(7);
  EXPECT_CALL(endpoint, connect(7, 500'000)).WillOnce(testing::Return(kLate));
  EXPECT_CALL(endpoint, connect(7, 1'000'000)).WillOnce(testing::Return(ConnectionId{4}));
  EXPECT_FALSE(peers.connect(7, 500'000).ok());
  peers.note_heard(7);
  EXPECT_TRUE(peers.connect(7, 500'000).ok()) << "who was not met in between is waited for longer";
}

/// Whoever waits does nothing else, and a process that was killed does not answer while it ends.
TEST(Peers, ThatWereMetOnceAreWaitedForBrieflyAtFirst) {
  testing::NiceMock<MockEndpoint> endpoint;
  Peers peers(endpoint);
  EXPECT_CALL(endpoint, connect(7, 500'000)).WillOnce(testing::Return(ConnectionId{3}));
  EXPECT_TRUE(peers.connect(7, 500'000).ok());
  EXPECT_CALL(endpoint, status(3)).WillRepeatedly(testing::Return(kLate));
  const testing::InSequence in_turn;
  for (const std::uint64_t timeout_us : {30'000, 60'000, 120'000, 240'000, 480'000, 500'000, 500'000})
    EXPECT_CALL(endpoint, connect(7, timeout_us)).WillOnce(testing::Return(kLate));
  for (int attempt = 0; attempt < 7; ++attempt) EXPECT_FALSE(peers.connect(7, 500'000).ok());
}

}  // namespace
}  // namespace granary::rdma::fiber
