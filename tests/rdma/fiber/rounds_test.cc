// Steps in rounds, to several simulated nodes: all go out before anything is waited for, and what fails on one node is
// no business of the others.

#include "rdma/fiber/rounds.h"

#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "rdma/sim/sim_network.h"

namespace granary::rdma::fiber {
namespace {

constexpr NodeId kNodes = 4;  // the first one reaches the others

/// Adds 1 to a word, `rounds` times.
class Add final : public Step {
 public:
  Add(const RemoteAddress& at, std::uint64_t* buffer, unsigned rounds)
      : Step(at),
        at_(at),
        buffer_(buffer),
        left_(rounds) {}

  void append(std::vector<Operation>& chain) override { chain.push_back(Operation::fetch_add(at_, 1, buffer_)); }
  Next interpret() override { return --left_ == 0 ? Next::kEnded : left_ % 2 == 0 ? Next::kAtOnce : Next::kAfterPause; }
  void fail(Failure failure) override { failure_ = failure; }

  std::uint64_t before() const { return *buffer_; }
  std::optional<Failure> failure() const { return failure_; }

 private:
  RemoteAddress at_;
  std::uint64_t* buffer_;
  unsigned left_;
  std::optional<Failure> failure_;
};

class InRounds : public testing::Test, public base::Waiter {
 protected:
  InRounds() {
    for (NodeId id = 1; id <= kNodes; ++id) {
      regions_.push_back(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value());
      fabrics_.push_back(network_.open_fabric({.node = id, .generation = 1}).value());
      EXPECT_TRUE(fabrics_.back()->register_region({.id = 1}, *regions_.back()).ok());
      EXPECT_TRUE(fabrics_.back()->listen().ok());
    }
    endpoint_ = fabrics_[0]->open_endpoint().value();
    peers_ = std::make_unique<Peers>(*endpoint_);
    for (NodeId id = 2; id <= kNodes; ++id) EXPECT_TRUE(peers_->connect(id, 0).ok());
    shared_ = std::make_unique<FiberEndpoint>(*endpoint_);
  }
  void pause(std::uint32_t) override { network_.step(); }

  Add add(NodeId node, std::uint64_t offset = 0, unsigned rounds = 1, Generation life = 1) {
    auto* const word = reinterpret_cast<std::uint64_t*>(regions_[0]->base()) + words_++;
    return {{.node = node, .region = 1, .generation = life, .offset = offset}, word, rounds};
  }
  void run(std::vector<Step*> steps) {
    scheduler_.spawn([&] {
      FiberWaiter waiter(scheduler_);
      Rounds(scheduler_, *shared_, *peers_, waiter).run(steps);
    });
    scheduler_.run();
  }
  std::uint64_t word_of(NodeId node) const { return *reinterpret_cast<std::uint64_t*>(regions_[node - 1]->base()); }

