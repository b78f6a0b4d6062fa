// Events of rdma_cm, in a machine that has it.

#include "rdma/verbs/cm_events.h"
#include "src/base/tsc_clock.h"

#include <gtest/gtest.h>

namespace granary::rdma::verbs {
namespace {

/// Else the event thread, told that there is an event, would wait for ever for one that its id took along.
TEST(CmEvents, TakingOneThatIsGoneDoesNotWait) {
  const Channel channel = open_channel();
  ASSERT_NE(channel, nullptr) << cm_error("open a channel").message();
  rdma_cm_event* event = nullptr;
  EXPECT_NE(rdma_get_cm_event(channel.get(), &event), 0);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(CmEvents, WaitingForTheNextEndsInTime) {
  const Channel channel = open_channel();
  ASSERT_NE(channel, nullptr) << cm_error("open a channel").message();
  const std::uint64_t begin_us = base::monotonic_us();
  EXPECT_EQ(next_event(channel.get(), begin_us + 20'000), nullptr);
  EXPECT_GE(base::monotonic_us(), begin_us + 20'000);
}

}  // namespace
}  // namespace granary::rdma::verbs
