// Regions against each other and against ordinary accesses, on real threads: no store is lost, and nobody sees a part
// of a region.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "htm/region.h"
#include "src/base/shared_words.h"

namespace granary::htm {
namespace {

struct alignas(base::kCacheLine) Line {
  std::uint64_t word = 0;
};

/// On a busy machine one while may be too short for enough of all that a test looks at; then there are up to so many.
constexpr int kTurns = 20;

class AtomicityStress : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::kSim && !base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
    if (GetParam() == Backend::kRtm && !rtm_works()) GTEST_SKIP() << "no Intel TSX here";
  }
  void run_for_a_while(const std::vector<std::function<void(Region&)>>& jobs) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      threads.emplace_back([&, i] {
        base::ThreadWaiter waiter;
        Region region(support_, i, waiter);
        while (!stop.load(std::memory_order_relaxed)) jobs[i](region);
        commits_.fetch_add(region.counters().commits.load());
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    stop.store(true);
    for (std::thread& thread : threads) thread.join();
  }

  const Support support_{GetParam(), {.spurious_per_thousand = 20}};
  std::array<Line, 6> lines_;
  std::atomic<std::uint64_t> commits_{0};
};

INSTANTIATE_TEST_SUITE_P(Backends, AtomicityStress, testing::Values(Backend::kSim, Backend::kRtm),
                         [](const auto& backend) { return std::string(name(backend.param)); });

TEST_P(AtomicityStress, WhoSawOneStoreOfARegionSeesAll) {
  const auto count_up = [&](Region& region) {
    (void)region.run([&](auto& memory) {
      const std::uint64_t next = memory.load(&lines_[0].word) + 1;
      for (Line& line : lines_) memory.store(&line.word, next);
      return Verdict::done();
    });
  };
  std::atomic<std::uint64_t> looks{0}, wrong{0};
  const auto look = [&](Region&) {
    std::uint64_t last = 0;
    for (const Line& line : lines_) {
      const std::uint64_t now = base::load_word(&line.word);
      if (now < last) wrong.fetch_add(1);  // an older value than the line before it had
      last = now;
    }
    looks.fetch_add(1);
  };
  for (int turn = 0; turn < kTurns && (commits_.load() <= 100 || looks.load() <= 100); ++turn)
    run_for_a_while({count_up, count_up, look});
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(lines_[0].word, commits_.load()) << "a lost update";
  EXPECT_GT(commits_.load(), 100u);
  EXPECT_GT(looks.load(), 100u);
}

TEST_P(AtomicityStress, NoUpdateIsLostBetweenRegionsAndCompareAndSwap) {
  std::atomic<std::uint64_t> swaps{0};
  const auto add_in_region = [&](Region& region) {
    (void)region.run([&](auto& memory) {
      for (Line& line : lines_) memory.store(&line.word, memory.load(&line.word) + 1);
      return Verdict::done();
    });
  };
  const auto add_by_swap = [&](Region&) {
    const std::uint64_t seen = base::load_word(&lines_[3].word);
    if (base::compare_exchange_word(&lines_[3].word, seen, seen + 1)) swaps.fetch_add(1);
    std::this_thread::yield();
  };
  for (int turn = 0; turn < kTurns && (commits_.load() <= 100 || swaps.load() <= 100); ++turn)
    run_for_a_while({add_in_region, add_in_region, add_by_swap});
  EXPECT_EQ(lines_[0].word, commits_.load());
  EXPECT_EQ(lines_[3].word, commits_.load() + swaps.load());
  EXPECT_GT(commits_.load(), 100u);
  EXPECT_GT(swaps.load(), 100u);
}

TEST_P(AtomicityStress, WriteSkewIsImpossible) {
  // Each takes from its own word, if the two together hold enough: never below zero together.
  std::atomic<std::uint64_t> wrong{0};
  const auto job = [&](std::size_t mine) {
    return [this, mine, &wrong](Region& region) {
      (void)region.run([&](auto& memory) {
        const std::uint64_t sum = memory.load(&lines_[0].word) + memory.load(&lines_[1].word);
        if (sum > 1) return Verdict::give_up(1);
        memory.store(&lines_[mine].word, sum == 0 ? 1 : 0);
        return Verdict::done();
      });
      const Attempt looked = region.run([&](auto& memory) {
        const bool both = memory.load(&lines_[0].word) == 1 && memory.load(&lines_[1].word) == 1;
        return both ? Verdict::give_up(2) : Verdict::done();
      });
      if (!looked.committed && looked.verdict.code() == 2) wrong.fetch_add(1);
    };
  };
  run_for_a_while({job(0), job(1)});
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace granary::htm
