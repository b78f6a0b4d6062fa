// multi_put does what single puts do, one after the other: a random model test against a database to which the same is
// put one by one; and a put that is refused leaves the others alone. Other nodes: tests/cluster/transaction; histories:
// random_interleaving_test.cc.

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/manual_database.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary::tests {
namespace {

constexpr std::size_t kTables = 3, kKeys = 60;

/// A database with two tables, and a third with a secondary index over the first four bytes of its values.
struct Stage {
  explicit Stage(IndexKind kind)
      : tables{db.table("plain", {.max_value_bytes = 100, .index = kind, .expected_keys = 16}),
               db.table("other", {.max_value_bytes = 100, .index = IndexKind::kHash, .expected_keys = 16}),
               db.table("indexed", {.max_value_bytes = 100, .index = kind, .expected_keys = 16})},
        by_value(db->create_index(tables[2], "by_value",
                                  {.parts = {{.offset = 0, .length = 4, .encoding = IndexEncoding::kText}}})
                     .value()) {}

  ManualDatabase db{2};
  std::array<Table, kTables> tables;
  Index by_value;
};

class MultiPuts : public testing::TestWithParam<IndexKind> {
 protected:
  Stage stage_{GetParam()};
  ManualDatabase& db_ = stage_.db;
  const Table& plain_ = stage_.tables[0];
};
INSTANTIATE_TEST_SUITE_P(Both, MultiPuts, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& made) { return made.param == IndexKind::kHash ? "Hash" : "Ordered"; });

/// A third of the keys is longer than the eight bytes up to which a transaction remembers where the record is.
std::string key_of(std::size_t number) { return (number % 3 == 0 ? "a-long-key-" : "k") + std::to_string(number); }

/// Runs the same transactions on two databases, with multi_puts on one and single puts on the other. One runs after the
/// other, as a transaction that is stepped past another one may end sooner (regions).
class Twins {
 public:
  Twins(std::uint64_t seed, IndexKind kind) : random_(seed), together_(kind), singly_(kind) {}

  void run(int transactions) {
    for (int i = 0; i < transactions && !testing::Test::HasFailure(); ++i) {
      std::vector<Step> steps(1 + below(4));
      for (Step& step : steps) step = some_step();
      const bool aborts = below(4) == 0;
      ASSERT_EQ(outcomes(together_, steps, aborts, /*in_one=*/true), outcomes(singly_, steps, aborts, false));
      ASSERT_EQ(contents(together_), contents(singly_));
      if (below(10) != 0) continue;
      together_.db.collect_everything();
      singly_.db.collect_everything();
    }
  }

 private:
  struct Row {
    std::size_t table;
    std::string key, value;
  };
  enum class Kind : std::uint8_t { kRemove, kGet, kPut };
  struct Step {
    Kind kind;
    std::vector<Row> rows;  ///< one, unless kPut
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::string some_value() {
    std::string value(4 + below(90), 'v');
    for (char& c : value) c = static_cast<char>('a' + below(3));
    return value;
  }
  /// There are few keys and many rows, so that some come twice, in one batch or in several. Tables change now and then.
  Step some_step() {
    Step step{below(3) != 0 ? Kind::kPut : below(2) == 0 ? Kind::kRemove : Kind::kGet, {}};
    std::size_t table = below(kTables);
    for (std::size_t left = step.kind == Kind::kPut ? below(200) : 1; left != 0; --left) {
      if (below(4) == 0) table = below(kTables);
      step.rows.push_back({table, key_of(below(kKeys)), some_value()});
    }
    return step;
  }

  /// Runs the steps as a transaction and returns the outcome of each operation, and what was read.
  static std::vector<std::string> outcomes(Stage& stage, const std::vector<Step>& steps, bool aborts, bool in_one) {
    std::vector<std::string> all;
    Transaction t = stage.db.begin();
    for (const Step& step : steps) {
      std::vector<MultiPut> puts;
      for (const Row& row : step.rows) {
        const Table& table = stage.tables[row.table];
        std::string value;
        if (step.kind == Kind::kRemove) all.emplace_back(name(t.remove(table, row.key)));
        if (step.kind == Kind::kGet) all.emplace_back(name(t.get(table, row.key, value))).append(value);
        if (step.kind == Kind::kPut && !in_one) all.emplace_back(name(t.put(table, row.key, row.value)));
        if (step.kind == Kind::kPut && in_one) puts.push_back({table, row.key, row.value, Outcome::kNotFound});
      }
      EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
      for (const MultiPut& put : puts) all.emplace_back(name(put.outcome));
    }
    if (aborts) {
      t.abort();
    } else {
      EXPECT_TRUE(t.commit().committed());
    }
    return all;
  }

  static std::vector<std::string> contents(Stage& stage) {
    std::vector<std::string> all;
    for (const Table& table : stage.tables) {
      for (std::size_t number = 0; number < kKeys; ++number) all.push_back(stage.db.value(table, key_of(number)));
    }
    Transaction t = stage.db.begin();
    all.push_back(scan_text(t, stage.by_value));
    EXPECT_TRUE(t.commit().committed());
    return all;
  }

  std::mt19937_64 random_;
  Stage together_, singly_;
};

TEST_P(MultiPuts, DoWhatPutsDoOneAfterTheOther) {
  for (const std::uint64_t seed : seeds(tests::scaled(4))) {
    Twins(seed, GetParam()).run(25);
    if (HasFailure()) return;
  }
}

TEST_P(MultiPuts, AreSeenByTheTransactionItself) {
  std::array<MultiPut, 5> puts{{{plain_, "x", "1"},
                                {plain_, "y", "2"},
                                {plain_, "x", "3"},
                                {plain_, "a key of many bytes", "4"},
                                {plain_, "a key of many bytes", "5"}}};
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
    std::string value;
    EXPECT_EQ(t.get(plain_, "x", value), Outcome::kOk);
    EXPECT_EQ(value, "3") << "the last of two";
    EXPECT_EQ(t.get(plain_, "a key of many bytes", value), Outcome::kOk);
    EXPECT_EQ(value, "5");
    EXPECT_EQ(t.insert(plain_, "y", "new"), Outcome::kAlreadyExists);
    EXPECT_EQ(t.multi_put({}), Outcome::kOk) << "nothing to put";
  });
  EXPECT_EQ(db_.value(plain_, "x"), "3");
  EXPECT_EQ(db_.value(plain_, "a key of many bytes"), "5");
}

