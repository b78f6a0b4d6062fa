// The thread that advances E waits for no other thread that holds the workers still.

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include <granary/database.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "src/db/engine.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

/// Whether E moves three times within ten seconds.
bool epoch_goes_on(Database& database) {
  const epoch::EpochManager& epochs = database.engine().epochs();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const epoch::Epoch before = epochs.current();
  while (epochs.current() < before + 3 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return epochs.current() >= before + 3;
}

TEST(EpochGoesOn, WhileAWorkerGetsItsRing) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  const tests::TemporaryDirectory directory;
  auto database = Database::open({.directory = directory / "db", .epoch_ms = 5}).value();
  std::atomic<bool> came_by{false}, went_on{false};
  std::thread thread([&] {
    base::set_sync_hook([&](std::string_view point) {
      if (point != "ring.made_aside") return;
      came_by = true;
      went_on = epoch_goes_on(*database);
    });
    std::vector<Worker> workers;  // the first one may have been made with the database
    for (int i = 0; i < 3; ++i) workers.push_back(database->register_worker().value());
    base::set_sync_hook({});
  });
  thread.join();
  EXPECT_TRUE(came_by);
  EXPECT_TRUE(went_on);
}

}  // namespace
}  // namespace granary
