// Connections that break: what is reported, when, and what comes after.

#include "tests/rdma/conformance/suite.h"

namespace granary::rdma::conformance {
namespace {

TEST_F(Conformance, ADeadPeerBreaksTheConnectionInTime) {
  world_->kill_peer(kPeer);
  EXPECT_LE(time_to_break(connection_), world_->death_notice_us());
  const Status status = endpoint_->status(connection_);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("node 2"), std::string::npos) << status.message();
  const Operation read = Operation::read(word(1), at(0), 8);
  EXPECT_EQ(endpoint_->post(connection_, {&read, 1}, Signal::kYes, 0), PostResult::kBroken);
}

TEST_F(Conformance, SignalledChainsOfABrokenConnectionComeOutEachOnce) {
  const Operation read = Operation::read(word(1), at(0), 8);
  ASSERT_EQ(endpoint_->post(connection_, {&read, 1}, Signal::kYes, 1), PostResult::kPosted);
  ASSERT_EQ(endpoint_->post(connection_, {&read, 1}, Signal::kNo, 2), PostResult::kPosted);
  ASSERT_EQ(endpoint_->post(connection_, {&read, 1}, Signal::kYes, 3), PostResult::kPosted);
  endpoint_->disconnect(connection_);
  for (const std::uint64_t tag : {1u, 3u}) {
    const auto completion = next(*endpoint_);
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->tag, tag);
  }
  Completion more;
  world_->advance();
  EXPECT_EQ(endpoint_->poll({&more, 1}), 0u);
}

TEST_F(Conformance, ChainsPostedAroundThePeersDeathAllComeOut) {
  std::uint64_t posted = 0;
  const Operation add = Operation::fetch_add(at(0), 1, word(1));
  const auto post = [&] {
    return endpoint_->post(connection_, {&add, 1}, Signal::kYes, posted) == PostResult::kPosted;
  };
  while (posted < endpoint_->limits().outstanding / 2 && post()) ++posted;
  world_->kill_peer(kPeer);
  while (posted < endpoint_->limits().outstanding && post()) ++posted;
  bool broken = false;
  for (std::uint64_t i = 0; i < posted; ++i) {
    const auto completion = next(*endpoint_);
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->tag, i);
    EXPECT_FALSE(broken && completion->status == CompletionStatus::kDone) << "done after broken";
    broken = completion->status == CompletionStatus::kBroken;
  }
  EXPECT_LE(time_to_break(connection_), world_->death_notice_us());
}

TEST_F(Conformance, ADisconnectedConnectionRefusesAndAnotherCanBeMade) {
  endpoint_->disconnect(connection_);
  const Operation add = Operation::fetch_add(at(0), 1, word(1));
  EXPECT_EQ(endpoint_->post(connection_, {&add, 1}, Signal::kYes, 0), PostResult::kBroken);
  EXPECT_FALSE(endpoint_->status(connection_).ok());
  const ConnectionId old = connection_;
  connection_ = connect(*endpoint_);
  EXPECT_NE(connection_, old);
  EXPECT_TRUE(run({add}));
  EXPECT_EQ(remote_word(0), 1u);
}

TEST_F(Conformance, NothingOfABrokenConnectionHappensAfterItsSuccessorIsThere) {
  const Rounds rounds(*world_);
  for (std::uint64_t i = 0; i < 50 && rounds.more(i); ++i) {
    *word(1) = 2 * i + 1;
    *word(2) = 2 * i + 2;
    const Operation late = Operation::write(at(0), word(1), 8);
    ASSERT_EQ(endpoint_->post(connection_, {&late, 1}, Signal::kNo, 0), PostResult::kPosted);
    endpoint_->disconnect(connection_);
    connection_ = connect(*endpoint_);
    ASSERT_TRUE(run({Operation::write(at(0), word(2), 8)}));
    for (int wait = 0; wait < 3; ++wait) world_->advance();
    ASSERT_EQ(remote_word(0), 2 * i + 2);
  }
}

TEST_F(Conformance, ARestartedPeerIsAnotherLifeWithFreshMemory) {
  *word(1) = 5;
  ASSERT_TRUE(run({Operation::write(at(0), word(1), 8)}));
  world_->kill_peer(kPeer);
  EXPECT_LE(time_to_break(connection_), world_->death_notice_us());
  world_->start_peer(kNextPeerLife);
  connection_ = connect(*endpoint_);
  EXPECT_EQ(endpoint_->peer_generation(connection_), kNextPeerLife.generation);
  const Operation stale = Operation::read(word(1), at(0), 8);
  EXPECT_EQ(endpoint_->post(connection_, {&stale, 1}, Signal::kYes, 0), PostResult::kStale);
  ASSERT_TRUE(run({Operation::read(word(2), at(0, kNextPeerLife.generation), 8)}));
  EXPECT_EQ(*word(2), 0u);
}

TEST_F(Conformance, ABrokenConnectionIsGivenUpWhenItsNodeIsTriedAgain) {
  world_->kill_peer(kPeer);
  EXPECT_LE(time_to_break(connection_), world_->death_notice_us());
  ASSERT_FALSE(endpoint_->connect(kPeer, 1000).ok());
  EXPECT_EQ(endpoint_->status(connection_).code(), StatusCode::kUnavailable);
  EXPECT_EQ(endpoint_->peer_generation(connection_), 0u);
  EXPECT_EQ(endpoint_->peer_region_bytes(connection_, kPeerRegion), 0u);
  const Operation add = Operation::fetch_add(at(0), 1, word(1));
  EXPECT_EQ(endpoint_->post(connection_, {&add, 1}, Signal::kYes, 0), PostResult::kBroken);
  EXPECT_EQ(endpoint_->ring(connection_, 0), PostResult::kBroken);
  endpoint_->disconnect(connection_);
}

TEST_F(Conformance, OtherConnectionsOutliveAPeersDeath) {
  world_->start_peer({.node = 3, .generation = 1, .layout = 77});
  const Result<ConnectionId> other = endpoint_->connect(3, kPatience_us);
  ASSERT_TRUE(other.ok()) << other.status().message();
  world_->kill_peer(kPeer);
  EXPECT_LE(time_to_break(connection_), world_->death_notice_us());
  const Operation add =
      Operation::fetch_add({.node = 3, .region = kPeerRegion, .generation = 1, .offset = 0}, 1, word(1));
  ASSERT_EQ(endpoint_->post(*other, {&add, 1}, Signal::kYes, 4), PostResult::kPosted);
  const auto completion = next(*endpoint_);
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->status, CompletionStatus::kDone);
}

}  // namespace
}  // namespace granary::rdma::conformance
