// A segment whose device does not give back its first block, and with it the header, is salvaged whatever its version.
// A read that fails in another process is no loss. Not here: whole databases (tests/durability/unreadable_test.cc).

#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

const SegmentName kName{1, 0, 0};

class UnreadableSegment : public testing::Test {
 protected:
  UnreadableSegment() {
    EXPECT_TRUE(disk_.make_directory("/a").ok());
    manifest_.database = tests::kDatabase;
    manifest_.log_directories = {"/a"};
    manifest_.generations = {{1, 1, 10, std::nullopt, 0}};
  }
  /// Makes a segment of which the first transaction ends in the second block, and makes the first block unreadable.
  void put_segment(std::uint32_t version) {
    const std::string path = "/a/" + log::segment_name(kName.generation, kName.logger, kName.sequence);
    disk_.put(path, tests::SegmentBuilder(kName, tests::kDatabase, 0, version)
                        .marker(9, 9)
                        .transaction(10, 1, {{0, "a", std::string(base::kDirectBlock, 'a')}})
                        .transaction(10, 2, {{0, "b", "2"}})
                        .marker(10, 9)
                        .bytes());
    disk_.make_unreadable(path, 0);
  }

  tests::FaultFiles disk_;
  Manifest manifest_;
};

TEST_F(UnreadableSegment, WithoutItsHeaderKeepsItsOtherEntries) {
  for (const std::uint32_t version : log::kSegmentVersions) {
    SCOPED_TRACE(version);
    put_segment(version);
    const auto scanned = scan_logs(disk_, manifest_, {.salvage = true});
    ASSERT_TRUE(scanned.ok()) << scanned.status().message();
    EXPECT_EQ(scanned->transactions, 1u);
    EXPECT_EQ(scanned->durable, 10u);
    EXPECT_FALSE(scanned->losses.empty());
  }
}

TEST_F(UnreadableSegment, InAnotherProcessIsNoLoss) {
  put_segment(log::kClusterFormatVersion);
  const auto scanned = scan_logs(disk_, manifest_, {.salvage = true, .sent = true});
  EXPECT_EQ(scanned.status().code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace granary::recovery
