// What a node's data directory remembers, and that it keeps the node from joining where it must not.

#include <fstream>

#include <gmock/gmock.h>

#include "cluster_config/membership/life.h"
#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership.h"
#include "tests/cluster_config/membership/world.h"
#include "tests/support/temporary_directory.h"

namespace granary::membership::tests {
namespace {

class Lives : public testing::Test {
 protected:
  Result<Life> read(const std::string& cluster = "bank", NodeId node = 0) {
    return read_life(base::system_files(), directory_ / "data", cluster, node);
  }
  void write(const std::string& text) { std::ofstream(directory_ / "data/MEMBER") << text; }
  /// A life of node 0 that begins and ends.
  Result<Life> live(const std::shared_ptr<MemoryPlace>& place) {
    const Result<Life> before = read();
    if (!before.ok()) return before.status();
    MembershipOptions options = options_of(0);
    options.remember(*before);
    const auto joined = Membership::join(std::make_unique<MemoryBoard>(place), options, {});
    if (!joined.ok()) return joined.status();
    const Status written = write_life(base::system_files(), directory_ / "data", (*joined)->life());
    return written.ok() ? read() : Result<Life>(written);
  }

  const granary::tests::TemporaryDirectory directory_;
};

TEST_F(Lives, ANewNodeRemembersNothing) { EXPECT_EQ(*read(), Life{}); }

TEST_F(Lives, AreReadAsWritten) {
  const Life life{
      .cluster = std::string(64, 'x'), .node = 4095, .cluster_id = 0xfedcba9876543210, .generation = 4'000'000'000};
  ASSERT_TRUE(write_life(base::system_files(), directory_ / "data", life).ok());
  EXPECT_EQ(*read(life.cluster, life.node), life);
}

TEST_F(Lives, OthersDataAreRefused) {
  const Life life{.cluster = "bank", .node = 2, .cluster_id = 1, .generation = 1};
  ASSERT_TRUE(write_life(base::system_files(), directory_ / "data", life).ok());
  EXPECT_TRUE(read("bank", 2).ok());
  const Status of_another_node = read("bank", 3).status();
  EXPECT_EQ(of_another_node.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(of_another_node.message(), testing::HasSubstr("node 2 of cluster 'bank', not those of node 3"));
  EXPECT_EQ(read("store", 2).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(Lives, OtherTextsAreRefused) {
  const std::string good =
      "granary member 2\nnode 0 of bank\ncluster 0000000000000001\ngeneration 1\ncrc32c 25478219\n";
  ASSERT_TRUE(base::system_files().make_directory(directory_ / "data").ok());
  write(good);
  ASSERT_TRUE(read().ok());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    write(flipped);
    EXPECT_EQ(read().status().code(), StatusCode::kDamaged) << bit;
  }
  for (const char* text : {"", "granary member 3\nnode 0 of bank\ncluster 0000000000000001\ngeneration 1\n",
                           "granary member 1\nnode 0 of bank\ncluster 1\ngeneration 1\n",
                           "granary member 1\ncluster 0000000000000001\ngeneration 1\n",
                           "granary member 1\nnode 0 of bank\ncluster 0000000000000001\n"}) {
    write(text);
    EXPECT_EQ(read().status().code(), StatusCode::kDamaged) << text;
  }
  write(good + "more");
  EXPECT_EQ(read().status().code(), StatusCode::kDamaged);
}

TEST_F(Lives, ANodeWithDataKnowsItsCluster) {
  const auto place = std::make_shared<MemoryPlace>();
  const Result<Life> first = live(place);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->generation, 1u);
  EXPECT_EQ(*live(place), (Life{.cluster = "bank", .node = 0, .cluster_id = first->cluster_id, .generation = 2}));

  place->wipe();
  const Result<Life> wiped = live(place);
  ASSERT_FALSE(wiped.ok());
  EXPECT_THAT(wiped.status().message(), testing::HasSubstr("wiped"));

  const auto other = std::make_shared<MemoryPlace>();
  ASSERT_TRUE(Membership::join(std::make_unique<MemoryBoard>(other), options_of(1), {}).ok());
  EXPECT_EQ(live(other).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(read()->generation, 2u) << "a refusal changes nothing";
}

}  // namespace
}  // namespace granary::membership::tests
