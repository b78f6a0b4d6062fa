// The completions that an endpoint keeps: in their order, and without memory once they are expected. Not covered: when
// the device gives them.

#include "rdma/verbs/reports.h"

#include <new>

#include <gtest/gtest.h>

#include "tests/support/allocations.h"

namespace granary::rdma::verbs {
namespace {

constexpr std::uint64_t kMany = 1000;

TEST(Reports, AreTakenInTheirOrder) {
  Reports reports;
  std::uint64_t added = 0, taken = 0;
  for (std::uint64_t round = 0; round < kMany; ++round) {
    for (std::uint64_t i = 0; i < round % 7; ++i) reports.expect();
    for (std::uint64_t i = 0; i < round % 7; ++i) reports.add({.tag = added++});
    for (std::uint64_t i = 0; i < round % 5 && !reports.empty(); ++i) EXPECT_EQ(reports.take().tag, taken++);
    EXPECT_EQ(reports.size(), added - taken);
  }
  while (!reports.empty()) EXPECT_EQ(reports.take().tag, taken++);
  EXPECT_EQ(taken, added);
}

TEST(Reports, OfAConnectionAreDropped) {
  Reports reports;
  for (std::uint64_t i = 0; i < 10; ++i) {
    reports.expect();
    reports.add({.tag = i, .connection = static_cast<ConnectionId>(i % 2)});
  }
  EXPECT_EQ(reports.take().tag, 0u);
  reports.drop(1);
  for (const std::uint64_t tag : {2u, 4u, 6u, 8u}) EXPECT_EQ(reports.take().tag, tag);
  EXPECT_TRUE(reports.empty());
}

/// A poll takes the reports of all chains, also of those for which others wait, and must not lose them.
TEST(Reports, NeedNoMemoryOnceTheyAreExpected) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  Reports reports;
  for (std::uint64_t i = 0; i < kMany; ++i) reports.expect();
  tests::no_memory = true;
  for (std::uint64_t i = 0; i < kMany / 2; ++i) reports.add({.tag = i});
  for (std::uint64_t i = 0; i < kMany / 4; ++i) EXPECT_EQ(reports.take().tag, i);
  std::uint64_t expected = kMany / 2, refused = 0;
  for (; refused == 0; ++expected) {
    try {
      reports.expect();
    } catch (const std::bad_alloc&) {
      refused = expected;
    }
  }
  for (std::uint64_t i = kMany / 2; i < kMany / 2 + refused; ++i) reports.add({.tag = i});
  tests::no_memory = false;
  for (std::uint64_t i = kMany / 4; i < kMany / 2 + refused; ++i) ASSERT_EQ(reports.take().tag, i);
  EXPECT_TRUE(reports.empty());
}

}  // namespace
}  // namespace granary::rdma::verbs
