// The queue of a worker's fibers, against what is known of such queues: one customer, equal bursts, and bursts whose
// lengths are exponentially distributed, for which mean-value analysis is exact (Reiser and Lavenberg, "Mean-Value
// Analysis of Closed Multichain Queuing Networks", 1980).

#include <cstdint>

#include <gtest/gtest.h>

#include "bench/predict/fibers.h"

namespace granary::bench::predict {
namespace {

TEST(Fibers, OneHidesNothing) {
  for (const double share : {0.1, 0.6, 1.0}) {
    const FiberLoad load{
        .distributed_share = share, .local_ns = 1'000, .distributed_ns = 2'000, .waits = 2.5, .waiting_ns = 5'000};
    EXPECT_NEAR(idle_ns(load), 5'000, 0.01) << share;
  }
}

TEST(Fibers, NothingIdlesWhereNothingWaits) {
  EXPECT_EQ(idle_ns({.distributed_share = 0, .local_ns = 1'000, .distributed_ns = 2'000, .waiting_ns = 5'000}), 0);
  EXPECT_EQ(idle_ns({.distributed_share = 1, .local_ns = 1'000, .distributed_ns = 2'000, .waiting_ns = 0}), 0);
}

/// Three parts of 1 us, behind each of which the transaction waits for 2.5 us: two fibers hide half of what is left,
/// and four all of it.
TEST(Fibers, EqualBurstsFillEachOthersWaits) {
  const auto idle = [](std::uint32_t fibers) {
    return idle_ns({.fibers = fibers,
                    .distributed_share = 1,
                    .local_ns = 0,
                    .distributed_ns = 3'000,
                    .waits = 3,
                    .waiting_ns = 7'500});
  };
  EXPECT_NEAR(idle(2), (7'500 - 3'000) / 2, 0.01);
  EXPECT_NEAR(idle(3), (7'500 - 2 * 3'000) / 3, 0.01);
  EXPECT_EQ(idle(4), 0);
  EXPECT_EQ(idle(8), 0);
}

/// Returns the mean time from one burst to the next by mean-value analysis of a processor and a delay.
double by_mean_values(std::uint32_t fibers, double burst, double wait) {
  double queue = 0, apart = 0;
  for (std::uint32_t n = 1; n <= fibers; ++n) {
    const double at_processor = burst * (1 + queue);
    apart = (at_processor + wait) / n;
    queue = at_processor / apart;
  }
  return apart;
}

/// One transaction in a thousand is distributed, so a burst is geometrically distributed, nearly exponentially.
TEST(Fibers, BurstsOfChanceAreThoseOfMeanValueAnalysis) {
  constexpr double kShare = 0.001, kLocal_ns = 1, kBurst_ns = kLocal_ns / kShare;
  for (const std::uint32_t fibers : {2u, 4u, 8u}) {
    for (const double wait : {0.5 * kBurst_ns, kBurst_ns, (fibers - 1) * kBurst_ns, 2.0 * fibers * kBurst_ns}) {
      const FiberLoad load{.fibers = fibers,
                           .distributed_share = kShare,
                           .local_ns = kLocal_ns,
                           .distributed_ns = kLocal_ns,
                           .waiting_ns = wait};
      EXPECT_NEAR(kBurst_ns + idle_ns(load), by_mean_values(fibers, kBurst_ns, wait), 0.01 * kBurst_ns)
          << fibers << " fibers, " << wait;
    }
  }
}

}  // namespace
}  // namespace granary::bench::predict
