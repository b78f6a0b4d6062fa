// Fibers: switching, stacks, order; and waiting on the fabric in them, over the simulator, where time passes between
// the fibers' turns. Under the sanitizers these tests show that they follow the switches.

#include "src/base/fiber.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rdma/fiber/fabric_wait.h"
#include "rdma/sim/sim_network.h"
#include "src/base/sanitizers.h"
#include "tests/support/allocations.h"

namespace granary::rdma::fiber {
namespace {

using base::Fiber;

/// AddressSanitizer knows frames of stacks, also of one that is not there any more.
TEST(Fiber, WhatIsMappedWhereAStackWasIsOrdinaryMemory) {
  constexpr std::uintptr_t kPage = 4096;
  void* page = nullptr;
  auto fiber = std::make_unique<Fiber>([&page] {
    volatile char frame[300];
    frame[0] = 1;
    page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&frame[0]) / kPage * kPage);
  });
  fiber->resume();
  fiber.reset();
  void* const mapped = ::mmap(page, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  for (std::uintptr_t i = 0; i < kPage; ++i) static_cast<volatile char*>(mapped)[i] = 1;
  ::munmap(mapped, kPage);
}

TEST(Fiber, RunsFromSuspensionToSuspension) {
  std::string order;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    order += 'b';
    self->suspend();
    order += 'd';
  });
  self = &fiber;
  order += 'a';
  fiber.resume();
  order += 'c';
  EXPECT_FALSE(fiber.ended());
  fiber.resume();
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(order, "abcd");
}

TEST(Fiber, OneThatNeverBeganIsJustDestroyed) {
  const Fiber fiber([] {});
}

/// The text of the exception that is being handled here.
std::string caught() {
  try {
    throw;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

/// Throws and catches `text`, calls `within` while it is being handled, and returns what is being handled afterwards.
std::string caught_after(const char* text, const std::function<void()>& within) {
  try {
    throw std::runtime_error(text);
  } catch (const std::runtime_error&) {
    within();
    return caught();
  }
}

TEST(Fiber, AnExceptionThatIsHandledIsItsOwn) {
  std::array<std::unique_ptr<Fiber>, 2> fibers;
  std::array<std::string, 2> seen;
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    fibers[i] = std::make_unique<Fiber>([&, i] {
      seen[i] = caught_after(i == 0 ? "of the first" : "of the second", [&] { fibers[i]->suspend(); });
      EXPECT_EQ(std::current_exception(), nullptr);
    });
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& fiber : fibers) fiber->resume();
  }
  EXPECT_EQ(seen[0], "of the first");
  EXPECT_EQ(seen[1], "of the second");
}

TEST(Fiber, AnExceptionThatItsResumerHandlesIsNotTheFibers) {
  std::string seen;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    EXPECT_EQ(std::current_exception(), nullptr);
    seen = caught_after("of the fiber", [&] { self->suspend(); });
  });
  self = &fiber;
  EXPECT_EQ(caught_after("of the resumer", [&] { fiber.resume(); }), "of the resumer");
  EXPECT_EQ(std::current_exception(), nullptr);
  fiber.resume();
  EXPECT_EQ(seen, "of the fiber");
}

/// Suspends a fiber where it goes, as an open transaction does that is aborted at other nodes.
struct SuspendsAtEnd {
  Fiber*& fiber;
  ~SuspendsAtEnd() {
    fiber->suspend();
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

TEST(Fiber, AnExceptionThatIsUnderWayIsItsOwn) {
  Fiber* self = nullptr;
  Fiber fiber([&] {
    try {
      const SuspendsAtEnd open{self};
      throw std::runtime_error("under way");
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "under way");
    }
  });
  self = &fiber;
  fiber.resume();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  fiber.resume();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

/// Uses a good part of the stack at each depth.
std::uint64_t sum_deep(int depth, Scheduler& scheduler) {
  std::array<std::uint64_t, 256> local;
  std::iota(local.begin(), local.end(), static_cast<std::uint64_t>(depth));
  scheduler.yield();
  const std::uint64_t below = depth == 0 ? 0 : sum_deep(depth - 1, scheduler);
  return below + std::accumulate(local.begin(), local.end(), std::uint64_t{0});
}

TEST(Scheduler, StacksOfManyFibersAreTheirOwn) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  std::vector<std::uint64_t> sums;
  for (int i = 0; i < 50; ++i) scheduler.spawn([&] { sums.push_back(sum_deep(20, scheduler)); });
  scheduler.run();
  ASSERT_EQ(sums.size(), 50u);
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, sums[0]);
}

/// Returns how many bytes of addresses this process has.
rlim_t address_bytes() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Scheduler, AFiberWithoutRoomForItsStackIsNotMade) {
  if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "sanitizers map memory of their own";
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  int ran = 0;
  scheduler.spawn([&] { ++ran; });
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit low{.rlim_cur = address_bytes() + base::kStackBytes / 4, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &low), 0);
  EXPECT_THROW(scheduler.spawn([&] { ++ran; }), std::bad_alloc);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  scheduler.spawn([&] { ++ran; });
  scheduler.run();
  EXPECT_EQ(ran, 2);
}

