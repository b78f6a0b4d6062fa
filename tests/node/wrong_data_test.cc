// Clusters whose nodes find the wrong data when they start: another node's, an older copy, none, or those of a node
// that is gone.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <granary/cluster.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/life.h"
#include "src/base/file.h"
#include "tests/node/cluster_restart.h"

namespace granary {
namespace {

using tests::ClusterRestart;
using tests::make_accounts;
using tests::node_options;
using tests::on_each_node;

TEST_F(ClusterRestart, DataOfAnotherNodeAreRefused) {
  write_to_both();
  const std::filesystem::path first = folder() / "data/node-1", second = folder() / "data/node-2";
  std::filesystem::remove_all(second);
  std::filesystem::copy(first, second, std::filesystem::copy_options::recursive);
  for (const NodeNumber node : {NodeNumber{1}, NodeNumber{2}}) {  // node 1 recovers from both directories
    EXPECT_THAT(why_refused(node), testing::HasSubstr("node 1 of cluster 'test', not those of node 2"));
  }
}

/// Both lives are named; only who is told to salvage goes on with it.
TEST_F(ClusterRestart, AnOlderCopyOfANodesDirectoryIsRefused) {
  const std::filesystem::path data = folder() / "data/node-2", older = folder() / "older";
  write_to_both();
  std::filesystem::copy(data, older, std::filesystem::copy_options::recursive);
  expect_both();
  std::filesystem::remove_all(data);
  std::filesystem::rename(older, data);
  const std::string refused = why_refused(2);
  EXPECT_THAT(refused, testing::HasSubstr("the data of node 2 in '" + data.string() + "' are of its life 1"));
  EXPECT_THAT(refused, testing::HasSubstr("it has had life 2 since"));
  EXPECT_THAT(why_refused(1), testing::HasSubstr("the data of node 2 in '" + data.string() + "' are of its life 1"))
      << "it would go by what is there of node 2's log";
  salvage_both();
}

/// The copy's log has ended in order, so only the life in MEMBER tells that it is an older one.
TEST_F(ClusterRestart, AnOlderCopyIsRefusedByANodeThatStartsAlone) {
  const std::filesystem::path data = folder() / "data/node-2", older = folder() / "older", newer = folder() / "newer";
  write_to_both();
  std::filesystem::copy(data, older, std::filesystem::copy_options::recursive);
  expect_both();
  std::filesystem::rename(data, newer);
  std::filesystem::rename(older, data);
  EXPECT_THAT(why_refused(1), testing::HasSubstr("Put the newer ones back"));
  std::filesystem::remove_all(data);
  std::filesystem::rename(newer, data);
  expect_both();
}

/// Node 2's log may have what node 2 wrote to records of node 1.
TEST_F(ClusterRestart, ANodeThatTheFileHasNoMoreIsMissed) {
  write_to_both();
  ClusterOptions options = alone("data/node-1");
  EXPECT_THAT(Cluster::join(options).status().message(), testing::HasSubstr("node 2 is not in the cluster file"));
  for (const bool salvage : {true, false}) {
    options.database.salvage = salvage;
    auto cluster = Cluster::join(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().message();
    (void)make_accounts(**cluster, IndexKind::kHash);
    const Status started = (*cluster)->start();
    EXPECT_TRUE(started.ok()) << started.message();
  }
}

/// One whose volume is not mounted: it leaves nothing in the empty directory, and starts when the data are there again.
TEST_F(ClusterRestart, DataThatAreNotMountedAreMissed) {
  const std::filesystem::path data = folder() / "data/node-2", elsewhere = folder() / "elsewhere";
  write_to_both();
  for (const bool reboots : {false, true}) {
    std::filesystem::rename(data, elsewhere);
    std::filesystem::create_directory(data);
    if (reboots) std::filesystem::remove_all(folder() / "run");
    for (int tries = 0; tries < 3; ++tries)
      EXPECT_THAT(why_refused(2), testing::HasSubstr("'" + data.string() + "' holds no data"));
    EXPECT_TRUE(std::filesystem::is_empty(data));
    std::filesystem::remove(data);
    std::filesystem::rename(elsewhere, data);
    expect_both();
  }
}

/// Neither as a new node's, nor for the recovery of the others.
TEST_F(ClusterRestart, DataWithoutTheFileThatSaysWhoseTheyAreAreRefused) {
  write_to_both();
  expect_both();
  const std::string member = folder() / "data/node-2/MEMBER";
  std::filesystem::remove(member);
  for (const NodeNumber node : {NodeNumber{1}, NodeNumber{2}})
    EXPECT_THAT(why_refused(node), testing::HasSubstr("'" + member + "', which says of which node"));
  salvage_both();
  const auto life = membership::read_life(base::system_files(), folder() / "data/node-2", "test", 2);
  ASSERT_TRUE(life.ok()) << life.status().message();
  EXPECT_EQ(life->generation, 3u) << "counted on from the lives that the manifest names";
  expect_both();
}

TEST_F(ClusterRestart, DataOfAnotherClusterAreRefused) {
  write_to_both();
  std::ofstream(file_.path()) << "[cluster]\nname = \"other\"\nrun_directory = \"elsewhere\"\n[[node]]\nid = 1\n"
                                 "data_directory = \"data/node-1\"\n";
  EXPECT_THAT(why_refused(1), testing::HasSubstr("of cluster 'test', not those of node 1 of cluster 'other'"));
}

TEST_F(ClusterRestart, ADirectoryThatIsEmptyNowIsMissed) {
  write_to_both();
  std::filesystem::remove_all(folder() / "data/node-2");
  for (const NodeNumber node : {NodeNumber{1}, NodeNumber{2}})
    EXPECT_THAT(why_refused(node), testing::HasSubstr("data/node-2' holds no data")) << node;
  salvage_both();
}

/// Node 1 comes back while node 3 serves. Node 2 has left, and its log has what it wrote to node 1's records.
TEST(ClusterOfThree, ANodeThatComesBackMissesTheDataOfOneThatHasLeft) {
  const tests::ClusterFile file(3, 2, "", "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  const std::filesystem::path data = std::filesystem::path(file.path()).parent_path() / "data/node-2";
  std::atomic<bool> gone{false}, tried{false};
  const auto await = [](const std::atomic<bool>& flag) {
    while (!flag) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  on_each_node(file, 3, [&](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    EXPECT_TRUE(cluster.barrier().ok());
    if (cluster.node() == 3) return await(tried);
    if (cluster.node() == 2) {
      EXPECT_TRUE(cluster.leave().ok());
      gone = true;
      return;
    }
    await(gone);
    EXPECT_TRUE(cluster.leave().ok());
    std::filesystem::rename(data, data.string() + "-elsewhere");
    std::filesystem::create_directory(data);
    EXPECT_THAT(Cluster::join(node_options(file, 1)).status().message(),
                testing::HasSubstr("'" + data.string() + "' holds no data"));
    tried = true;
  });
}

}  // namespace
}  // namespace granary
