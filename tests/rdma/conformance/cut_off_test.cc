// Lives that a node cuts off: nothing of them takes effect afterwards, they are refused, and later lives are let in.
// Processes that are stopped, or have closed their connection, are in tests/rdma/shm/cut_off_test.cc.

#include <array>

#include "src/base/shared_words.h"
#include "tests/rdma/conformance/suite.h"
#include "tests/rdma/conformance/zombie.h"

namespace granary::rdma::conformance {
namespace {

/// Node 1 offers a region, and node 2's lives are zombies.
class CutOff : public testing::Test {
 protected:
  static constexpr NodeId kHere = 1;
  static constexpr NodeId kPeer = 2;
  static constexpr NodeId kOther = 3;
  static constexpr NodeId kObserver = 4;
  using Words = std::array<std::uint64_t, Zombie::kWords>;

  struct Node {
    std::unique_ptr<memory::Region> region;
    std::unique_ptr<Fabric> fabric;
    std::unique_ptr<Endpoint> endpoint;
  };

  static NodeOptions life(NodeId node, Generation generation) {
    return {.node = node, .generation = generation, .layout = 77};
  }
  Node open(NodeId id) {
    Node node;
    node.region =
        memory::Region::map({.reserve_bytes = kPeerBytes, .huge_pages = HugePages::kOff, .shared = true}).value();
    node.fabric = world_->open_fabric(life(id, 1));
    EXPECT_TRUE(node.fabric->register_region({.id = kPeerRegion}, *node.region).ok());
    return node;
  }
  static void listen(Node& node) {
    ASSERT_TRUE(node.fabric->listen().ok());
    node.endpoint = node.fabric->open_endpoint().value();
  }
  void SetUp() override { here_ = open(kHere); }

