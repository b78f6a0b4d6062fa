// The simulation's contract, one region at a time on one thread: what another thread would store, the body stores the
// ordinary way. Threads are in atomicity_stress_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "htm/simulator.h"
#include "htm/support.h"
#include "src/base/sanitizers.h"
#include "src/base/shared_words.h"
#include "src/base/waiter.h"

namespace granary::htm {
namespace {

struct alignas(base::kCacheLine) LineOfWords {
  std::array<std::uint64_t, 8> words{};
  std::uint64_t& operator[](std::size_t i) { return words[i]; }
};

class SimulatorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  }
  Attempt attempt(const std::function<Verdict(Simulator&)>& body) { return simulator_.attempt(body); }
  Attempt attempt_with(const HtmSimulation& shape, const std::function<Verdict(Simulator&)>& body) {
    return Simulator(shape, 0).attempt(body);
  }
  static void expect_abort(const Attempt& tried, Cause cause) {
    EXPECT_FALSE(tried.committed);
    EXPECT_EQ(tried.cause, cause) << name(tried.cause);
  }
  /// Another thread's store.
  static void stranger_stores(std::uint64_t* word, std::uint64_t value) { base::store_word(word, value); }

  const base::lines::Watch watch_;
  Simulator simulator_{{}, 0};
  std::vector<LineOfWords> lines_{1024};
  LineOfWords& a_ = lines_[0];
  LineOfWords& b_ = lines_[1];
};

TEST_F(SimulatorTest, StoresHappenTogetherAtTheEnd) {
  const Attempt tried = attempt([&](Simulator& memory) {
    memory.store(&a_[0], 1);
    memory.store(&b_[0], 2);
    EXPECT_EQ(memory.load(&a_[0]), 1u) << "its own store";
    EXPECT_EQ(base::load_word(&a_[0]), 0u) << "for others it has not happened yet";
    return Verdict::done();
  });
  EXPECT_TRUE(tried.committed);
  EXPECT_EQ(a_[0], 1u);
  EXPECT_EQ(b_[0], 2u);
}

TEST_F(SimulatorTest, NothingHappensIfTheBodySaysNo) {
  const Attempt tried = attempt([&](Simulator& memory) {
    memory.store(&a_[0], 1);
    return Verdict::retry(5);
  });
  expect_abort(tried, Cause::kExplicit);
  EXPECT_EQ(tried.verdict.code(), 5);
  EXPECT_FALSE(tried.verdict.is_final());
  EXPECT_EQ(a_[0], 0u);
}

TEST_F(SimulatorTest, AStoreToALineThatWasReadIsAConflict) {
  expect_abort(attempt([&](Simulator& memory) {
                 memory.store(&b_[0], memory.load(&a_[0]) + 1);
                 stranger_stores(&a_[7], 1);  // another word of the line
                 return Verdict::done();
               }),
               Cause::kConflict);
  EXPECT_EQ(b_[0], 0u);
}

TEST_F(SimulatorTest, AStoreToALineThatWasWrittenIsAConflict) {
  expect_abort(attempt([&](Simulator& memory) {
                 memory.store(&a_[0], 1);
                 stranger_stores(&a_[0], 2);
                 return Verdict::done();
               }),
               Cause::kConflict);
  EXPECT_EQ(a_[0], 2u);
}

TEST_F(SimulatorTest, ACompareAndSwapCountsAsAStore) {
  expect_abort(attempt([&](Simulator& memory) {
                 (void)memory.load(&a_[0]);
                 EXPECT_TRUE(base::compare_exchange_word(&a_[0], 0, 1));
                 return Verdict::done();
               }),
               Cause::kConflict);
}

TEST_F(SimulatorTest, ACopyCountsOnEachLineThatItTouches) {
  const std::array<char, 100> bytes{};
  expect_abort(attempt([&](Simulator& memory) {
                 (void)memory.load(&b_[0]);
                 base::copy_to_shared(&a_[0], bytes.data(), bytes.size());
                 return Verdict::done();
               }),
               Cause::kConflict);
}

TEST_F(SimulatorTest, AStoreToAnotherLineIsNone) {
  const Attempt tried = attempt([&](Simulator& memory) {
    memory.store(&a_[1], memory.load(&a_[0]) + 1);
    stranger_stores(&b_[0], 1);
    return Verdict::done();
  });
  EXPECT_TRUE(tried.committed);
}