  sim::SimNetwork network_{{.seed = 3}};
  std::vector<std::unique_ptr<memory::Region>> regions_;
  std::vector<std::unique_ptr<Fabric>> fabrics_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<FiberEndpoint> shared_;
  std::size_t words_ = 0;
  Scheduler scheduler_{[this] {
                         shared_->poll();
                         network_.step();
                       },
                       *this};
};

TEST_F(InRounds, EachStepTakesTheRoundsItWants) {
  Add one = add(2, 0, 1);
  Add four = add(3, 0, 4);
  Add two = add(2, 8, 2);
  run({&one, &four, &two});
  EXPECT_EQ(word_of(2), 1u);
  EXPECT_EQ(word_of(3), 4u);
  EXPECT_EQ(two.before(), 1u);
}

TEST_F(InRounds, ARoundToManyNodesIsOneRoundTrip) {
  const auto time_of = [&](std::vector<NodeId> nodes) {
    const std::uint64_t begin = network_.now();
    for (int i = 0; i < 20; ++i) {
      std::vector<Add> adds;
      std::vector<Step*> steps;
      for (const NodeId node : nodes) adds.push_back(add(node));
      for (Add& step : adds) steps.push_back(&step);
      run(steps);
    }
    return network_.now() - begin;
  };
  EXPECT_LT(time_of({2, 3, 4, 2, 3, 4}), 2 * time_of({2}));
}

TEST_F(InRounds, StepsToOneNodeTakeEffectInTheirOrder) {
  std::vector<Add> adds;
  std::vector<Step*> steps;
  for (int i = 0; i < 90; ++i) adds.push_back(add(static_cast<NodeId>(2 + i % 3)));  // some chains for each node
  for (Add& step : adds) steps.push_back(&step);
  run(steps);
  for (std::size_t i = 0; i < adds.size(); ++i) EXPECT_EQ(adds[i].before(), i / 3);
}

/// Its operations come to nothing for want of memory.
class WithoutMemory final : public Step {
 public:
  using Step::Step;
  void append(std::vector<Operation>&) override { throw std::bad_alloc(); }
  Next interpret() override { return Next::kEnded; }
  void fail(Failure) override {}
};

/// The steps of a round that an exception has ended are gone, and so are their buffers.
TEST_F(InRounds, ARoundPostsNothingOfOneThatAnExceptionHasEnded) {
  Add left = add(2), good = add(2);
  WithoutMemory refused({.node = 2, .region = 1, .generation = 1, .offset = 0});
  scheduler_.spawn([&] {
    FiberWaiter waiter(scheduler_);
    Rounds rounds(scheduler_, *shared_, *peers_, waiter);
    EXPECT_THROW(rounds.run(std::vector<Step*>{&left, &refused}), std::bad_alloc);
    rounds.run(std::vector<Step*>{&good});
  });
  scheduler_.run();
  EXPECT_EQ(word_of(2), 1u);
}

TEST_F(InRounds, WhatFailsOnOneNodeDoesNotTouchTheOthers) {
  network_.lose_connections(1, 3);
  Add good = add(2);
  Add broken = add(3);
  Add unknown = add(77);
  Add stale = add(4, 0, 1, 2);
  Add refused = add(4, std::uint64_t{1} << 40);
  Add odd = add(4, 4);
  Add also_good = add(4);
  run({&good, &broken, &unknown, &stale, &refused, &odd, &also_good});
  EXPECT_FALSE(good.failure());
  EXPECT_EQ(broken.failure(), Failure::kBroken);
  EXPECT_EQ(unknown.failure(), Failure::kBroken);
  EXPECT_EQ(stale.failure(), Failure::kStale);
  EXPECT_EQ(refused.failure(), Failure::kRefused);
  EXPECT_EQ(odd.failure(), Failure::kRefused);
  EXPECT_FALSE(also_good.failure());
  EXPECT_EQ(word_of(2), 1u);
  EXPECT_EQ(word_of(4), 1u);
}

/// The endpoint forgets which life a broken connection reached once another one was tried. The step is of that life all
/// the same: whoever posted it must not take it for one whose node is over, which would settle all by itself.
TEST_F(InRounds, WhatCannotBeReachedAgainIsNotOfAnEarlierLife) {
  network_.lose_connections(1, 2);
  network_.cut_link(1, 2);
  ASSERT_FALSE(peers_->connect(2, 0).ok());
  Add step = add(2);
  run({&step});
  EXPECT_EQ(step.failure(), Failure::kBroken);
}

TEST_F(InRounds, ABrokenNodeIsReachedAgainOnceConnected) {
  network_.lose_connections(1, 2);
  EXPECT_TRUE(peers_->connect(2, 0).ok());
  EXPECT_TRUE(peers_->connect(2, 0).ok()) << "it is";
  Add again = add(2);
  run({&again});
  EXPECT_FALSE(again.failure());
}

}  // namespace
}  // namespace granary::rdma::fiber
