// What the simulator does to operations: everything that the contract allows must really happen with some seed, and
// nothing else with any. Each case runs many seeds; a failure names the one to replay.

#include "rdma/sim/sim_network.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"

namespace granary::rdma::sim {
namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr std::uint64_t kLong = 1'000'000'000;  // ns: everything under way has happened

/// A node with one region, of which words are named by their index.
struct Node {
  Node(SimNetwork& network, NodeId id, Generation generation = 1, bool reliable = false) {
    region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value();
    join(network, id, generation, reliable);
  }
  void join(SimNetwork& network, NodeId id, Generation generation, bool reliable = false) {
    endpoint.reset();
    fabric.reset();
    fabric = network.open_fabric({.node = id, .generation = generation}).value();
    EXPECT_TRUE(fabric->register_region({.id = 1, .reliable = reliable}, *region).ok());
    EXPECT_TRUE(fabric->listen().ok());
    endpoint = fabric->open_endpoint().value();
  }
  ConnectionId connect(NodeId peer) const { return endpoint->connect(peer, 0).value(); }
  std::uint64_t* word(std::size_t n) const { return reinterpret_cast<std::uint64_t*>(region->base()) + n; }
  RemoteAddress at(std::size_t n) const {
    return {.node = fabric->node().node, .region = 1, .generation = fabric->node().generation, .offset = 8 * n};
  }
  PostResult post(ConnectionId connection, std::initializer_list<Operation> chain) const {
    return endpoint->post(connection, std::span(chain.begin(), chain.size()), Signal::kYes, 0);
  }
  /// Polls all that there is; how many chains were done.
  std::size_t done() const {
    Completion completions[64];
    const std::size_t count = endpoint->poll(completions);
    return static_cast<std::size_t>(std::count_if(completions, completions + count, [](const Completion& completion) {
      return completion.status == CompletionStatus::kDone;
    }));
  }

  std::unique_ptr<memory::Region> region;
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Endpoint> endpoint;
};

struct Cluster {
  explicit Cluster(SimOptions options) : network(options) {}
  explicit Cluster(std::uint64_t seed) : Cluster(SimOptions{.seed = seed}) {}

