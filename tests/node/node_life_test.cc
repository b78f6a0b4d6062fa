// What the directory of a cluster's node remembers of its lives, step by step.

#include "src/node/node_life.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "recovery/manifest.h"
#include "src/base/file.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

class NodeLives : public testing::Test {
 protected:
  NodeLives() {
    config_.name = "bank";
    own_.id = 3;
    own_.data_directory = directory_ / "data";
  }
  /// What the next process of the node finds.
  db::NodeLife reread() {
    db::NodeLife life(config_, own_);
    EXPECT_TRUE(life.read(/*salvage=*/false).ok());
    return life;
  }

  const TemporaryDirectory directory_;
  cluster_config::ClusterConfig config_;
  cluster_config::NodeConfig own_;
};

TEST_F(NodeLives, BeginWithNothing) { EXPECT_EQ(reread().former(), membership::Life{}); }

TEST_F(NodeLives, AreNotedBeforeTheClusterIsKnown) {
  ASSERT_TRUE(reread().note_begun(5).ok());
  EXPECT_EQ(reread().former(), (membership::Life{.cluster = "bank", .node = 3, .generation = 5}));
}

TEST_F(NodeLives, KeepThatTheClusterHasServed) {
  const membership::Life joined{.cluster = "bank", .node = 3, .cluster_id = 9, .generation = 5};
  db::NodeLife life = reread();
  ASSERT_TRUE(life.note_joined(joined).ok());
  EXPECT_FALSE(reread().served());
  ASSERT_TRUE(life.note_served(joined).ok());
  EXPECT_TRUE(life.served());

  db::NodeLife next = reread();
  EXPECT_TRUE(next.served());
  ASSERT_TRUE(next.note_begun(6).ok());
  ASSERT_TRUE(next.note_joined({.cluster = "bank", .node = 3, .cluster_id = 9, .generation = 6}).ok());
  EXPECT_TRUE(reread().served());
  EXPECT_EQ(reread().former().generation, 6U);
}

/// A start with --new_board that comes to nothing, as one of a single node or at a wrong place of ZooKeeper, leaves the
/// node where it was: its former cluster takes it back.
TEST_F(NodeLives, BelongToTheFormerClusterUntilANewOneHasServed) {
  const membership::Life former{.cluster = "bank", .node = 3, .cluster_id = 9, .generation = 5, .served = true};
  ASSERT_TRUE(membership::write_life(base::system_files(), own_.data_directory, former).ok());
  db::NodeLife life = reread();
  ASSERT_TRUE(life.note_begun(6).ok());
  const membership::Life joined{.cluster = "bank", .node = 3, .cluster_id = 10, .generation = 6};
  ASSERT_TRUE(life.note_joined(joined).ok());
  EXPECT_EQ(reread().former().cluster_id, 9U);
  EXPECT_EQ(reread().former().generation, 6U);
  ASSERT_TRUE(life.note_served(joined).ok());
  EXPECT_EQ(reread().former().cluster_id, 10U);
  EXPECT_EQ(reread().former().generation, 6U);
  EXPECT_TRUE(reread().served());
}

/// A life that has written to the data is not lived again, whatever MEMBER says.
TEST_F(NodeLives, AreNotFewerThanThoseThatWroteTheData) {
  ASSERT_TRUE(reread().note_begun(5).ok());
  for (const std::uint32_t written : {4U, 5U, 6U}) {
    const recovery::Manifest manifest{.generations = {{.number = 1, .cut = 7, .life = written, .stamp = 1},
                                                      {.number = 2, .first_epoch = 8, .stamp = 2}}};
    ASSERT_TRUE(recovery::write_manifest(base::system_files(), own_.data_directory, manifest).ok());
    db::NodeLife life(config_, own_);
    const Status read = life.read(/*salvage=*/false);
    EXPECT_EQ(read.code(), written == 6 ? StatusCode::kDamaged : StatusCode::kOk) << written << read.message();
    ASSERT_TRUE(life.read(/*salvage=*/true).ok());
    EXPECT_EQ(life.former().generation, std::max(5U, written));
  }
}

/// The node would make its first file there the file of root, and leave the user one that it cannot read.
TEST_F(NodeLives, AreNotNotedByRootInTheDataOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(reread().note_begun(5).ok());
  ASSERT_TRUE(recovery::write_manifest(base::system_files(), own_.data_directory, {}).ok());
  ASSERT_EQ(::chown((own_.data_directory + "/MANIFEST").c_str(), 1, 1), 0);
  EXPECT_EQ(db::NodeLife(config_, own_).read(/*salvage=*/true).code(), StatusCode::kFailedPrecondition);
}

/// A node whose volume is not mounted leaves nothing in the directory. A note that was there before stays, and so do
/// data.
TEST_F(NodeLives, ThatDoNotStartLeaveNoNoteInAnEmptyDirectory) {
  const std::string note = own_.data_directory + "/MEMBER";
  db::NodeLife first = reread();
  ASSERT_TRUE(first.note_begun(5).ok());
  first.take_back();
  EXPECT_TRUE(std::filesystem::is_empty(own_.data_directory));
  first.take_back();
  ASSERT_TRUE(first.note_begun(6).ok());
  reread().take_back();
  EXPECT_TRUE(std::filesystem::exists(note)) << "it was there before";
  std::filesystem::remove(note);

  const recovery::Manifest manifest{.generations = {{.number = 1, .life = 7, .stamp = 1}}};
  db::NodeLife writer = reread();
  ASSERT_TRUE(writer.note_begun(7).ok());
  ASSERT_TRUE(recovery::write_manifest(base::system_files(), own_.data_directory, manifest).ok());
  writer.take_back();
  reread().take_back();
  EXPECT_TRUE(std::filesystem::exists(note)) << "the data need it";
  own_.data_directory.clear();
  reread().take_back();
}

TEST_F(NodeLives, OfANodeWithoutADirectoryAreForgotten) {
  own_.data_directory.clear();
  ASSERT_TRUE(reread().note_begun(5).ok());
  EXPECT_EQ(reread().former(), membership::Life{});
}

}  // namespace
}  // namespace granary::tests
