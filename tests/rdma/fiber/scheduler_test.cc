// A scheduler of fibers: their turns, and what it knows of them. Its stacks are in fiber_test.cc.

#include "rdma/fiber/scheduler.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace granary::rdma::fiber {
namespace {

TEST(Scheduler, FibersTakeTurnsAndMayMakeOthers) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  std::string order;
  const auto body = [&](char name) {
    return [&, name] {
      for (int i = 0; i < 3; ++i) {
        order += name;
        scheduler.yield();
      }
      if (name == 'a') scheduler.spawn([&] { order += '!'; });
    };
  };
  scheduler.spawn(body('a'));
  scheduler.spawn(body('b'));
  scheduler.run();
  EXPECT_EQ(order, "ababab!");
}

TEST(Scheduler, AnEnginesWaitLetsTheOthersRun) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  bool unlocked = false;
  scheduler.spawn([&] {
    FiberWaiter waiter(scheduler);
    for (std::uint32_t turn = 0; !unlocked && turn < base::kBoundedPauses; ++turn) waiter.pause(turn);
    EXPECT_TRUE(unlocked);
  });
  scheduler.spawn([&] { unlocked = true; });
  scheduler.run();
}

TEST(Scheduler, KnowsWhetherOneHasTheThreadToItself) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  EXPECT_TRUE(scheduler.is_alone());
  scheduler.spawn([&] { EXPECT_FALSE(scheduler.is_alone()) << "the other one has not run yet"; });
  EXPECT_FALSE(scheduler.is_alone()) << "of what is in no fiber";
  scheduler.spawn([&] { EXPECT_TRUE(scheduler.is_alone()) << "the other one has ended"; });
  scheduler.run();
  EXPECT_TRUE(scheduler.is_alone());
}

TEST(Scheduler, KnowsWhoGoesOnWhileOneWaits) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  EXPECT_FALSE(scheduler.goes_on(0)) << "that waits itself";
  std::uint64_t first = 0;
  scheduler.spawn([&] {
    first = scheduler.current_number();
    EXPECT_FALSE(scheduler.goes_on(first)) << "that waits itself";
    EXPECT_FALSE(scheduler.goes_on(0)) << "it is in run()";
    scheduler.yield();
  });
  scheduler.spawn([&] {
    EXPECT_TRUE(scheduler.goes_on(first));
    for (int turn = 0; turn < 2; ++turn) scheduler.yield();
    EXPECT_FALSE(scheduler.goes_on(first)) << "it has ended";
  });
  scheduler.run();
  scheduler.spawn([&] { EXPECT_TRUE(scheduler.goes_on(0)) << "it is in yield()"; });
  scheduler.yield();
}

/// The memory of a fiber that has ended is that of a later one, but not its number.
TEST(Scheduler, TakesNoOtherFiberForOneThatHasEnded) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  EXPECT_EQ(scheduler.current_number(), 0u);
  std::uint64_t ended = 0;
  scheduler.spawn([&] { ended = scheduler.current_number(); });
  scheduler.run();
  std::uint64_t last = ended;
  for (int i = 0; i < 100; ++i) {
    scheduler.spawn([&] {
      EXPECT_GT(scheduler.current_number(), last);
      last = scheduler.current_number();
      scheduler.yield();
    });
  }
  EXPECT_FALSE(scheduler.goes_on(ended));
  scheduler.spawn([&] { EXPECT_FALSE(scheduler.goes_on(ended)); });
  scheduler.run();
  EXPECT_EQ(last, ended + 100);
}

TEST(Scheduler, WhatIsInNoFiberMayWait) {
  base::ThreadWaiter idle;
  Scheduler scheduler([] {}, idle);
  std::string order;
  scheduler.spawn([&] {
    order += 'a';
    scheduler.yield();
    order += 'b';
    scheduler.wake(nullptr);
    scheduler.yield();
    order += 'd';
  });
  scheduler.park();
  order += 'c';
  scheduler.yield();
  EXPECT_EQ(order, "abcd");
  scheduler.wake(nullptr);
  scheduler.park();  // woken before: at once
}

}  // namespace
}  // namespace granary::rdma::fiber
