// The Store back-ends give the same answers to the same operations, one transaction after the other; and the
// Partitioned-Store takes back what was rolled back. Concurrency is tested by tpcc_run_test.

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "bench/hekaton/store.h"
#include "bench/store/granary_store.h"
#include "bench/store/partitioned_store.h"
#include "src/base/random.h"

namespace granary::bench::store {
namespace {

struct Row {
  std::uint64_t a, b;
};
using Model = std::map<std::uint64_t, std::uint64_t>;

Options options() {
  Options options;
  options.memory_limit_bytes = std::uint64_t{1} << 28;
  options.huge_pages = HugePages::kOff;
  return options;
}

template <typename S>
std::unique_ptr<S> open();
template <>
std::unique_ptr<GranaryStore> open() {
  return std::move(*GranaryStore::open(options(), true));
}
template <>
std::unique_ptr<PartitionedStore> open() {
  return std::move(*PartitionedStore::open(options(), 2));
}
template <>
std::unique_ptr<hekaton::HekatonStore> open() {
  return std::move(*hekaton::HekatonStore::open(options()));
}

/// One random operation on store and model; both must say the same.
template <typename T, typename Table>
void one_operation(T& t, const Table& table, Model& model, base::Random& random) {
  const std::uint64_t key = random.below(200), value = random.next();
  const bool there = model.contains(key);
  Row row{};
  switch (random.below(6)) {
    case 0: {
      EXPECT_EQ(t.insert(table, key, Row{value, ~value}), there ? Outcome::kAlreadyExists : Outcome::kOk);
      model.try_emplace(key, value);
      break;
    }
    case 1: {
      EXPECT_EQ(t.remove(table, key), there ? Outcome::kOk : Outcome::kNotFound);
      model.erase(key);
      break;
    }
    case 2: {
      ASSERT_EQ(t.get(table, key, row), there ? Outcome::kOk : Outcome::kNotFound);
      if (!there) break;
      EXPECT_EQ(row.a, model[key]);
      EXPECT_EQ(row.b, ~row.a);
      EXPECT_EQ(t.overwrite(table, key, Row{value, ~value}), Outcome::kOk);
      model[key] = value;
      break;
    }
    case 3: {
      std::vector<std::uint64_t> keys;
      const auto visit = [&](std::uint64_t found, const Row&) {
        keys.push_back(found);
        return true;
      };
      EXPECT_EQ(t.scan(table, key, key + 30, visit), Outcome::kOk);
      std::vector<std::uint64_t> expected;
      for (auto at = model.lower_bound(key); at != model.end() && at->first < key + 30; ++at)
        expected.push_back(at->first);
      EXPECT_EQ(keys, expected);
      break;
    }
    case 4: {
      std::uint64_t first = 0, last = 0;
      const auto from = model.lower_bound(key), to = model.lower_bound(key + 30);
      EXPECT_EQ(t.first(table, key, key + 30, first, row), from == to ? Outcome::kNotFound : Outcome::kOk);
      EXPECT_EQ(t.last(table, key, key + 30, last, row), from == to ? Outcome::kNotFound : Outcome::kOk);
      if (from == to) break;
      EXPECT_EQ(first, from->first);
      EXPECT_EQ(last, std::prev(to)->first);
      break;
    }
    default: {
      std::array<Row, 40> rows;
      std::array<Lookup<Table, std::uint64_t, Row>, 40> lookups;
      for (std::size_t i = 0; i < lookups.size(); ++i) lookups[i] = {table, key + i, &rows[i], false};
      EXPECT_EQ(t.multi_get(std::span(lookups.data(), lookups.size())), Outcome::kOk);
      for (std::size_t i = 0; i < lookups.size(); ++i) {
        ASSERT_EQ(lookups[i].found, model.contains(key + i));
        EXPECT_TRUE(!lookups[i].found || rows[i].a == model[key + i]);
      }
    }
  }
}

template <typename S>
class StoreTest : public testing::Test {};
using Stores = testing::Types<GranaryStore, PartitionedStore, hekaton::HekatonStore>;
TYPED_TEST_SUITE(StoreTest, Stores);

TYPED_TEST(StoreTest, BehavesLikeAMap) {
  auto store = open<TypeParam>();
  std::array<std::optional<typename TypeParam::template Table<std::uint64_t, Row>>, 2> tables;
  for (std::uint32_t part = 0; part < 2; ++part)
    tables[part] = *store->template create_table<std::uint64_t, Row>("rows", part);
  auto session = store->session(1);
  ASSERT_TRUE(session.ok());
  std::array<Model, 2> models;
  base::Random random(7);
  AbortCounts aborts{};
  for (int turn = 0; turn < 3000; ++turn) {
    const bool keep = random.below(4) != 0;
    std::array<Model, 2> changed = models;
    const Ending ending = (*session)->run({1, 0}, aborts, [&](auto& t) {
      for (std::uint64_t i = random.below(20); i-- != 0;) {
        const std::size_t part = random.below(2);
        one_operation(t, *tables[part], changed[part], random);
      }
      return keep ? Verdict::kCommit : Verdict::kRollBack;
    });
    ASSERT_EQ(ending, keep ? Ending::kCommitted : Ending::kRolledBack);
    if (keep) models = changed;
  }
}

TEST(Footprint, IsAnAscendingSet) {
  Footprint footprint{5, 1, 5, 3};
  footprint.add(1);
  footprint.add(0);
  EXPECT_EQ(std::vector<std::uint32_t>(footprint.begin(), footprint.end()), (std::vector<std::uint32_t>{0, 1, 3, 5}));
}

}  // namespace
}  // namespace granary::bench::store
