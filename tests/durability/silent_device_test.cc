// A device that leaves calls of the log unanswered: a writer gives up once a call is silent for too long, and waits for
// a device that is slow, but answers. What is not covered: a device that fails (faults_test.cc), or is full
// (full_disk_test.cc).

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/log/log.h"
#include "src/txn/worker_core.h"
#include "tests/durability/crash_rig.h"
#include "tests/durability/ringed_directory.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSilence_us = 300'000;

/// A device that answers no call while it hangs, as one whose path is lost.
class HangingDevice {
 public:
  explicit HangingDevice(FaultFiles& files) {
    files.set_observer([this](FileCall call, const std::string& path) {
      if ((call != FileCall::kAppend && call != FileCall::kSync) || path.find("log-g") == std::string::npos) return;
      std::unique_lock lock(mutex_);
      answers_.wait(lock, [this] { return !hangs_; });
    });
  }
  void hang(bool hangs) {
    {
      const std::lock_guard lock(mutex_);
      hangs_ = hangs;
    }
    answers_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable answers_;
  bool hangs_ = false;
};

/// Nobody waits for ever for room in the log. What was given up has left nothing: not its write, no lock, no entry in
/// the log.
TEST(SilentDevice, AHungDeviceIsGivenUpAndUsedAgainWhenItAnswers) {
  FaultFiles files;
  RingDirectory rings;
  HangingDevice device(files);
  const Options options = small_ring_options(rings);
  std::uint64_t committed = 0;
  {
    auto database = Database::open(options, files);
    ASSERT_TRUE(database.ok()) << database.status().message();
    const Table table = (*database)->create_table("t").value();
    Worker worker = (*database)->register_worker().value();
    worker.core()->state().shared.log->set_silence(kSilence_us);
    const auto write = [&](std::uint64_t value) {
      return worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", std::to_string(value))); }).reason;
    };
    device.hang(true);
    AbortReason reason = AbortReason::kNone;
    while ((reason = write(committed + 1)) == AbortReason::kNone) ++committed;
    EXPECT_EQ(reason, AbortReason::kLogFailed);
    EXPECT_GT(committed, 0u) << "while there was room";
    const Status told = (*database)->log_status();
    EXPECT_EQ(told.code(), StatusCode::kUnavailable);
    EXPECT_THAT(told.message(), HasSubstr("the log directory '/db' has not answered for "));
    {
      Transaction t = worker.begin();
      EXPECT_EQ(scan_text(t, table), "key=" + std::to_string(committed) + " ") << "reads go on, and see nothing of it";
    }
    EXPECT_EQ(write(0), AbortReason::kLogFailed) << "nobody waits again";
    device.hang(false);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!(*database)->log_status().ok() && std::chrono::steady_clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(write(++committed), AbortReason::kNone) << "it holds no lock";
  }
  auto again = Database::open(options, files);
  ASSERT_TRUE(again.ok()) << again.status().message();
  Worker worker = (*again)->register_worker().value();
  Transaction t = worker.begin();
  EXPECT_EQ(scan_text(t, (*again)->create_table("t").value()), "key=" + std::to_string(committed) + " ");
}

/// Each call takes less than the silence that is borne, and a change of segments, which makes many of them, takes more.
TEST(SilentDevice, ASlowDeviceIsWaitedForWhereSegmentsChange) {
  FaultFiles files;
  RingDirectory rings;
  std::atomic<bool> slow{false};
  files.set_observer([&slow](FileCall call, const std::string& path) {
    constexpr std::chrono::milliseconds kEachCall(130);
    if (slow && (call == FileCall::kSyncDirectory || path.find("log-g") != std::string::npos))
      std::this_thread::sleep_for(kEachCall);
  });
  Options options = small_ring_options(rings);
  options.log_segment_bytes = std::uint64_t{64} << 10;
  auto database = Database::open(options, files);
  ASSERT_TRUE(database.ok()) << database.status().message();
  const Table table = (*database)->create_table("t").value();
  Worker worker = (*database)->register_worker().value();
  worker.core()->state().shared.log->set_silence(450'000);
  const std::uint64_t begun = files.calls(FileCall::kSyncDirectory);
  constexpr std::uint64_t kSegments = 4;
  const std::string value(std::size_t{8} << 10, 'v');
  slow = true;
  AbortReason reason = AbortReason::kNone;
  while (reason == AbortReason::kNone && files.calls(FileCall::kSyncDirectory) < begun + kSegments)
    reason = worker.run([&](Transaction& t) { static_cast<void>(t.put(table, "key", value)); }).reason;
  slow = false;
  EXPECT_EQ(reason, AbortReason::kNone) << (*database)->log_status().message();
}

}  // namespace
}  // namespace granary::tests
