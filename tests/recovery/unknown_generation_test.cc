// Segments of a generation that the manifest does not know: an interrupted opening has left them, or the manifest is
// older than the log. Databases made by hand. More of them: LogScan.AbandonedGenerations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recovery/log_scan.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"

namespace granary::recovery {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::SegmentBuilder;

std::string path(const SegmentName& name) {
  return "/a/" + log::segment_name(name.generation, name.logger, name.sequence);
}

/// The manifest knows the first generation only.
class UnknownGeneration : public testing::Test {
 protected:
  UnknownGeneration() {
    EXPECT_TRUE(disk_.make_directory("/a").ok());
    manifest_.database = tests::kDatabase;
    manifest_.log_directories = {"/a"};
    manifest_.generations = {{1, 1, 10, std::nullopt, 0}};
    put({1, 0, 0}, SegmentBuilder({1, 0, 0}).marker(9, 9).transaction(10, 1, {{0, "a", "1"}}).marker(11, 9).bytes());
  }
  void put(const SegmentName& name, std::string_view bytes) { disk_.put(path(name), std::string(bytes)); }
  Result<LogScan> scan() { return scan_logs(disk_, manifest_, {}); }
  void expect_abandoned(const std::vector<std::string>& paths) {
    const auto scanned = scan();
    ASSERT_TRUE(scanned.ok()) << scanned.status().message();
    EXPECT_EQ(scanned->abandoned, paths);
    EXPECT_EQ(scanned->durable, 11u);
  }
  void expect_refused(const SegmentName& name) {
    const Status refused = scan().status();
    EXPECT_EQ(refused.code(), StatusCode::kDamaged);
    EXPECT_THAT(refused.message(),
                AllOf(HasSubstr("'" + path(name) + "' is of generation 2, which the manifest does not know"),
                      HasSubstr("Put the newest MANIFEST back")));
  }

  tests::FaultFiles disk_;
  Manifest manifest_;
};

TEST_F(UnknownGeneration, IsRefusedOnceItsFirstMarkerIsRepeated) {
  const SegmentName name{2, 0, 0};
  SegmentBuilder begun = SegmentBuilder(name).transaction(11, 7, {{0, "from", "a ring"}}).marker(19, 19);
  const std::size_t unnamed = begun.bytes().size();
  begun.marker(19, 19);
  for (std::size_t size = unnamed; size < begun.bytes().size(); ++size) {
    SCOPED_TRACE(size);
    put(name, begun.bytes().substr(0, size));
    expect_abandoned({path(name)});
  }
  put(name, begun.bytes());
  expect_refused(name);
  put(name, begun.marker(20, 19).bytes());
  expect_refused(name);
}

/// Other markers never have the epoch of the first one. Former releases wrote some before the manifest.
TEST_F(UnknownGeneration, IsAbandonedWithOtherMarkers) {
  const SegmentName name{2, 0, 0};
  put(name, SegmentBuilder(name).marker(19, 19).marker(20, 19).marker(21, 20).bytes());
  expect_abandoned({path(name)});
}

/// Only a checkpoint of a generation that served removes a first segment. Former releases could begin the second one
/// before the manifest was written.
TEST_F(UnknownGeneration, IsRefusedWithoutAFirstSegment) {
  const SegmentName first{2, 0, 0}, second{2, 0, 1}, of_another{2, 1, 1};
  put(second, SegmentBuilder(second).marker(20, 19).bytes());
  expect_refused(second);
  put(first, SegmentBuilder(first).marker(19, 19).marker(20, 19).bytes());
  expect_abandoned({path(first), path(second)});
  put(of_another, SegmentBuilder(of_another).marker(20, 19).bytes());
  expect_refused(of_another);
}

}  // namespace
}  // namespace granary::recovery
