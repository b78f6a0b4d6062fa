// Directories that a run finds empty and leaves empty.

#include "bench/cluster/node_directories.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace granary::bench::cluster {
namespace {

namespace fs = std::filesystem;

TEST(NodeDirectories, AreThoseOfDataAndLogsOfAllNodes) {
  cluster_config::ClusterConfig config;
  config.nodes.resize(3);
  config.nodes[0].data_directory = "a";
  config.nodes[2].data_directory = "c";
  config.nodes[2].log_directories = {"d", "e"};
  EXPECT_THAT(directories_of(config), testing::ElementsAre("a", "c", "d", "e"));
}

TEST(NodeDirectories, WhatIsInThemIsToldBeforeAndRemovedAfterwards) {
  const tests::TemporaryDirectory scratch;
  const std::string missing = scratch / "missing", used = scratch / "used";
  EXPECT_TRUE(check_empty({missing}).ok());
  fs::create_directories(used);
  EXPECT_TRUE(check_empty({missing, used}).ok());
  fs::create_directories(used + "/below/it");
  std::ofstream(used + "/below/it/file") << "data";
  const Status full = check_empty({missing, used});
  EXPECT_EQ(full.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(full.message().find("'" + used + "' is not empty"), std::string::npos) << full.message();
  EXPECT_TRUE(empty({missing, used}).ok());
  EXPECT_TRUE(fs::is_empty(used));
  EXPECT_FALSE(fs::exists(missing));
  EXPECT_TRUE(check_empty({used}).ok());
}

TEST(NodeDirectories, AFileIsNoDirectory) {
  const tests::TemporaryDirectory scratch;
  const std::string file = scratch / "file";
  std::ofstream(file) << "data";
  EXPECT_FALSE(check_empty({file}).ok());
  EXPECT_EQ(empty({file}).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(fs::exists(file));
}

}  // namespace
}  // namespace granary::bench::cluster