  SimNetwork network;
  Node a{network, 1};
  Node b{network, 2};
  ConnectionId to_b = a.connect(2);
};

/// In how many of the seeds `happens` is true.
std::uint64_t count_seeds(const std::function<bool(Cluster& cluster)>& happens) {
  std::uint64_t count = 0;
  for (const std::uint64_t seed : tests::seeds(kSeeds)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Cluster cluster(seed);
    count += happens(cluster) ? 1 : 0;
    if (testing::Test::HasFailure()) break;
  }
  return count;
}

TEST(Sim, AnUnfencedWriteOvertakesAReadOnlySometimesAndAFencedOneNever) {
  const auto overtakes = [](bool fenced) {
    return count_seeds([fenced](Cluster& c) {
      *c.a.word(1) = 7;
      EXPECT_EQ(c.a.post(c.to_b, {Operation::read(c.a.word(0), c.b.at(0), 8),
                                  Operation::write(c.b.at(0), c.a.word(1), 8, fenced)}),
                PostResult::kPosted);
      c.network.run_for(kLong);
      return *c.a.word(0) == 7;
    });
  };
  const std::uint64_t unfenced = overtakes(false);
  if (tests::all_seeds()) {
    EXPECT_GT(unfenced, kSeeds / 10);
  }
  if (tests::all_seeds()) {
    EXPECT_LT(unfenced, kSeeds);
  }
  EXPECT_EQ(overtakes(true), 0u);
}

TEST(Sim, AReadOfSeveralLinesTearsInAnyOrderButNoLineDoes) {
  bool low_first = false;
  bool high_first = false;
  (void)count_seeds([&](Cluster& c) {
    EXPECT_EQ(c.a.post(c.to_b, {Operation::read(c.a.word(0), c.b.at(0), 256)}), PostResult::kPosted);
    for (std::uint64_t i = 1; c.network.step(); ++i) std::fill(c.b.word(0), c.b.word(32), i);
    for (std::size_t w = 0; w < 32; w += 8) {
      EXPECT_EQ(std::count(c.a.word(w), c.a.word(w + 8), *c.a.word(w)), 8) << "within a line";
    }
    low_first |= *c.a.word(0) < *c.a.word(31);
    high_first |= *c.a.word(0) > *c.a.word(31);
    return true;
  });
  EXPECT_TRUE(low_first && high_first);
}

TEST(Sim, AWriteTearsAndLandsInAnyOrder) {
  bool low_first = false;
  bool high_first = false;
  (void)count_seeds([&](Cluster& c) {
    std::fill(c.a.word(0), c.a.word(32), 9);
    EXPECT_EQ(c.a.post(c.to_b, {Operation::write(c.b.at(0), c.a.word(0), 256)}), PostResult::kPosted);
    while (c.network.step()) {
      low_first |= *c.b.word(0) == 9 && *c.b.word(31) == 0;
      high_first |= *c.b.word(0) == 0 && *c.b.word(31) == 9;
    }
    EXPECT_EQ(std::count(c.b.word(0), c.b.word(32), 9), 32);
    return true;
  });
  EXPECT_TRUE(low_first && high_first);
}

TEST(Sim, ConnectionsAreNotOrderedAmongEachOther) {
  const std::uint64_t second_first = count_seeds([](Cluster& c) {
    const auto other = c.a.fabric->open_endpoint().value();
    const ConnectionId second = other->connect(2, 0).value();
    const Operation first_add = Operation::fetch_add(c.b.at(0), 1, c.a.word(0));
    const Operation second_add = Operation::fetch_add(c.b.at(0), 1, c.a.word(1));
    EXPECT_EQ(c.a.endpoint->post(c.to_b, {&first_add, 1}, Signal::kYes, 0), PostResult::kPosted);
    EXPECT_EQ(other->post(second, {&second_add, 1}, Signal::kYes, 0), PostResult::kPosted);
    c.network.run_for(kLong);
    return *c.a.word(0) == 1;
  });
  if (tests::all_seeds()) {
    EXPECT_GT(second_first, kSeeds / 10);
  }
  if (tests::all_seeds()) {
    EXPECT_LT(second_first, kSeeds);
  }
}

TEST(Sim, ABrokenConnectionLeavesABeginningOfItsWritesAndReportsAll) {
  constexpr std::size_t kWrites = 8;
  std::uint64_t none = 0;
  std::uint64_t all = 0;
  std::uint64_t later = 0;
  (void)count_seeds([&](Cluster& c) {
    for (std::size_t i = 0; i < kWrites; ++i) {
      *c.a.word(i) = i + 1;
      EXPECT_EQ(c.a.post(c.to_b, {Operation::write(c.b.at(i), c.a.word(i), 8)}), PostResult::kPosted);
    }
    c.network.run_for(c.network.random().below(100'000));
    c.network.lose_connections(1, 2);
    const auto landed = [&] {
      return kWrites - static_cast<std::size_t>(std::count(c.b.word(0), c.b.word(kWrites), 0));
    };
    const std::size_t at_first = landed();
    Completion completions[kWrites + 1];
    EXPECT_EQ(c.a.endpoint->poll(completions), kWrites);
    std::fill(c.a.word(0), c.a.word(kWrites), 99);  // the buffers are ours again
    c.network.run_for(kLong);
    for (std::size_t i = 0; i < kWrites; ++i) EXPECT_EQ(*c.b.word(i), i < landed() ? i + 1 : 0);
    none += landed() == 0 ? 1 : 0;
    all += landed() == kWrites ? 1 : 0;
    later += landed() > at_first ? 1 : 0;
    return true;
  });
  EXPECT_GT(none, 0u);
  EXPECT_GT(all, 0u);
  EXPECT_GT(later, 0u) << "effects after the break are what I5 is about";
}

TEST(Sim, ACompletionIsLostAfterTheOperationTookEffect) {
  const std::uint64_t lost = count_seeds([](Cluster& c) {
    EXPECT_EQ(c.a.post(c.to_b, {Operation::compare_swap(c.b.at(0), 0, 5, c.a.word(0))}), PostResult::kPosted);
    c.network.cut_link(2, 1);
    c.network.run_for(kLong);
    EXPECT_EQ(c.a.done(), 0u);
    EXPECT_FALSE(c.a.endpoint->status(c.to_b).ok());
    return *c.b.word(0) == 5;
  });
  if (tests::all_seeds()) {
    EXPECT_GT(lost, kSeeds * 9 / 10) << "all but where the loss was noticed before the request arrived";
  }
}

TEST(Sim, RequestsDoNotPassACutLinkAndConnectingTakesAHealedOne) {
  (void)count_seeds([](Cluster& c) {
    c.network.partition({1}, {2});
    *c.a.word(0) = 5;
    EXPECT_EQ(c.a.post(c.to_b, {Operation::write(c.b.at(0), c.a.word(0), 8)}), PostResult::kPosted);
    c.network.run_for(kLong);
    EXPECT_EQ(*c.b.word(0), 0u);
    EXPECT_EQ(c.a.endpoint->connect(2, 0).status().code(), StatusCode::kUnavailable);
    c.network.heal_link(1, 2);
    EXPECT_EQ(c.a.endpoint->connect(2, 0).status().code(), StatusCode::kUnavailable) << "one direction is not enough";
    c.network.heal_link(2, 1);
    EXPECT_TRUE(c.a.endpoint->connect(2, 0).ok());
    return true;
  });
}

TEST(Sim, ChainsBreakAtRandomAsOftenAsAskedFor) {
  std::uint64_t broken = 0;
  for (const std::uint64_t seed : tests::seeds(kSeeds)) {
    Cluster c({.seed = seed, .loss = 0.5});
    EXPECT_EQ(c.a.post(c.to_b, {Operation::read(c.a.word(0), c.b.at(0), 8)}), PostResult::kPosted);
    c.network.run_for(kLong);
    broken += c.a.endpoint->status(c.to_b).ok() ? 0 : 1;
  }
  if (tests::all_seeds()) {
    EXPECT_NEAR(static_cast<double>(broken), kSeeds / 2.0, kSeeds / 5.0);
  }
}

TEST(Sim, ACrashDestroysWhatIsNotReliable) {
  SimNetwork network({.seed = 1});
  Node plain(network, 1);
  Node reliable(network, 2, 1, /*reliable=*/true);
  *plain.word(0) = *reliable.word(0) = 5;
  network.crash(1);
  network.crash(2);
  EXPECT_NE(*plain.word(0), 5u);
  EXPECT_EQ(*reliable.word(0), 5u);
}

TEST(Sim, WhatADeadNodeWasAskedDoesNotComplete) {
  (void)count_seeds([](Cluster& c) {
    c.network.crash(2);
    *c.a.word(0) = 5;
    const PostResult posted = c.a.post(c.to_b, {Operation::read(c.a.word(0), c.b.at(0), 8)});
    c.network.run_for(kLong);
    Completion completion;
    while (c.a.endpoint->poll({&completion, 1}) != 0) EXPECT_EQ(completion.status, CompletionStatus::kBroken);
    EXPECT_EQ(*c.a.word(0), 5u);
    return posted == PostResult::kPosted;
  });
}

TEST(Sim, ACrashedNodeDoesNothingMoreAndItsNextLifeIsReachedAnew) {
  (void)count_seeds([](Cluster& c) {
    bool ran = false;
    c.network.schedule(2, 1000, [&] { ran = true; });
    const ConnectionId to_a = c.b.connect(1);
    c.network.crash(2);
    EXPECT_EQ(c.b.post(to_a, {Operation::read(c.b.word(0), c.a.at(0), 8)}), PostResult::kBroken);
    c.network.run_for(kLong);
    EXPECT_FALSE(ran);
    EXPECT_FALSE(c.a.endpoint->status(c.to_b).ok());
    EXPECT_EQ(c.network.open_fabric({.node = 2, .generation = 1}).status().code(), StatusCode::kInvalidArgument);
    c.b.join(c.network, 2, 2);
    c.to_b = c.a.connect(2);
    EXPECT_EQ(c.a.post(c.to_b, {Operation::fetch_add(c.b.at(0), 1, c.a.word(0))}), PostResult::kPosted);
    c.network.run_for(kLong);
    EXPECT_EQ(c.a.done(), 1u);
    return true;
  });
}

TEST(Sim, NothingOfAnEarlierLifeHappensOnceTheNextOneIsConnected) {
  const std::uint64_t landed_before = count_seeds([](Cluster& c) {
    *c.a.word(0) = 1;
    EXPECT_EQ(c.a.post(c.to_b, {Operation::write(c.b.at(0), c.a.word(0), 8)}), PostResult::kPosted);
    c.network.crash(1);
    c.a.join(c.network, 1, 2);
    c.network.run_for(5'000);
    const std::uint64_t before = *c.b.word(0);
    (void)c.a.connect(2);
    c.network.run_for(kLong);
    EXPECT_EQ(*c.b.word(0), before);
    return before == 1;
  });
  EXPECT_GT(landed_before, 0u) << "a crashed node's WRITEs may land before that";
}

TEST(Sim, NothingUnderWayHappensOnceALifeIsCutOffThatHasCrashedOrLives) {
  std::uint64_t before = 0;
  std::uint64_t late = 0;
  for (const bool crashed : {false, true}) {
    (void)count_seeds([&](Cluster& c) {
      std::fill(c.a.word(0), c.a.word(32), 9);
      EXPECT_EQ(c.a.post(c.to_b, {Operation::write(c.b.at(0), c.a.word(0), 256)}), PostResult::kPosted);
      c.network.run_for(c.network.random().below(30'000));
      if (crashed) c.network.crash(1);
      EXPECT_TRUE(c.b.fabric->cut_off(1, 1).ok());
      const std::ptrdiff_t landed = std::count(c.b.word(0), c.b.word(32), 9);
      c.network.run_for(kLong);
      EXPECT_EQ(std::count(c.b.word(0), c.b.word(32), 9), landed);
      EXPECT_FALSE(c.a.endpoint->status(c.to_b).ok());
      before += landed == 32 ? 1 : 0;
      late += landed < 32 ? 1 : 0;
      return true;
    });
  }
  if (tests::all_seeds()) {
    EXPECT_GT(before, 0u) << "what has arrived before takes effect";
    EXPECT_GT(late, 0u);
  }
}

TEST(Sim, ClocksAreWrongByOffsetAndDrift) {
  SimNetwork network({.seed = 1});
  network.set_clock(1, {.offset = 3'600'000'000'000, .drift_per_million = -50});
  network.run_for(1'000'000'000);
  EXPECT_EQ(network.clock(2), 1'000'000'000u);
  EXPECT_EQ(network.clock(1), 3'601'000'000'000u - 50'000u);
}

/// Three nodes that add to each other's words and write, with everything that can go wrong.
std::string run_of(std::uint64_t seed) {
  SimNetwork network({.seed = seed, .loss = 0.02, .keep_trace = true});
  base::Random& random = network.random();
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<std::pair<NodeId, NodeId>, ConnectionId> connections;
  for (NodeId id = 0; id < 3; ++id) nodes.push_back(std::make_unique<Node>(network, id));
  Generation life = 1;
  for (int turn = 0; turn < 2'000; ++turn) {
    const auto from = static_cast<NodeId>(random.below(3));
    const auto to = static_cast<NodeId>(random.below(3));
    Node& node = *nodes[from];
    const auto connection = node.endpoint->connect(to, 0);
    if (connection.ok()) connections[{from, to}] = *connection;
    if (connection.ok() || connection.status().code() == StatusCode::kAlreadyExists) {
      (void)node.post(connections[{from, to}], {Operation::fetch_add(nodes[to]->at(0), 1, node.word(1)),
                                                Operation::write(nodes[to]->at(8), node.word(8), 256)});
    }
    if (random.chance(0.01)) network.partition({from}, {to});
    if (random.chance(0.1)) network.heal_link(from, to);
    if (random.chance(0.005)) network.crash(to);
    if (random.chance(0.02)) {
      network.crash(to);
      nodes[to]->join(network, to, ++life);
    }
    (void)node.done();
    network.run_for(random.below(20'000));
  }
  network.run_for(kLong);
  network.trace("end " + std::to_string(network.trace_hash()));
  return network.trace_text();
}

TEST(Sim, TheSameSeedIsTheSameTraceByteForByte) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const std::string trace = run_of(seed);
    EXPECT_GT(trace.size(), 10'000u);
    EXPECT_EQ(trace, run_of(seed)) << "seed " << seed;
  }
  EXPECT_NE(run_of(1), run_of(2));
}

}  // namespace
}  // namespace granary::rdma::sim
