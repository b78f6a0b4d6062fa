// The part of a node's log that its own checkpoint covers, and that other nodes of the cluster may need: it is looked
// at in full. Databases made by hand, read through a file system in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::SegmentBuilder;

std::string path(const SegmentName& name) {
  return "/a/" + log::segment_name(name.generation, name.logger, name.sequence);
}

/// Two generations of two loggers that are over. A checkpoint covers the first; of another one before, a segment was
/// left.
class KeptLog : public testing::Test {
 protected:
  KeptLog() {
    EXPECT_TRUE(disk_.make_directory("/a").ok());
    manifest_.database = tests::kDatabase;
    manifest_.log_directories = {"/a"};
    manifest_.generations = {{1, 2, 10, 12, 12}, {2, 2, 20, 21, 21}};
    manifest_.checkpoint = {15, "c"};
    put({0, 0, 0}, SegmentBuilder({0, 0, 0}).marker(5, 5));
    for (const std::uint64_t generation : {1u, 2u}) {
      for (const std::uint32_t logger : {0u, 1u}) {
        const SegmentName name{generation, logger, 0};
        const epoch::Epoch first = 10 * generation;
        put(name, SegmentBuilder(name)
                      .marker(first - 1, first - 1)
                      .transaction(first, logger + 1, {{0, "a", "1"}})
                      .marker(first + 2, first + 1));
      }
    }
  }
  void put(const SegmentName& name, const SegmentBuilder& builder) { disk_.put(path(name), builder.bytes()); }
  void damage() {
    disk_.edit(path({1, 1, 0}), [](std::string& bytes) { bytes[64 + 32 + 20] ^= 1; });
  }
  /// Scans the log, which is whole as far as its own node needs it, and adds to it.
  Status add(LogScan& scan, bool salvage = false) {
    const ScanOptions options{.threads = 1, .salvage = salvage};
    auto own = scan_logs(disk_, manifest_, options);
    EXPECT_TRUE(own.ok()) << own.status().message();
    scan = std::move(own).value();
    return add_kept_log(disk_, manifest_, options, scan);
  }

  tests::FaultFiles disk_;
  Manifest manifest_;
};

TEST_F(KeptLog, StandsBeforeWhatTheNodeItselfNeeds) {
  LogScan scan;
  const Status added = add(scan);
  ASSERT_TRUE(added.ok()) << added.message();
  EXPECT_EQ(scan.kept, 2u);
  ASSERT_EQ(scan.segments.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(scan.segments[i].limit, i < 2 ? 12u : 21u);
  EXPECT_EQ(scan.transactions, 4u);
  EXPECT_EQ(scan.durable, 21u);
  EXPECT_THAT(scan.superseded, ElementsAre(path({0, 0, 0}))) << "the manifest does not name its generation";
}

TEST_F(KeptLog, IsNoneWithoutACheckpointBehindIt) {
  for (const epoch::Epoch checkpoint : {epoch::Epoch{0}, epoch::Epoch{12}}) {
    manifest_.checkpoint.reset();
    if (checkpoint != 0) manifest_.checkpoint = {checkpoint, "c"};
    LogScan scan;
    ASSERT_TRUE(add(scan).ok());
    EXPECT_EQ(scan.kept, 0u);
    EXPECT_EQ(scan.segments.size(), 4u) << "all of it counts for the node itself";
  }
}

TEST_F(KeptLog, DamageIsDamageAlthoughTheCheckpointCoversIt) {
  damage();
  LogScan scan;
  const Status told = add(scan);
  EXPECT_EQ(told.code(), StatusCode::kDamaged);
  EXPECT_THAT(told.message(), AllOf(HasSubstr(path({1, 1, 0})), HasSubstr("at or below the durable epoch")));
  ASSERT_TRUE(add(scan, /*salvage=*/true).ok());
  ASSERT_FALSE(scan.losses.empty());
  EXPECT_EQ(scan.losses.front().path, path({1, 1, 0}));
  EXPECT_EQ(scan.kept, 2u);
}

TEST_F(KeptLog, ASegmentThatIsGoneIsMissed) {
  ASSERT_TRUE(disk_.remove(path({1, 1, 0})).ok());
  LogScan scan;
  EXPECT_THAT(add(scan).message(), AllOf(HasSubstr(path({1, 1, 0})), HasSubstr("the file is missing")));
  // A checkpoint of all nodes has made it needless.
  put({1, 1, 1}, SegmentBuilder({1, 1, 1}).marker(12, 12));
  manifest_.generations[0].segments = {{0, {}}, {1, {}}};
  EXPECT_TRUE(add(scan).ok());
}

}  // namespace
}  // namespace granary::recovery
