// Tables with a hash index: the anomalies that point operations can show, keys that are missing above all; random work
// against a map; scans are refused. Not covered: threads (tests/stress/hash_table_test.cc), directories, which refuse
// hash tables.

#include <map>
#include <random>

#include "tests/isolation/isolation_test.h"
#include "tests/support/scale.h"

namespace granary::tests {
namespace {

/// One bucket: every key is in the same chain, so that chains grow and versions are shared.
class HashTables : public Isolation {
 protected:
  HashTables() {
    table_ = db_.table("hashed", {.index = IndexKind::kHash, .expected_keys = 1});
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      write(t, "y", 20);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, HashTables, testing::Values(1, 4), workers_name);

TEST_P(HashTables, LostUpdate) {
  Transaction t1 = begin(), t2 = begin();
  write(t1, "x", *read(t1, "x") + 1);
  write(t2, "x", *read(t2, "x") + 1);
  expect_commit(t1);
  expect_conflict(t2);
}

TEST_P(HashTables, WriteSkew) {
  Transaction t1 = begin(), t2 = begin();
  for (Transaction* t : {&t1, &t2}) EXPECT_EQ(*read(*t, "x") + *read(*t, "y"), 30);
  write(t1, "x", 11);
  write(t2, "y", 21);
  expect_commit(t1);
  expect_conflict(t2);
}

TEST_P(HashTables, AMissedKeyThatAppearsIsAConflict) {
  Transaction t1 = begin();
  EXPECT_EQ(read(t1, "k"), std::nullopt);
  db_.put(table_, "k", "1");
  expect_conflict(t1);
}

TEST_P(HashTables, AMissedKeyThatStaysAwayIsNone) {
  Transaction t1 = begin();
  EXPECT_EQ(read(t1, "k"), std::nullopt);
  db_.put(table_, "x", "11");
  write(t1, "y", 21);
  expect_commit(t1);
}

TEST_P(HashTables, BothInsertWhatTheOtherMissed) {
  Transaction t1 = begin(), t2 = begin();
  EXPECT_EQ(read(t1, "a"), std::nullopt);
  EXPECT_EQ(read(t2, "b"), std::nullopt);
  const bool first_inserted = t1.insert(table_, "b", "1") == Outcome::kOk;
  const bool second_inserted = t2.insert(table_, "a", "1") == Outcome::kOk;
  const bool first = commits(t1) && first_inserted, second = commits(t2) && second_inserted;
  EXPECT_FALSE(first && second);
}

TEST_P(HashTables, BothInsertTheSameKey) {
  Transaction t1 = begin(), t2 = begin();
  insert(t1, "k", 1);
  const Outcome second = t2.insert(table_, "k", "2");
  EXPECT_EQ(second, Outcome::kOk) << "nobody has committed it";
  expect_commit(t1);
  expect_conflict(t2);
}

TEST_P(HashTables, OwnInsertsDoNotSpoilOwnMisses) {
  Transaction t1 = begin();
  for (int i = 0; i < 30; ++i) {
    const std::string key = "key " + std::to_string(i);
    EXPECT_EQ(read(t1, key), std::nullopt);
    insert(t1, key, i);
    EXPECT_EQ(read(t1, key), i);
  }
  EXPECT_EQ(read(t1, "missing"), std::nullopt);
  expect_commit(t1);
}

TEST_P(HashTables, AValueMayOutgrowItsRecord) {
  const std::string large(5000, 'v');
  db_.put(table_, "x", large);
  Transaction t1 = begin();
  std::string value;
  EXPECT_EQ(t1.get(table_, "x", value), Outcome::kOk);
  EXPECT_EQ(value, large);
  expect_commit(t1);
}

TEST_P(HashTables, ScansAreRefused) {
  Transaction t1 = begin();
  const auto visit = [](std::string_view, std::string_view) { return true; };
  EXPECT_EQ(t1.scan(table_, {}, visit).outcome, Outcome::kUnordered);
  expect_commit(t1);
}

/// Removed keys come back and are removed again, while epochs pass and absent records are unhooked.
TEST_P(HashTables, AgreeWithAMap) {
  std::map<std::string, std::string> model;
  std::mt19937 random(1);
  for (std::uint64_t turn = 0; turn < scaled(3000); ++turn) {
    auto changed = model;
    Transaction t = begin();
    for (unsigned i = random() % 4; i < 4; ++i) {
      const std::string key(1 + random() % 12, static_cast<char>('a' + random() % 8));
      const std::string value(random() % 300, 'v');
      const bool there = changed.contains(key);
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(t.put(table_, key, value), Outcome::kOk);
          changed[key] = value;
          break;
        case 1:
          ASSERT_EQ(t.insert(table_, key, value), there ? Outcome::kAlreadyExists : Outcome::kOk);
          changed.emplace(key, value);
          break;
        case 2:
          ASSERT_EQ(t.remove(table_, key), there ? Outcome::kOk : Outcome::kNotFound);
          changed.erase(key);
          break;
        default: {
          std::string got;
          ASSERT_EQ(t.get(table_, key, got), there ? Outcome::kOk : Outcome::kNotFound);
          if (there) {
            ASSERT_EQ(got, changed[key]);
          }
        }
      }
    }
    if (random() % 4 == 0) {
      t.abort();
    } else {
      expect_commit(t);
      model = std::move(changed);
    }
    if (turn % 64 == 0) db_.collect_everything();
  }
}

}  // namespace
}  // namespace granary::tests
