// What is refused before anything happens.

#include <vector>

#include "tests/rdma/conformance/suite.h"

namespace granary::rdma::conformance {
namespace {

TEST_F(Conformance, RefusesAChainWithOneBadOperationWhole) {
  const Operation good = Operation::fetch_add(at(0), 1, word(1));
  alignas(8) std::uint64_t elsewhere = 0;
  const struct {
    Operation bad;
    PostResult why;
  } cases[] = {
      {Operation::read(word(1), at(kPeerBytes), 8), PostResult::kInvalidRemote},
      {Operation::read(word(1), at(kPeerBytes - 8), 16), PostResult::kInvalidRemote},
      {Operation::write(at(~std::uint64_t{7}), word(1), 16), PostResult::kInvalidRemote},
      {Operation::read(word(1), {.node = 9, .region = kPeerRegion, .generation = 3}, 8), PostResult::kInvalidRemote},
      {Operation::read(word(1), {.node = kPeer, .region = 9, .generation = 3}, 8), PostResult::kInvalidRemote},
      {Operation::read(word(1), at(0, 2), 8), PostResult::kStale},
      {Operation::compare_swap(at(0, 4), 0, 1, word(1)), PostResult::kStale},
      {Operation::read(&elsewhere, at(0), 8), PostResult::kInvalidLocal},
      {Operation::write(at(0), &elsewhere, 8), PostResult::kInvalidLocal},
      {Operation::read(word(1), at(0), 0), PostResult::kInvalidChain},
      {Operation::read(word(1), at(0), 7), PostResult::kInvalidChain},
      {Operation::read(word(1), at(4), 8), PostResult::kInvalidChain},
      {Operation::fetch_add(at(4), 1, word(1)), PostResult::kInvalidChain},
      {Operation::read(word(1), at(0), 1), PostResult::kInvalidChain},
      {Operation::write(at(4), word(1), 4), PostResult::kInvalidChain},
      {Operation::write(at(kPeerBytes), word(1), 1), PostResult::kInvalidRemote},
      {Operation::read(word(1), at(0), endpoint_->limits().operation_bytes + 8), PostResult::kInvalidChain},
      {Operation::read(word(1), at(~std::uint64_t{0} - 7), 8), PostResult::kInvalidRemote},
  };
  for (const auto& [bad, why] : cases) {
    const Operation chain[] = {good, bad};
    const PostResult result = endpoint_->post(connection_, chain, Signal::kYes, 0);
    EXPECT_EQ(result, why) << name(result) << " instead of " << name(why);
  }
  EXPECT_EQ(endpoint_->post(connection_, {}, Signal::kYes, 0), PostResult::kInvalidChain);
  const std::vector<Operation> long_chain(endpoint_->limits().chain_length + 1, good);
  EXPECT_EQ(endpoint_->post(connection_, long_chain, Signal::kYes, 0), PostResult::kInvalidChain);
  EXPECT_EQ(remote_word(0), 0u) << "nothing of a refused chain takes effect";
  EXPECT_TRUE(endpoint_->status(connection_).ok()) << "nor does it break the connection";
}

TEST_F(Conformance, TakesTheLongestChain) {
  const std::vector<Operation> chain(endpoint_->limits().chain_length, Operation::fetch_add(at(0), 1, word(1)));
  EXPECT_TRUE(run(chain));
  EXPECT_EQ(remote_word(0), chain.size());
}

TEST_F(Conformance, ARegionIdIsTakenOnceAndOnlyBeforeListening) {
  const auto fabric = world_->open_fabric({.node = 8, .generation = 1, .layout = 77});
  EXPECT_FALSE(fabric->open_endpoint().ok());
  EXPECT_TRUE(fabric->register_region({.id = 1, .access = Access::kLocal}, *buffers_).ok());
  EXPECT_EQ(fabric->register_region({.id = 1}, *buffers_).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(fabric->register_region({.id = kOwnRegion}, *buffers_).code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE(fabric->listen().ok());
  EXPECT_EQ(fabric->register_region({.id = 2}, *buffers_).code(), StatusCode::kFailedPrecondition);
}

TEST_F(Conformance, AnEndpointConnectsToANodeOnce) {
  EXPECT_EQ(endpoint_->connect(kPeer, kPatience_us).status().code(), StatusCode::kAlreadyExists);
}

TEST_F(Conformance, ANodeThatIsNotThereIsUnavailableAfterTheTimeout) {
  const std::uint64_t begin = world_->now_us();
  const Result<ConnectionId> connection = endpoint_->connect(9, 20'000);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), StatusCode::kUnavailable);
  EXPECT_LT(world_->now_us() - begin, kPatience_us / 2);
}

TEST_F(Conformance, APeerWithAnotherLayoutIsRefusedWithBothValues) {
  world_->start_peer({.node = 3, .generation = 1, .layout = 0xabc});
  const Result<ConnectionId> connection = endpoint_->connect(3, kPatience_us);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(connection.status().message().find("0xabc"), std::string::npos) << connection.status().message();
  EXPECT_NE(connection.status().message().find("0x4d"), std::string::npos) << connection.status().message();
}

ClusterKey key(std::uint8_t first_byte) {
  ClusterKey key{};
  key[0] = first_byte;
  return key;
}

TEST_F(Conformance, NodesWithTheSameClusterKeyConnect) {
  const auto fabric = world_->open_fabric({.node = 8, .generation = 1, .layout = 77, .key = key(5)});
  ASSERT_TRUE(fabric->listen().ok());
  world_->start_peer({.node = 3, .generation = 1, .layout = 77, .key = key(5)});
  const auto endpoint = fabric->open_endpoint().value();
  const Result<ConnectionId> first = endpoint->connect(3, kPatience_us);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(endpoint->peer_region_bytes(*first, kPeerRegion), kPeerBytes);
  endpoint->disconnect(*first);
  EXPECT_TRUE(endpoint->connect(3, kPatience_us).ok()) << "and again";
}

TEST_F(Conformance, AnotherClusterKeyOrNoneIsRefusedByEitherSide) {
  const auto keyed = world_->open_fabric({.node = 8, .generation = 1, .layout = 77, .key = key(5)});
  ASSERT_TRUE(keyed->listen().ok());
  world_->start_peer({.node = 3, .generation = 1, .layout = 77, .key = key(6)});
  const auto with_key = keyed->open_endpoint().value();
  const auto without_key = fabric_->open_endpoint().value();
  for (const auto& [endpoint, peer] :
       {std::pair{with_key.get(), NodeId{3}}, {without_key.get(), NodeId{3}}, {with_key.get(), kPeer}}) {
    const Result<ConnectionId> connection = endpoint->connect(peer, kPatience_us);
    ASSERT_FALSE(connection.ok());
    EXPECT_EQ(connection.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(connection.status().message().find("another cluster key"), std::string::npos)
        << connection.status().message();
  }
}

}  // namespace
}  // namespace granary::rdma::conformance