/// Refused puts are the first, the last, and some between them, also where another table comes next.
TEST_P(MultiPuts, ThatAreRefusedLeaveTheOthersAlone) {
  constexpr std::size_t kMany = 200;  // several batches
  ManualDatabase elsewhere(1);
  const Table foreign = elsewhere.table("plain");
  const std::string too_long(kMaxKeyBytes + 1, 'k'), too_large(101, 'v');
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kMany; ++i) keys.push_back(key_of(i));
  const auto put_all = [&](const MultiPut& bad, Outcome refusal) {
    const std::string value = std::string("beside ").append(name(refusal));
    std::vector<MultiPut> puts;
    for (std::size_t i = 0; i < kMany; ++i) puts.push_back({stage_.tables[i / 2 % kTables], keys[i], value});
    const std::array<std::size_t, 5> refused{0, 70, 71, 72, kMany - 1};
    for (const std::size_t i : refused) puts[i] = bad;
    db_.commit([&](Transaction& t) {
      EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
      EXPECT_EQ(t.doom(), AbortReason::kNone);
    });
    for (std::size_t i = 0; i < kMany; ++i) {
      const bool bad_one = std::find(refused.begin(), refused.end(), i) != refused.end();
      EXPECT_EQ(puts[i].outcome, bad_one ? refusal : Outcome::kOk) << i;
      EXPECT_EQ(db_.value(stage_.tables[i / 2 % kTables], keys[i]), bad_one ? "(none)" : value) << i;
    }
  };
  put_all({Table(), "k", "v"}, Outcome::kUnknownTable);
  put_all({foreign, "k", "v"}, Outcome::kUnknownTable);
  put_all({plain_, too_long, "v"}, Outcome::kKeyTooLong);
  put_all({plain_, "k", too_large}, Outcome::kValueTooLarge);
  EXPECT_EQ(db_.value(plain_, "k"), "(none)");
}

