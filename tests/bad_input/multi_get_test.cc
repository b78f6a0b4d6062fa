// Gets of a multi_get that are refused, in transactions and snapshots. Gets of other nodes' keys are in
// tests/cluster/transaction.

#include <array>
#include <string>
#include <string_view>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

/// Each get of a multi_get has its own answer: one that is refused must not make the others look as if their keys were
/// missing.
class RefusedGet : public testing::Test {
 protected:
  static constexpr std::size_t kMany = 200;  // several batches
  RefusedGet() {
    db_.put(table_, "k", "v");
    db_.put(hash_, "k", "h");
  }
  template <typename Reader>
  void expect_others_read(Reader& reader, const Table& table, std::string_view key, Outcome refusal) {
    std::array<std::array<char, 8>, kMany> buffers{};
    std::array<MultiGet, kMany> gets;
    for (std::size_t i = 0; i < kMany; ++i) gets[i] = {i % 2 == 0 ? table_ : hash_, "k", buffers[i], {}};
    for (const std::size_t i : {std::size_t{0}, std::size_t{70}, kMany - 1}) {
      gets[i].table = table;
      gets[i].key = key;
      gets[i].result = {Outcome::kOk, 77};
    }
    EXPECT_EQ(reader.multi_get(gets), Outcome::kOk);
    for (std::size_t i = 0; i < kMany; ++i) {
      const bool refused = i == 0 || i == 70 || i == kMany - 1;
      EXPECT_EQ(gets[i].result.outcome, refused ? refusal : Outcome::kOk) << i;
      EXPECT_EQ(gets[i].result.size, refused ? 0u : 1u) << i;
      EXPECT_EQ(buffers[i][0], refused ? '\0' : i % 2 == 0 ? 'v' : 'h') << i;
    }
  }
  ManualDatabase db_{1};
  Table table_ = db_.table("t");
  Table hash_ = db_.table("h", {.max_value_bytes = 100, .index = IndexKind::kHash, .expected_keys = 100});
};

TEST_F(RefusedGet, DoesNotKeepTheOthersFromTheirAnswers) {
  ManualDatabase other(1);
  const Table foreign = other.table("t");
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  db_.pass_snapshot_period();
  for (const bool in_snapshot : {false, true}) {
    const auto expect_for = [&](const Table& table, std::string_view key, Outcome refusal) {
      Transaction t = in_snapshot ? Transaction() : db_.begin();
      Snapshot snapshot = in_snapshot ? db_.snapshot() : Snapshot();
      if (in_snapshot) return expect_others_read(snapshot, table, key, refusal);
      expect_others_read(t, table, key, refusal);
      EXPECT_TRUE(t.commit().committed());
    };
    expect_for(Table(), "k", Outcome::kUnknownTable);
    expect_for(foreign, "k", Outcome::kUnknownTable);
    expect_for(table_, too_long, Outcome::kKeyTooLong);
  }
}

TEST_F(RefusedGet, OthersAreReadsThatCommitValidates) {
  Transaction t = db_.begin();
  std::array<std::array<char, 8>, 2> buffers{};
  std::array<MultiGet, 2> gets{{{Table(), "k", buffers[0], {}}, {table_, "k", buffers[1], {}}}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  db_.put(table_, "k", "new");
  EXPECT_EQ(t.put(table_, "x", "1"), Outcome::kOk);
  EXPECT_FALSE(t.commit().committed());
}

TEST_F(RefusedGet, OfATransactionThatCannotGoOnIsEveryOne) {
  Transaction ended = db_.begin();
  ended.abort();
  std::array<std::array<char, 8>, 2> buffers{};
  std::array<MultiGet, 2> gets{{{table_, "k", buffers[0], {}}, {hash_, "k", buffers[1], {}}}};
  EXPECT_EQ(ended.multi_get(gets), Outcome::kFinished);
  for (const MultiGet& get : gets) EXPECT_EQ(get.result.outcome, Outcome::kFinished);
}

}  // namespace
}  // namespace granary::tests
