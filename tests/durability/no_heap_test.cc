// A checkpoint that finds no heap memory in the middle of its work ends with a Status, and holds nothing back.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/support/allocations.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

int checkpoints(const std::string& directory) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    found += entry.path().filename().string().starts_with("checkpoint-") ? 1 : 0;
  return found;
}

TEST(NoHeap, ACheckpointFailsAndEpochsGoOn) {
  if (!kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const TemporaryDirectory directory;
  const RingDirectory rings;
  Options options = manual_options();
  options.directory = directory.path() + "/db";
  options.reliable_directory = rings.path();
  const auto database = Database::open(options).value();
  const Table table = database->create_table("t", {.max_value_bytes = 400'000}).value();
  Worker worker = database->register_worker().value();
  const auto write = [&](Transaction& t) { EXPECT_EQ(t.put(table, "key", std::string(300'000, 'v')), Outcome::kOk); };
  ASSERT_TRUE(worker.run(write));
  for (int i = 0; i < 100; ++i) database->step();

  base::set_sync_hook([](std::string_view point) { no_memory = no_memory || point == "checkpoint.entered"; });
  const Status failed = database->checkpoint();
  no_memory = false;
  base::set_sync_hook({});
  EXPECT_EQ(failed.code(), StatusCode::kResourceExhausted) << failed.message();
  EXPECT_EQ(checkpoints(options.directory), 1) << "without memory, its files could not be removed";

  const RunResult later = worker.run(write);
  ASSERT_TRUE(later);
  for (int i = 0; i < 100; ++i) database->step();
  EXPECT_GE(database->released_epoch(), later.ticket.epoch);
  const Status done = database->checkpoint();
  EXPECT_TRUE(done.ok()) << done.message();
  EXPECT_EQ(checkpoints(options.directory), 1) << "the one that failed is removed";
}

}  // namespace
}  // namespace granary::tests
