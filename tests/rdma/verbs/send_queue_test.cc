// The send queue's account against a plain model: random chains, completions as a device gives them.

#include "rdma/verbs/send_queue.h"

#include <deque>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/support/scale.h"

namespace granary::rdma::verbs {
namespace {

TEST(SendQueue, NeverHoldsMoreThanItsCapacityNorBlocksForGood) {
  constexpr std::uint32_t kCapacity = 16;
  base::Random random(7);
  SendQueue queue(kCapacity);
  std::deque<std::uint64_t> signalled;  // by the device: numbers of operations
  std::deque<std::uint64_t> expected;
  std::uint64_t tag = 0, completed = 0, posted = 0;
  for (std::uint64_t round = 0; round < tests::scaled(100'000); ++round) {
    const std::uint64_t length = 1 + random.below(kCapacity / 2);
    if (queue.fits(length)) {
      const Signal signal = random.below(4) == 0 ? Signal::kYes : Signal::kNo;
      if (signal == Signal::kYes) expected.push_back(tag);
      posted += length;
      if (queue.push(length, signal, tag++)) signalled.push_back(queue.posted());
      ASSERT_LE(posted - completed, kCapacity);
    } else {
      ASSERT_FALSE(signalled.empty()) << "a full queue has a completion to come";
      completed = signalled.front();
      queue.complete(signalled.front(), [&](std::uint64_t reported) {
        ASSERT_FALSE(expected.empty());
        ASSERT_EQ(reported, expected.front());
        expected.pop_front();
      });
      signalled.pop_front();
    }
  }
  queue.abandon([&](std::uint64_t reported) {
    ASSERT_EQ(reported, expected.front());
    expected.pop_front();
  });
  EXPECT_TRUE(expected.empty()) << "each chain is reported once";
}

TEST(SendQueue, ReportsAChainOnlyWhenItsLastOperationIsComplete) {
  SendQueue queue(8);
  std::vector<std::uint64_t> reported;
  const auto report = [&](std::uint64_t tag) { reported.push_back(tag); };
  EXPECT_TRUE(queue.push(3, Signal::kYes, 11));
  queue.complete(2, report);
  EXPECT_TRUE(reported.empty());
  queue.complete(3, report);
  EXPECT_EQ(reported, std::vector<std::uint64_t>{11});
  EXPECT_FALSE(queue.push(1, Signal::kNo, 12));
  queue.abandon(report);
  EXPECT_EQ(reported.size(), 1u) << "an unsignalled chain is not reported";
}

}  // namespace
}  // namespace granary::rdma::verbs
