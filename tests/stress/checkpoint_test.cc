// Checkpoints beside changes of the schema: both use the manifest, each by a thread of its own.

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/durability/ringed_directory.h"
#include "tests/support/scale.h"

namespace granary::tests {
namespace {

TEST(CheckpointStress, TablesAreMadeWhileOthersAreRemoved) {
  const RingDirectory rings;
  FaultFiles files;
  files.pass_through(rings.path());
  Options options = small_ring_options(rings);
  options.epoch_ms = 1;
  options.log_segment_bytes = options.ring_bytes;
  const std::uint64_t tables = scaled(100);
  {
    const auto database = Database::open(options, files).value();
    std::atomic<bool> done{false};
    std::thread checkpoints([&] {
      while (!done) {
        const Status taken = database->checkpoint();
        EXPECT_TRUE(taken.ok()) << taken.message();
      }
    });
    for (std::uint64_t i = 0; i < tables || database->statistics().checkpoints < 3; ++i)
      ASSERT_TRUE(i >= kMaxTables || database->create_table("table " + std::to_string(i)).ok());
    done = true;
    checkpoints.join();
  }
  const auto again = Database::open(options, files);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE((*again)->table("table " + std::to_string(tables - 1)).ok());
}

}  // namespace
}  // namespace granary::tests
