// A checkpoint that is asked for before there is a snapshot which it could hold. Not what a checkpoint has
// (tests/recovery/checkpoint), nor how one that is being written ends with the database (closing_test.cc).

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

class FirstCheckpoint : public testing::Test {
 protected:
  FirstCheckpoint() {
    options_.directory = directory_ / "db";
    options_.reliable_directory = rings_.path();
  }
  /// With one record.
  std::unique_ptr<Database> open() {
    auto database = Database::open(options_).value();
    const Table table = database->create_table("t").value();
    Worker worker = database->register_worker().value();
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", "value")); }));
    return database;
  }
  bool has_checkpoint() const {
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
      if (entry.path().filename().string().starts_with("checkpoint-")) return true;
    }
    return false;
  }

  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_ = manual_options();
};

TEST_F(FirstCheckpoint, WaitsForTheFirstSnapshot) {
  options_.background = Background::kThreads;
  options_.epoch_ms = 20;
  const auto database = open();
  const Status done = database->checkpoint();
  EXPECT_TRUE(done.ok()) << done.message();
  EXPECT_TRUE(has_checkpoint());
  EXPECT_EQ(database->statistics().checkpoints, 1u);
}

/// Nobody but the caller advances E.
TEST_F(FirstCheckpoint, IsRefusedWhileNobodyHasAdvancedEpochs) {
  const auto database = open();
  const Status refused = database->checkpoint();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), testing::HasSubstr("there is no snapshot yet"));
  EXPECT_FALSE(has_checkpoint());
  for (std::uint32_t i = 0; i < 2 * options_.snapshot_epochs + 1; ++i) database->step();
  EXPECT_TRUE(database->checkpoint().ok());
  EXPECT_TRUE(has_checkpoint());
}

TEST_F(FirstCheckpoint, WaitsNoLongerThanTheDatabaseIsOpen) {
  options_.background = Background::kThreads;
  options_.epoch_ms = 10'000;
  const auto database = open();
  Status done;
  std::thread other([&] { done = database->checkpoint(); });
  while (!database->statistics().checkpoint_in_progress) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(database->close().ok());
  other.join();
  EXPECT_EQ(done.code(), StatusCode::kUnavailable);
  EXPECT_THAT(done.message(), testing::HasSubstr("the database closes"));
}

}  // namespace
}  // namespace granary::tests