  static std::uint64_t* word(const Node& node, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(node.region->base() + offset);
  }
  Words words() const {
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = base::load_word(word(here_, Zombie::offset_of(i)));
    return words;
  }
  template <typename Happened>
  bool until(Happened&& happened) {
    const std::uint64_t end = world_->now_us() + kPatience_us;
    while (!happened()) {
      if (world_->now_us() > end) return false;
      world_->advance();
    }
    return true;
  }
  /// True once each of the words has changed.
  bool zombie_works() {
    const Words before = words();
    return until([&] {
      const Words now = words();
      return now[0] != before[0] && now[1] != before[1] && now[2] != before[2];
    });
  }
  void expect_nothing_happens() {
    const Words before = words();
    const std::uint64_t end = world_->now_us() + kLook_us;
    while (world_->now_us() < end) world_->advance();
    EXPECT_EQ(words(), before);
  }
  /// Runs a chain of one operation; whether it was done.
  bool run(const Node& node, ConnectionId connection, const Operation& operation) {
    if (node.endpoint->post(connection, {&operation, 1}, Signal::kYes, 0) != PostResult::kPosted) return false;
    Completion completion;
    if (!until([&] { return node.endpoint->poll({&completion, 1}) == 1; })) return false;
    return completion.status == CompletionStatus::kDone;
  }
  std::optional<Zombie::Account> account(const Node& observer, ConnectionId connection, Generation generation) {
    const RemoteAddress from{.node = kPeer, .region = kPeerRegion, .generation = generation, .offset = 0};
    if (!run(observer, connection, Operation::read(observer.region->base(), from, sizeof(Zombie::Account)))) return {};
    Zombie::Account account;
    std::memcpy(static_cast<void*>(&account), observer.region->base(), sizeof account);
    return account;
  }
  /// Waits until the zombie has been refused, and says by which code.
  StatusCode refusal(const Node& observer, ConnectionId connection, Generation generation) {
    std::optional<Zombie::Account> told;
    EXPECT_TRUE(until([&] {
      told = account(observer, connection, generation);
      return !told || told->refusal != 0;
    }));
    return told ? static_cast<StatusCode>(told->refusal) : StatusCode::kOk;
  }
  ConnectionId connect(const Node& node, NodeId peer) {
    const Result<ConnectionId> made = node.endpoint->connect(peer, kPatience_us);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : 0;
  }
  void cut_off(Generation last) {
    const Status status = here_.fabric->cut_off(kPeer, last);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  static constexpr std::uint64_t kLook_us = 200'000;
  const std::unique_ptr<World> world_ = make_world();
  Node here_;
};

TEST_F(CutOff, NothingOfThatLifeTakesEffectAnyMoreAndALaterOneIsLetIn) {
  listen(here_);
  for (const Generation generation : {3u, 4u, 6u}) {
    SCOPED_TRACE(generation);
    world_->start_zombie(life(kPeer, generation));
    ASSERT_TRUE(zombie_works());
    cut_off(generation);
    expect_nothing_happens();
    cut_off(generation);
    cut_off(1);
    expect_nothing_happens();
    world_->kill_peer(kPeer);
  }
  world_->start_zombie(life(kPeer, 7));
  EXPECT_TRUE(zombie_works());
  cut_off(6);
  EXPECT_TRUE(zombie_works()) << "it is a later life";
  const ConnectionId connection = connect(here_, kPeer);
  EXPECT_EQ(here_.endpoint->peer_generation(connection), 7u);
}

TEST_F(CutOff, ThatLifeSeesItsConnectionBreakAndIsRefusedOrIsDead) {
  listen(here_);
  Node observer = open(kObserver);
  listen(observer);
  world_->start_zombie(life(kPeer, 3));
  ASSERT_TRUE(zombie_works());
  const ConnectionId connection = connect(observer, kPeer);
  const auto before = account(observer, connection, 3);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->broken, 0u);
  EXPECT_EQ(before->failed, 0u);
  cut_off(3);
  if (world_->cutting_kills()) {
    EXPECT_TRUE(until([&] { return !observer.endpoint->status(connection).ok(); }));
    return;
  }
  EXPECT_EQ(refusal(observer, connection, 3), StatusCode::kFailedPrecondition);
  const auto after = account(observer, connection, 3);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->broken, 1u);
  EXPECT_GT(after->failed, 0u) << "the zombie is told that its operations fail";
}

TEST_F(CutOff, ALifeThatIsStoppedMeanwhileChangesNothingWhenItGoesOn) {
  listen(here_);
  Node observer = open(kObserver);
  listen(observer);
  world_->start_zombie(life(kPeer, 3));
  ASSERT_TRUE(zombie_works());
  const ConnectionId connection = connect(observer, kPeer);
  world_->stop_peer(kPeer);
  cut_off(3);
  const Words after = words();
  world_->resume_peer(kPeer);
  expect_nothing_happens();
  EXPECT_EQ(words(), after);
  if (world_->cutting_kills()) return;
  EXPECT_EQ(refusal(observer, connection, 3), StatusCode::kFailedPrecondition);
  EXPECT_EQ(words(), after);
  EXPECT_GT(account(observer, connection, 3).value_or(Zombie::Account()).failed, 0u) << "it has tried";
}

TEST_F(CutOff, ALifeThatHasNeverConnectedIsRefusedInBothDirections) {
  Node observer = open(kObserver);
  listen(observer);
  cut_off(3);
  listen(here_);
  cut_off(4);
  world_->start_zombie(life(kPeer, 4));
  const ConnectionId connection = connect(observer, kPeer);
  EXPECT_EQ(refusal(observer, connection, 4), StatusCode::kFailedPrecondition);
  const Status refused = here_.endpoint->connect(kPeer, 100'000).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_NE(refused.message().find("generation 4 of node 2"), std::string::npos) << refused.message();
  EXPECT_EQ(words(), Words{});
}

TEST_F(CutOff, ConnectionsToThatLifeBreak) {
  listen(here_);
  world_->start_peer(life(kPeer, 3));
  const ConnectionId connection = connect(here_, kPeer);
  const auto second = here_.fabric->open_endpoint().value();
  const ConnectionId of_second = second->connect(kPeer, kPatience_us).value();
  const RemoteAddress at{.node = kPeer, .region = kPeerRegion, .generation = 3, .offset = 0};
  const Operation add = Operation::fetch_add(at, 1, word(here_, 0));
  for (const std::uint64_t tag : {1u, 2u, 3u}) {
    ASSERT_EQ(here_.endpoint->post(connection, {&add, 1}, Signal::kYes, tag), PostResult::kPosted);
  }
  cut_off(5);
  const Status status = here_.endpoint->status(connection);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("cut off"), std::string::npos) << status.message();
  EXPECT_EQ(here_.endpoint->post(connection, {&add, 1}, Signal::kYes, 4), PostResult::kBroken);
  EXPECT_EQ(second->post(of_second, {&add, 1}, Signal::kYes, 4), PostResult::kBroken);
  for (const std::uint64_t tag : {1u, 2u, 3u}) {
    Completion completion;
    ASSERT_TRUE(until([&] { return here_.endpoint->poll({&completion, 1}) == 1; }));
    EXPECT_EQ(completion.tag, tag);
  }
  EXPECT_EQ(here_.endpoint->connect(kPeer, 10'000).status().code(), StatusCode::kUnavailable);
}

TEST_F(CutOff, BesideAWorkerThatPostsItTouchesNoOtherPeer) {
  listen(here_);
  world_->start_peer(life(kPeer, 3));
  world_->start_peer(life(kOther, 3));
  const ConnectionId to_peer = connect(here_, kPeer);
  const ConnectionId to_other = connect(here_, kOther);
  std::uint64_t done[2] = {0, 0};
  const auto turn = [&] {
    for (const NodeId node : {kPeer, kOther}) {
      const RemoteAddress at{.node = node, .region = kPeerRegion, .generation = 3, .offset = 0};
      const Operation add = Operation::fetch_add(at, 1, word(here_, 0));
      (void)here_.endpoint->post(node == kPeer ? to_peer : to_other, {&add, 1}, Signal::kYes, node);
    }
    Completion completions[8];
    const std::size_t count = here_.endpoint->poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(completions[i].tag == kPeer || completions[i].status == CompletionStatus::kDone);
      if (completions[i].status == CompletionStatus::kDone) ++done[completions[i].tag - kPeer];
    }
  };
  ASSERT_TRUE(until([&] {
    turn();
    return done[0] != 0 && done[1] != 0;
  }));
  world_->beside([&] { cut_off(3); }, turn);
  EXPECT_FALSE(here_.endpoint->status(to_peer).ok());
  EXPECT_TRUE(here_.endpoint->status(to_other).ok());
  const std::uint64_t before = done[1];
  EXPECT_TRUE(until([&] {
    turn();
    return done[1] >= before + 10;
  }));
}

TEST_F(CutOff, ANodeDoesNotCutItselfOff) {
  listen(here_);
  const Status status = here_.fabric->cut_off(kHere, 1);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("cannot cut itself off"), std::string::npos) << status.message();
  const ConnectionId home = connect(here_, kHere);
  const RemoteAddress at{.node = kHere, .region = kPeerRegion, .generation = 1, .offset = 0};
  EXPECT_TRUE(run(here_, home, Operation::fetch_add(at, 1, word(here_, 8))));
}

}  // namespace
}  // namespace granary::rdma::conformance