TEST(Scheduler, AFiberWithoutMemoryLeavesNoStack) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  constexpr int kFibers = 100;
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  const rlim_t before = address_bytes();
  for (int i = 0; i < kFibers; ++i) {
    tests::failing_allocation = tests::allocations + 1;
    EXPECT_THROW(scheduler.spawn([] {}), std::bad_alloc);
    tests::failing_allocation = 0;
  }
  EXPECT_LT(address_bytes(), before + kFibers * base::kStackBytes / 2);
}

/// Two simulated nodes; the fibers are of the first one.
class FabricWait : public testing::Test, public base::Waiter {
 protected:
  FabricWait() {
    for (NodeId id : {NodeId{1}, NodeId{2}}) {
      regions_.push_back(memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value());
      fabrics_.push_back(network_.open_fabric({.node = id, .generation = 1}).value());
      EXPECT_TRUE(fabrics_.back()->register_region({.id = 1}, *regions_.back()).ok());
      EXPECT_TRUE(fabrics_.back()->listen().ok());
    }
    endpoint_ = fabrics_[0]->open_endpoint().value();
    connection_ = endpoint_->connect(2, 0).value();
    shared_ = std::make_unique<FiberEndpoint>(
        *endpoint_, [this](const Completion& completion) { others_.push_back(completion.tag); });
  }
  void pause(std::uint32_t) override { network_.step(); }

  static RemoteAddress at(std::size_t word) { return {.node = 2, .region = 1, .generation = 1, .offset = 8 * word}; }
  std::uint64_t* word(std::size_t n) const { return reinterpret_cast<std::uint64_t*>(regions_[0]->base()) + n; }

  sim::SimNetwork network_{{.seed = 1}};
  std::vector<std::unique_ptr<memory::Region>> regions_;
  std::vector<std::unique_ptr<Fabric>> fabrics_;
  std::unique_ptr<Endpoint> endpoint_;
  ConnectionId connection_ = 0;
  std::vector<std::uint64_t> others_;
  std::unique_ptr<FiberEndpoint> shared_;
  Scheduler scheduler_{[this] {
                         shared_->poll();
                         network_.step();
                       },
                       *this};
};

TEST_F(FabricWait, ManyFibersWaitAtTheSameTime) {
  constexpr std::size_t kFibers = 100;  // more than the connection has room for
  const auto time_of = [&](std::size_t fibers) {
    const std::uint64_t begin = network_.now();
    std::size_t ended = 0;
    for (std::size_t i = 0; i < fibers; ++i) {
      scheduler_.spawn([&, i] {
        for (int round = 0; round < 5; ++round) {
          Chains chains(scheduler_, *shared_);
          const Operation add = Operation::fetch_add(at(i), 1, word(i));
          EXPECT_EQ(chains.post(connection_, {&add, 1}), PostResult::kPosted);
          EXPECT_TRUE(chains.wait());
        }
        ++ended;
      });
    }
    scheduler_.run();
    EXPECT_EQ(ended, fibers);
    return network_.now() - begin;
  };
  const std::uint64_t alone = time_of(1);
  EXPECT_LT(time_of(kFibers), alone * kFibers / 4) << "waits do not overlap";
  EXPECT_EQ(*word(kFibers - 1), 4u);
}

TEST_F(FabricWait, SeveralChainsAreWaitedForOnce) {
  scheduler_.spawn([&] {
    Chains chains(scheduler_, *shared_);
    for (std::size_t i = 0; i < 10; ++i) {
      const Operation add = Operation::fetch_add(at(0), 1, word(i));
      EXPECT_EQ(chains.post(connection_, {&add, 1}), PostResult::kPosted);
    }
    EXPECT_TRUE(chains.wait());
    EXPECT_EQ(*word(9), 9u);
  });
  scheduler_.run();
}

TEST_F(FabricWait, ABrokenConnectionEndsTheWaitAsFailed) {
  scheduler_.spawn([&] {
    Chains chains(scheduler_, *shared_);
    const Operation add = Operation::fetch_add(at(0), 1, word(0));
    EXPECT_EQ(chains.post(connection_, {&add, 1}), PostResult::kPosted);
    network_.lose_connections(1, 2);
    EXPECT_FALSE(chains.wait());
    EXPECT_EQ(chains.post(connection_, {&add, 1}), PostResult::kBroken);
    EXPECT_FALSE(chains.wait());
  });
  scheduler_.run();
}

TEST_F(FabricWait, CompletionsThatAreNoFibersGoToTheOthers) {
  const Operation add = Operation::fetch_add(at(0), 1, word(0));
  ASSERT_EQ(endpoint_->post(connection_, {&add, 1}, Signal::kYes, 77), PostResult::kPosted);
  scheduler_.spawn([&] {
    while (others_.empty()) {
      scheduler_.yield();
      network_.step();
    }
  });
  scheduler_.run();
  EXPECT_EQ(others_, std::vector<std::uint64_t>{77});
}

}  // namespace
}  // namespace granary::rdma::fiber
