// A scan holds no more segments at a time than the memory has room for that it may take.

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

constexpr std::uint64_t kSegments = 16;
constexpr std::size_t kSegmentBytes = std::size_t{64} << 10;

class ScanMemory : public testing::Test {
 protected:
  ScanMemory() {
    EXPECT_TRUE(files_.make_directory("/log").ok());
    manifest_.database = tests::kDatabase;
    manifest_.log_directories = {"/log"};
    manifest_.generations.emplace_back().number = 1;
    for (std::uint64_t sequence = 0; sequence < kSegments; ++sequence) {
      const SegmentName name{1, 0, sequence};
      tests::SegmentBuilder builder(name);
      builder.marker(sequence + 1, sequence).marker(sequence + 2, sequence);
      if (sequence + 1 < kSegments) builder.continues(sequence + 1);
      std::string bytes = builder.bytes();
      bytes.resize(kSegmentBytes, '\0');
      files_.put("/log/" + log::segment_name(1, 0, sequence), bytes);
    }
  }
  /// Returns how many threads have read.
  std::size_t readers(std::uint64_t memory_bytes) {
    std::mutex mutex;
    std::set<std::thread::id> readers;
    files_.set_observer([&](tests::FileCall call, const std::string&) {
      if (call != tests::FileCall::kRead) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that all threads get something to read
      const std::lock_guard lock(mutex);
      readers.insert(std::this_thread::get_id());
    });
    const auto scanned = scan_logs(files_, manifest_, {.threads = kSegments, .memory_bytes = memory_bytes});
    EXPECT_TRUE(scanned.ok()) << scanned.status().message();
    files_.set_observer({});
    return readers.size();
  }

  tests::FaultFiles files_;
  Manifest manifest_;
};

TEST_F(ScanMemory, HoldsAsManySegmentsAsThereIsRoomFor) {
  EXPECT_LE(readers(3 * kSegmentBytes + 1), 3u);
  EXPECT_EQ(readers(kSegmentBytes / 2), 1u) << "one of them at least";
  EXPECT_GT(readers(0), 3u);
}

}  // namespace
}  // namespace granary::recovery
