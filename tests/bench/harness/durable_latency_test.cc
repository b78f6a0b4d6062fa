// Latencies until results may be shown: when they count, and in which piece of the measurement.

#include "bench/harness/durable_latency.h"

#include <gtest/gtest.h>

namespace granary::bench {
namespace {

constexpr std::uint64_t kPiece = 1000;

TEST(DurableLatency, CountsRequestsOnceTheirEpochIsReleased) {
  DurableLatency latencies(2, kPiece);
  latencies.begin(10'000);
  latencies.add(0, 5, 10'100);
  latencies.add(1, 6, 10'200);
  latencies.release(4, 10'300);
  EXPECT_EQ(latencies.of(0).count(), 0u);
  latencies.release(5, 10'500);
  EXPECT_EQ(latencies.of(0).max(), 400u);
  EXPECT_EQ(latencies.of(1).count(), 0u) << "its epoch is not released yet";
  latencies.release(9, 10'900);
  EXPECT_EQ(latencies.of(1).max(), 700u);
}

TEST(DurableLatency, CountsWhatIsNotReleased) {
  DurableLatency latencies(2, kPiece);
  latencies.begin(0);
  latencies.add(0, 5, 100);
  latencies.add(1, 6, 200);
  latencies.add(1, 7, 300);
  EXPECT_EQ(latencies.unreleased(0), 1u);
  EXPECT_EQ(latencies.unreleased(1), 2u);
  latencies.release(6, 400);
  EXPECT_EQ(latencies.unreleased(0), 0u);
  EXPECT_EQ(latencies.unreleased(1), 1u);
  latencies.begin(500);
  EXPECT_EQ(latencies.unreleased(1), 0u);
}

TEST(DurableLatency, KeepsApartWhatIsReleasedInDifferentPieces) {
  DurableLatency latencies(2, kPiece);
  latencies.begin(10'000);
  latencies.add(0, 1, 10'000);
  latencies.add(1, 1, 10'100);
  latencies.release(1, 10'900);
  latencies.add(0, 2, 11'000);
  latencies.release(2, 12'000);
  ASSERT_EQ(latencies.pieces().size(), 3u);
  EXPECT_EQ(latencies.pieces()[0].count(), 2u) << "of both types";
  EXPECT_EQ(latencies.pieces()[1].count(), 0u);
  EXPECT_EQ(latencies.pieces()[2].max(), 1000u) << "by when it was released, not by when it began";
}

TEST(DurableLatency, LastPieceTakesWhatComesAfterIt) {
  DurableLatency latencies(1, kPiece);
  latencies.begin(0);
  latencies.add(0, 1, 0);
  latencies.release(1, 1'000 * kPiece);
  EXPECT_EQ(latencies.pieces().size(), DurableLatency::kMostPieces);
  EXPECT_EQ(latencies.pieces().back().count(), 1u);
}

TEST(DurableLatency, WhatIsReleasedAfterTheEndIsInTheLastPiece) {
  DurableLatency latencies(1, kPiece);
  latencies.begin(10'000);
  latencies.add(0, 1, 11'500);
  latencies.end(11'900);
  EXPECT_TRUE(latencies.waits());
  latencies.release(1, 15'500);
  EXPECT_FALSE(latencies.waits());
  ASSERT_EQ(latencies.pieces().size(), 2u);
  EXPECT_EQ(latencies.pieces()[1].max(), 4'000u) << "its latency is the whole one";
  EXPECT_EQ(latencies.of(0).max(), 4'000u);
}

TEST(DurableLatency, BeginsAnewWithTheMeasurement) {
  DurableLatency latencies(1, kPiece);
  latencies.begin(0);
  latencies.add(0, 1, 0);
  latencies.release(1, 100);
  latencies.add(0, 2, 200);
  latencies.begin(5'000);
  latencies.release(2, 5'100);
  EXPECT_EQ(latencies.of(0).count(), 0u);
  EXPECT_TRUE(latencies.pieces().empty());
}

TEST(DurableLatency, PiecesAreNeitherTooManyNorTooShort) {
  EXPECT_EQ(DurableLatency::piece_seconds(1), 0.1);
  EXPECT_EQ(DurableLatency::piece_seconds(100), 2);
}

}  // namespace
}  // namespace granary::bench