TEST_F(SimulatorTest, ABodyNeverSeesTwoValuesThatWereNotThereTogether) {
  bool saw_both = false;
  expect_abort(attempt([&](Simulator& memory) {
                 (void)memory.load(&a_[0]);
                 stranger_stores(&a_[0], 1);
                 stranger_stores(&b_[0], 1);
                 (void)memory.load(&b_[0]);
                 saw_both = true;
                 return Verdict::done();
               }),
               Cause::kConflict);
  EXPECT_FALSE(saw_both);
}

TEST_F(SimulatorTest, ACopyLoadsWordsAndTheRegionsOwnStores) {
  for (std::size_t i = 0; i < 8; ++i) a_[i] = b_[i] = i + 1;
  std::array<char, 100> bytes{};
  bytes.fill('x');
  const Attempt tried = attempt([&](Simulator& memory) {
    memory.store(&b_[0], 77);
    memory.store(&b_[0], 88);
    memory.copy(bytes.data(), &a_[2], 68);  // 6 words of one line, two words and a half of the next
    return Verdict::done();
  });
  EXPECT_TRUE(tried.committed);
  const std::array<std::uint64_t, 8> words = {3, 4, 5, 6, 7, 8, 88, 2};
  EXPECT_EQ(std::memcmp(bytes.data(), words.data(), sizeof words), 0);
  EXPECT_EQ(bytes[64], 3);
  EXPECT_EQ(bytes[67], 0);
  EXPECT_EQ(bytes[68], 'x') << "not a byte more";
}

TEST_F(SimulatorTest, AStoreToALineThatWasCopiedIsAConflict) {
  for (const std::size_t line : {0u, 1u}) {
    expect_abort(attempt([&](Simulator& memory) {
                   std::array<char, 128> bytes;
                   memory.copy(bytes.data(), &a_[0], bytes.size());
                   stranger_stores(&lines_[line][5], 1);
                   return Verdict::done();
                 }),
                 Cause::kConflict);
  }
}

TEST_F(SimulatorTest, ACopyOfWhatWasNotThereTogetherIsNotSeen) {
  bool saw = false;
  expect_abort(attempt([&](Simulator& memory) {
                 (void)memory.load(&a_[0]);
                 stranger_stores(&a_[0], 1);
                 stranger_stores(&b_[0], 1);
                 std::uint64_t word = 0;
                 memory.copy(&word, &b_[0], sizeof word);
                 saw = true;
                 return Verdict::done();
               }),
               Cause::kConflict);
  EXPECT_FALSE(saw);
}

TEST_F(SimulatorTest, ACopyUsesEachLineOnce) {
  std::vector<char> bytes(100 * base::kCacheLine);
  for (const std::uint32_t room : {100u, 99u}) {
    const Attempt tried = attempt_with({.lines = room}, [&](Simulator& memory) {
      for (int i = 0; i < 2; ++i) memory.copy(bytes.data(), &lines_[0][0], bytes.size());
      return Verdict::done();
    });
    EXPECT_EQ(tried.committed, room == 100);
  }
}

TEST_F(SimulatorTest, ARegionOfManyLinesAndStoresCommitsAllOfThem) {
  constexpr std::size_t kLines = 500;
  const HtmSimulation shape{.sets = 1024, .lines = 2000};
  for (std::uint64_t round = 1; round <= 3; ++round) {
    Simulator simulator(shape, 0);
    auto body = [&](Simulator& memory) {
      for (std::size_t i = 0; i < kLines; ++i) {
        memory.store(&lines_[i][i % 8], memory.load(&lines_[(i * 7) % kLines][0]) + round);
        memory.store(&lines_[i][i % 8], i + round);
      }
      for (std::size_t i = 0; i < kLines; ++i) EXPECT_EQ(memory.load(&lines_[i][i % 8]), i + round);
      return Verdict::done();
    };
    EXPECT_TRUE(simulator.attempt(body).committed);
    EXPECT_TRUE(simulator.attempt(body).committed) << "nothing is left of the one before";
    for (std::size_t i = 0; i < kLines; ++i) EXPECT_EQ(lines_[i][i % 8], i + round);
  }
}

TEST_F(SimulatorTest, AnotherRegionThatCommitsIsAConflict) {
  Simulator other({}, 1);
  expect_abort(attempt([&](Simulator& memory) {
                 (void)memory.load(&a_[0]);
                 auto body = [&](Simulator& mine) {
                   mine.store(&a_[0], 9);
                   return Verdict::done();
                 };
                 EXPECT_TRUE(other.attempt(body).committed);
                 return Verdict::done();
               }),
               Cause::kConflict);
}

