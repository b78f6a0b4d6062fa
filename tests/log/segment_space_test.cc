// Segments come from what was set aside, as long as there is any.

#include "src/log/segment_space.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/log/logger_rig.h"

namespace granary::log {
namespace {

using tests::FaultFiles;

std::size_t spares(const FaultFiles& files) {
  const auto paths = files.paths();
  return static_cast<std::size_t>(std::count_if(paths.begin(), paths.end(), [](const std::string& path) {
    return is_spare_name(path.substr(path.rfind('/') + 1));
  }));
}

class SegmentSpaceTest : public testing::Test {
 protected:
  SegmentSpaceTest() { EXPECT_TRUE(files_.make_directory("/log").ok()); }
  /// Appends to the file that is taken; how many spares are left.
  std::size_t write(const std::string& path, std::string_view bytes) {
    const auto file = space_.take(path);
    EXPECT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE((*file)->append(bytes).ok());
    return spares(files_);
  }

  FaultFiles files_;
  SegmentSpace space_{{.files = &files_, .directory = "/log", .logger = 3, .segment_bytes = 1000, .spares = 2}};
};

TEST_F(SegmentSpaceTest, TakesWhatWasSetAsideAndThenNewFiles) {
  ASSERT_TRUE(space_.replenish().ok());
  EXPECT_EQ(files_.paths(), (std::vector<std::string>{"/log/spare-l03-00000000.glog", "/log/spare-l03-00000001.glog"}));
  EXPECT_EQ(write("/log/a", "first"), 1u);
  EXPECT_EQ(write("/log/b", "second"), 0u);
  EXPECT_EQ(write("/log/c", "third"), 0u);
  EXPECT_EQ(files_.contents("/log/a"), "first" + std::string(995, '\0'));
  EXPECT_EQ(files_.contents("/log/c"), "third");
  ASSERT_TRUE(space_.replenish().ok());
  EXPECT_EQ(files_.paths().size(), 5u);
}

TEST_F(SegmentSpaceTest, SaysThatTheDiskIsFullAndKeepsWhatThereIs) {
  files_.set_capacity(1500);
  const Status full = space_.replenish();
  EXPECT_EQ(full.code(), StatusCode::kDiskFull);
  EXPECT_EQ(files_.paths().size(), 1u);
  EXPECT_EQ(write("/log/a", std::string(1000, 'x')), 0u) << "what is set aside can be written on a full disk";
  files_.set_capacity(3000);
  EXPECT_TRUE(space_.replenish().ok());
}

TEST_F(SegmentSpaceTest, PassesOverWhatSomebodyHasRemoved) {
  ASSERT_TRUE(space_.replenish().ok());
  ASSERT_TRUE(files_.remove("/log/spare-l03-00000001.glog").ok());
  EXPECT_EQ(write("/log/a", "first"), 0u);
  EXPECT_EQ(files_.contents("/log/a"), "first" + std::string(995, '\0')) << "the other spare file";
  ASSERT_TRUE(space_.replenish().ok());
  for (const std::string& path : files_.paths()) {
    if (path.find("spare") != std::string::npos) {
      ASSERT_TRUE(files_.remove(path).ok());
    }
  }
  EXPECT_EQ(write("/log/b", "second"), 0u);
  EXPECT_EQ(files_.contents("/log/b"), "second") << "a new file";
}

/// Several segments' worth of log on a disk that has room for what was set aside, and for nothing else.
TEST(LoggerReserve, WritesOnAFullDiskAndGetsBackWhatACheckpointFrees) {
  tests::LoggerRig rig({.segment_bytes = 4096, .spares = 4});
  ASSERT_TRUE(rig.open().ok());
  rig.files().set_capacity(4 * 4096 + 2048);
  base::Random random(1);
  for (int epoch = 0; epoch < 60; ++epoch) {
    rig.commit(0, std::string(600, 'v'));
    rig.advance();
    ASSERT_TRUE(rig.remove_until(rig.durable().current() - 1).ok());
    ASSERT_FALSE(rig.durable().failed()) << rig.durable().cause().message();
  }
  EXPECT_GE(spares(rig.files()), 2u);
}

}  // namespace
}  // namespace granary::log
