// What a device is asked to do for an operation. The suite cannot see a missing fence on Soft-RoCE, which answers in
// order anyway.

#include "rdma/verbs/work_request.h"

#include <gtest/gtest.h>

namespace granary::rdma::verbs {
namespace {

constexpr std::uint32_t kInline = 64;

ibv_send_wr translated(const Operation& operation) {
  ibv_send_wr request{};
  translate(operation, 0x1000, 7, kInline, request);
  return request;
}

TEST(WorkRequest, ReadsAndWritesNameTheRemoteMemory) {
  std::uint64_t word = 0;
  const ibv_send_wr read = translated(Operation::read(&word, {}, 8));
  EXPECT_EQ(read.opcode, IBV_WR_RDMA_READ);
  EXPECT_EQ(read.wr.rdma.remote_addr, 0x1000u);
  EXPECT_EQ(read.wr.rdma.rkey, 7u);
  EXPECT_EQ(read.send_flags, 0u);
  EXPECT_EQ(translated(Operation::write({}, &word, 8)).opcode, IBV_WR_RDMA_WRITE);
}

TEST(WorkRequest, SmallWritesAreInlineAndNothingElse) {
  std::uint64_t words[16] = {};
  EXPECT_EQ(translated(Operation::write({}, words, kInline)).send_flags, IBV_SEND_INLINE);
  EXPECT_EQ(translated(Operation::write({}, words, kInline + 8)).send_flags, 0u);
  EXPECT_EQ(translated(Operation::read(words, {}, kInline)).send_flags, 0u);
}

TEST(WorkRequest, AFencedWriteHasTheFence) {
  std::uint64_t word = 0;
  EXPECT_TRUE(translated(Operation::write({}, &word, 8, true)).send_flags & IBV_SEND_FENCE);
  EXPECT_FALSE(translated(Operation::write({}, &word, 8, false)).send_flags & IBV_SEND_FENCE);
}

TEST(WorkRequest, AtomicsHaveTheirOperands) {
  std::uint64_t old = 0;
  const ibv_send_wr swap = translated(Operation::compare_swap({}, 4, 9, &old));
  EXPECT_EQ(swap.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
  EXPECT_EQ(swap.wr.atomic.remote_addr, 0x1000u);
  EXPECT_EQ(swap.wr.atomic.rkey, 7u);
  EXPECT_EQ(swap.wr.atomic.compare_add, 4u);
  EXPECT_EQ(swap.wr.atomic.swap, 9u);
  const ibv_send_wr add = translated(Operation::fetch_add({}, 3, &old));
  EXPECT_EQ(add.opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
  EXPECT_EQ(add.wr.atomic.compare_add, 3u);
}

}  // namespace
}  // namespace granary::rdma::verbs
