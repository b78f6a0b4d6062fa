// What Statistics tells of checkpoints and log rings, on the system's files, and of latencies.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

TEST(DurableStatistics, CountCheckpointsTheirBytesAndTheirTime) {
  TemporaryDirectory directory;
  RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  const auto database = Database::open(options).value();
  const Table table = database->create_table("t").value();
  {
    Worker worker = database->register_worker().value();
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
  }
  for (std::uint32_t i = 0; i < 2 * options.snapshot_epochs + 1; ++i) database->step();
  EXPECT_EQ(database->statistics().checkpoints, 0U);

  Statistics meanwhile;
  double later = 0;
  {
    AtSyncPoint before_it_is_installed("checkpoint.written", [&] {
      meanwhile = database->statistics();
      later = database->statistics().checkpoint_seconds;
    });
    ASSERT_TRUE(database->checkpoint().ok());
  }
  EXPECT_EQ(meanwhile.checkpoints, 0U) << "it does not count yet";
  EXPECT_TRUE(meanwhile.checkpoint_in_progress);
  EXPECT_LT(meanwhile.checkpoint_age_s, 0) << "there is none yet";
  EXPECT_GT(meanwhile.checkpoint_seconds, 0);
  EXPECT_GT(later, meanwhile.checkpoint_seconds) << "the one in progress is part of it";

  const Statistics after = database->statistics();
  EXPECT_EQ(after.checkpoints, 1U);
  EXPECT_GE(after.checkpoint_seconds, later);
  EXPECT_EQ(database->statistics().checkpoint_seconds, after.checkpoint_seconds) << "none is in progress";
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.directory)) {
    if (entry.path().extension() == ".gckpt") bytes += entry.file_size();
  }
  EXPECT_EQ(after.checkpoint_bytes, bytes);
  EXPECT_FALSE(after.checkpoint_in_progress);
  EXPECT_GE(after.checkpoint_age_s, 0);
  EXPECT_LT(after.checkpoint_age_s, 60);
}

TEST(DurableStatistics, TellHowFullTheRingsAre) {
  TemporaryDirectory directory;
  RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  options.ring_bytes = std::uint64_t{64} << 10;
  const auto database = Database::open(options).value();
  const Table table = database->create_table("t").value();
  Worker worker = database->register_worker().value();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", std::string(256, 'v'))); }));
  const Statistics filled = database->statistics();
  EXPECT_GE(filled.ring_bytes, options.ring_bytes);
  EXPECT_GE(filled.ring_held_bytes, 100 * 256u);
  EXPECT_GT(filled.ring_fullest, 0.3);
  EXPECT_LE(filled.ring_fullest, 1);
  EXPECT_EQ(filled.log_segments, 1u);
  for (int i = 0; i < 3; ++i) database->step();
  EXPECT_EQ(database->statistics().ring_held_bytes, 0u) << "all of it is synced";
}

TEST(Statistics, SampleTheLatenciesOfCommits) {
  constexpr std::uint64_t kTransactions = 64'000;
  const auto database = Database::open(manual_options()).value();
  const Table table = database->create_table("t").value();
  Worker worker = database->register_worker().value();
  for (std::uint64_t i = 0; i < kTransactions; ++i)
    ASSERT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
  const CommitLatencies latencies = database->statistics().commit_latencies;
  EXPECT_NEAR(static_cast<double>(latencies.samples), kTransactions / 64.0, 20);
  EXPECT_GT(latencies.seconds, 0);
  std::uint64_t counted = 0, before = 0;
  for (const CommitLatencies::Bucket& bucket : latencies.buckets) {
    EXPECT_GT(bucket.most_ns, before);
    before = bucket.most_ns;
    counted += bucket.count;
  }
  EXPECT_EQ(counted, latencies.samples);
  EXPECT_LT(latencies.buckets.front().most_ns, 1'000'000u) << "one put takes microseconds";
}

}  // namespace
}  // namespace granary::tests
