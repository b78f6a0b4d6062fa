// I4 and the fabric's order on shared memory, with threads that look while operations run. On x86-64 the processor
// keeps most orders by itself; what these tests can catch is a copy in another direction and a WRITE that a later READ
// passes.

#include <atomic>
#include <thread>
#include <vector>

#include "src/base/shared_words.h"
#include "tests/rdma/shm/two_nodes.h"

namespace granary::rdma::shm {
namespace {

constexpr std::uint64_t kRounds = 200'000;
/// A look counts once it met a change half done; so many are wanted, within so many looks.
constexpr std::uint64_t kMeetings = 200'000;
constexpr std::uint64_t kMostLooks = 100'000'000;
constexpr std::size_t kWords = 16;

class Order : public testing::Test {
 protected:
  static RemoteAddress at(std::size_t word) { return {.node = 2, .region = 1, .generation = 1, .offset = word * 8}; }

  tests::TemporaryDirectory directory_;
  ShmNode here_{1, directory_.path()};
  ShmNode there_{2, directory_.path()};
};

TEST_F(Order, AReadLoadsLowerWordsNoLaterThanHigherOnes) {
  std::atomic<bool> stop{false};
  std::thread owner([&] {  // from the highest word down: whoever reads upwards sees later words at least as new
    for (std::uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
      for (std::size_t w = kWords; w-- > 0;) base::store_word(there_.word(w), i);
    }
  });
  ShmWorker worker(here_, 2);
  std::uint64_t changes = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; changes < kMeetings && i < kMostLooks; ++i) {
    const Operation read = Operation::read(here_.word(0), at(0), kWords * 8);
    worker.run({&read, 1});
    for (std::size_t w = 1; w < kWords; ++w) {
      wrong += *here_.word(w) < *here_.word(w - 1) ? 1 : 0;
      changes += *here_.word(w) != *here_.word(w - 1) ? 1 : 0;
    }
  }
  stop = true;
  owner.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(changes, kMeetings) << "no READ met the owner: the test saw nothing";
}

TEST_F(Order, AWriteStoresLowerWordsNoLaterThanHigherOnes) {
  std::atomic<bool> stop{false};
  std::thread initiator([&] {
    ShmWorker worker(here_, 2);
    for (std::uint64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) {
      for (std::size_t w = 0; w < kWords; ++w) *here_.word(w) = i;
      const Operation write = Operation::write(at(0), here_.word(0), kWords * 8);
      worker.run({&write, 1});
    }
  });
  std::uint64_t changes = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; changes < kMeetings && i < kMostLooks; ++i) {
    std::uint64_t above = base::load_word(there_.word(kWords - 1));
    for (std::size_t w = kWords - 1; w-- > 0;) {
      const std::uint64_t value = base::load_word(there_.word(w));
      wrong += value < above ? 1 : 0;
      changes += value != above ? 1 : 0;
      above = value;
    }
  }
  stop = true;
  initiator.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(changes, kMeetings) << "nobody saw a WRITE half done: the test saw nothing";
}

/// Two write 1, 2, 3, ... to a word of their own, and read the other's after each. If the first one's read after its i
/// saw less than j, it came before the second one's j, whose read must see at least i.
TEST_F(Order, AReadDoesNotPassTheWriteBeforeIt) {
  constexpr std::size_t kApart = 8;  // words: a cache line
  std::vector<std::uint64_t> seen[2] = {{0}, {0}};
  std::atomic<int> started{0};
  const auto run = [&](std::size_t me) {
    ShmWorker worker(here_, 2);
    std::uint64_t* value = here_.word(64 * (me + 1));
    std::uint64_t* other = here_.word(64 * (me + 1) + kApart);
    const Operation chain[] = {Operation::write(at(me * kApart), value, 8),
                               Operation::read(other, at((1 - me) * kApart), 8)};
    for (++started; started.load() != 2;) {
    }
    for (*value = 1; *value <= kRounds; ++*value) {
      worker.run(chain);
      seen[me].push_back(*other);
    }
  };
  std::thread second([&] { run(1); });
  run(0);
  second.join();
  std::uint64_t passed = 0;
  for (std::uint64_t i = 1; i <= kRounds; ++i) {
    const std::uint64_t j = seen[0][i] + 1;
    passed += j <= kRounds && seen[1][j] < i ? 1 : 0;
  }
  EXPECT_EQ(passed, 0u);
}

TEST_F(Order, AtomicsOfManyThreadsLoseNothing) {
  const auto add = [&](std::size_t me) {
    ShmWorker worker(here_, 2);
    for (std::uint64_t i = 0; i < kRounds / 10; ++i) {
      const Operation operation = Operation::fetch_add(at(0), 1, here_.word(8 * me));
      worker.run({&operation, 1});
    }
  };
  std::thread first([&] { add(1); });
  std::thread second([&] { add(2); });
  first.join();
  second.join();
  EXPECT_EQ(base::load_word(there_.word(0)), 2 * (kRounds / 10));
}

}  // namespace
}  // namespace granary::rdma::shm
