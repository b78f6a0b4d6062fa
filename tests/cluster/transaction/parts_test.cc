// Parts of another node's values: read and written by way of the whole value.

#include <array>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"
#include "tests/support/manual_database.h"

namespace granary::cluster::test {
namespace {

using PartsAcrossNodes = AcrossNodes;
INSTANTIATE_TEST_SUITE_P(Kinds, PartsAcrossNodes, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(PartsAcrossNodes, AreReadAndWritten) {
  commit(0, [&](Transaction& t, const Table& table) {
    std::array<char, 5> room{};
    const GetResult got = t.get_part(table, "1x", 1, room);
    EXPECT_EQ(got.outcome, Outcome::kOk);
    EXPECT_EQ(std::string_view(room.data(), got.size), "ld");
    EXPECT_EQ(t.update_part(table, "1x", 1, "LD"), Outcome::kOk);
    EXPECT_EQ(t.update_part(table, "1y", 2, "de"), Outcome::kPartBeyondValue);
    EXPECT_EQ(t.update_part(table, "1z", 0, "a"), Outcome::kNotFound);
    EXPECT_EQ(t.get_part(table, "1z", 0, room).outcome, Outcome::kNotFound);
    std::array<MultiGet, 2> gets{{{.table = table, .key = "1x", .buffer = room, .result = {}, .part_from = 2},
                                  {.table = table, .key = "0x", .buffer = room, .result = {}, .part_from = 3}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(room[0], 'D');
    EXPECT_EQ(gets[0].result.size, 1u);
    EXPECT_EQ(gets[1].result.size, 0u);
  });
  EXPECT_EQ(at(1, "1x"), "oLD");
  EXPECT_EQ(at(0, "1y"), "old");
}

/// A snapshot reads the whole value of the version that it sees, of shared records of this node and of others.
TEST_P(PartsAcrossNodes, AreReadBySnapshots) {
  cluster_.pass_epochs(2 * std::uint64_t{tests::manual_options().snapshot_epochs});
  for (const std::size_t node : {0u, 1u}) {
    Snapshot snapshot = cluster_.node(node).worker(1).snapshot();
    commit(node, [&](Transaction& t, const Table& table) {
      EXPECT_EQ(t.update_part(table, "1x", 1, node == 0 ? "L" : "l"), Outcome::kOk);
    });
    std::array<char, 5> room{};
    const GetResult got = snapshot.get_part(table(node), "1x", 1, room);
    EXPECT_EQ(got.outcome, Outcome::kOk);
    EXPECT_EQ(std::string_view(room.data(), got.size), "ld");
    EXPECT_EQ(snapshot.get_part(table(node), "1x", 3, room).size, 0u);
    EXPECT_EQ(snapshot.get_part(table(node), "1z", 0, room).outcome, Outcome::kNotFound);
  }
}

}  // namespace
}  // namespace granary::cluster::test