TEST_F(SimulatorTest, AnAbortedRegionDisturbsNobody) {
  (void)attempt([&](Simulator& memory) {
    (void)memory.load(&a_[0]);
    expect_abort(attempt_with({},
                              [&](Simulator& mine) {
                                mine.store(&a_[0], 9);
                                (void)mine.load(&b_[0]);
                                stranger_stores(&b_[0], 1);
                                return Verdict::done();
                              }),
                 Cause::kConflict);
    return Verdict::done();
  });
  EXPECT_TRUE(attempt([&](Simulator& memory) {
                memory.store(&a_[0], 1);
                return Verdict::done();
              }).committed);
}

TEST_F(SimulatorTest, ASetHoldsAsManyWrittenLinesAsItHasWays) {
  const HtmSimulation shape{.sets = 16, .ways = 4};
  for (const std::size_t wanted : {4u, 5u}) {
    const Attempt tried = attempt_with(shape, [&](Simulator& memory) {
      for (std::size_t i = 0; i < wanted; ++i) memory.store(&lines_[i * 16][i], 1);
      return Verdict::done();
    });
    EXPECT_EQ(tried.committed, wanted == 4);
    if (!tried.committed) {
      EXPECT_EQ(tried.cause, Cause::kCapacity);
    }
  }
  EXPECT_TRUE(attempt_with(shape,
                           [&](Simulator& memory) {
                             for (std::size_t i = 0; i < 64; ++i) memory.store(&lines_[i][0], 1);
                             return Verdict::done();
                           })
                  .committed)
      << "all sets full";
}

TEST_F(SimulatorTest, ARegionUsesSoManyLinesAndNoMore) {
  for (const std::size_t wanted : {100u, 101u}) {
    const Attempt tried = attempt_with({.lines = 100}, [&](Simulator& memory) {
      for (std::size_t i = 0; i < wanted; ++i) (void)memory.load(&lines_[i][0]);
      return Verdict::done();
    });
    EXPECT_EQ(tried.committed, wanted == 100);
  }
}

std::vector<bool> endings(const HtmSimulation& shape, std::uint64_t stream) {
  Simulator simulator(shape, stream);
  std::vector<bool> committed;
  std::array<std::uint64_t, 8> words{};
  for (int i = 0; i < 1000; ++i) {
    auto body = [&](Simulator& memory) {
      for (std::uint64_t& word : words) memory.store(&word, 1);
      return Verdict::done();
    };
    const Attempt tried = simulator.attempt(body);
    if (!tried.committed) {
      EXPECT_EQ(tried.cause, Cause::kOther);
    }
    committed.push_back(tried.committed);
  }
  return committed;
}

TEST_F(SimulatorTest, ChanceEndsAsManyRegionsAsItShouldAndTheSameOnesForTheSameSeed) {
  const auto aborted = [](const std::vector<bool>& list) { return std::ranges::count(list, false); };
  EXPECT_EQ(aborted(endings({}, 0)), 0);
  EXPECT_EQ(aborted(endings({.spurious_per_thousand = 1000}, 0)), 1000);
  const HtmSimulation third{.spurious_per_thousand = 333, .seed = 7};
  EXPECT_NEAR(static_cast<double>(aborted(endings(third, 0))), 333, 60);
  EXPECT_EQ(endings(third, 3), endings(third, 3));
  EXPECT_NE(endings(third, 3), endings(third, 4));
}

using SimulatorDeathTest = SimulatorTest;

TEST_F(SimulatorDeathTest, WhatARegionMayNotDoIsNoticed) {  // I6
  EXPECT_DEATH((void)attempt([](Simulator&) {
                 base::ThreadWaiter().pause(0);
                 return Verdict::done();
               }),
               "I6");
}

TEST_F(SimulatorDeathTest, AllocationsInARegionAreNoticed) {  // I6
  if (base::kAddressSanitizer || base::kThreadSanitizer) GTEST_SKIP() << "the sanitizer's allocator does not ask";
  EXPECT_DEATH((void)attempt([](Simulator&) {
                 const std::vector<char> memory(100);
                 return memory.empty() ? Verdict::retry(0) : Verdict::done();
               }),
               "I6");
}

TEST_F(SimulatorTest, AfterARegionEverythingIsAllowedAgain) {
  (void)attempt([&](Simulator&) { return Verdict::retry(1); });
  (void)attempt_with({.lines = 1}, [&](Simulator& memory) {
    (void)memory.load(&a_[0]);
    (void)memory.load(&b_[0]);
    return Verdict::done();
  });
  base::ThreadWaiter().pause(0);
}

}  // namespace
}  // namespace granary::htm