TEST_P(MultiPuts, OfATransactionThatHasEndedAreAllRefused) {
  std::array<MultiPut, 2> puts{{{plain_, "x", "1"}, {stage_.tables[1], "y", "2"}}};
  Transaction ended = db_.begin();
  ended.abort();
  EXPECT_EQ(ended.multi_put(puts), Outcome::kFinished);
  for (const MultiPut& put : puts) EXPECT_EQ(put.outcome, Outcome::kFinished);
  EXPECT_EQ(Transaction().multi_put(puts), Outcome::kFinished);
  EXPECT_EQ(db_.value(plain_, "x"), "(none)");
}

TEST_P(MultiPuts, IntoAnImmutableTableAreRefusedOnceItIsSealed) {
  const Table table =
      db_.table("sealed", {.max_value_bytes = 8, .index = GetParam(), .expected_keys = 16, .immutable = true});
  std::array<MultiPut, 3> puts{{{table, "x", "1"}, {plain_, "x", "2"}, {table, "y", "3"}}};
  db_.commit([&](Transaction& t) { EXPECT_EQ(t.multi_put(puts), Outcome::kOk); });
  ASSERT_TRUE(db_->seal(table).ok());
  puts[0].value = puts[1].value = "new";
  db_.commit([&](Transaction& t) { EXPECT_EQ(t.multi_put(puts), Outcome::kOk); });
  EXPECT_EQ(puts[0].outcome, Outcome::kImmutable);
  EXPECT_EQ(puts[1].outcome, Outcome::kOk);
  EXPECT_EQ(puts[2].outcome, Outcome::kImmutable);
  EXPECT_EQ(db_.value(table, "x"), "1");
  EXPECT_EQ(db_.value(plain_, "x"), "new");
}

TEST_P(MultiPuts, ThatBreakAUniqueIndexDoomTheTransaction) {
  const Table table = db_.table("unique", {.max_value_bytes = 8, .index = GetParam(), .expected_keys = 16});
  ASSERT_TRUE(
      db_->create_index(table, "one",
                        {.parts = {{.offset = 0, .length = 1, .encoding = IndexEncoding::kText}}, .unique = true})
          .ok());
  std::array<MultiPut, 4> puts{{{table, "x", "1"}, {plain_, "x", "2"}, {table, "z", "1"}, {plain_, "y", "2"}}};
  Transaction t = db_.begin();
  EXPECT_EQ(t.multi_put(puts), Outcome::kAborted);
  for (const MultiPut& put : puts) EXPECT_EQ(put.outcome, Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kUniqueViolation);
  EXPECT_EQ(db_.value(table, "x"), "(none)");
  EXPECT_EQ(db_.value(plain_, "x"), "(none)");
}

/// A put reads nothing, so what others have committed meanwhile is no conflict, whether or not the key was there.
TEST_P(MultiPuts, RelyOnNothing) {
  db_.put(plain_, "x", "old");
  std::array<MultiPut, 2> puts{{{plain_, "x", "mine"}, {plain_, "new", "mine"}}};
  Transaction t = db_.begin();
  EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
  db_.put(plain_, "x", "theirs");
  db_.put(plain_, "new", "theirs");
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(db_.value(plain_, "x"), "mine");
  EXPECT_EQ(db_.value(plain_, "new"), "mine");
}

}  // namespace
}  // namespace granary::tests
