// What Statistics tells of checkpoints, on the system's files.

#include <filesystem>

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
}

}  // namespace
}  // namespace granary::tests
