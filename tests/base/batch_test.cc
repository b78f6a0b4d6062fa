// Arenas and the batches in them: addresses stay, objects end, and memory that was needed once is there the next time.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/arena.h"
#include "src/base/batch.h"
#include "tests/support/allocations.h"

namespace granary::base {
namespace {

TEST(Batch, AddressesStayAndObjectsEnd) {
  Arena arena;
  const auto counted = std::make_shared<int>(7);
  {
    Batch<std::shared_ptr<int>> batch(arena, 100);
    std::vector<const std::shared_ptr<int>*> places;
    for (int i = 0; i < 100; ++i) places.push_back(&batch.emplace_back(counted));
    for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(places[i], &batch[i]);
    EXPECT_EQ(counted.use_count(), 101);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(Batch, WhatIsErasedEndsAndTheRestKeepsItsOrder) {
  Arena arena;
  Batch<std::string> batch(arena, 4);
  for (const char* const word : {"one", "two", "three", "four"}) batch.emplace_back(word);
  batch.erase_if([](const std::string& word) { return word.size() == 3; });
  EXPECT_EQ(std::vector<std::string>(batch.begin(), batch.end()), (std::vector<std::string>{"three", "four"}));
}

TEST(Batch, OneThatWasMovedFromIsEmpty) {
  Arena arena;
  Batch<std::string> batch(arena, 1);
  batch.emplace_back("a value that is too long for a small string");
  const Batch<std::string> taken(std::move(batch));
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_TRUE(batch.empty());  // NOLINT(bugprone-use-after-move): that is what is asked
}

TEST(Arena, WhatWasNeededOnceIsNotAllocatedAgain) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "a sanitizer allocates";
  Arena arena;
  const auto fill = [&arena] {
    for (int i = 0; i < 100; ++i) std::memset(arena.allocate(2000), 'x', 2000);
    arena.clear();
  };
  fill();  // several chunks, of which one is made
  const std::uint64_t before = tests::allocations;
  fill();
  EXPECT_EQ(tests::allocations, before);
}

}  // namespace
}  // namespace granary::base
