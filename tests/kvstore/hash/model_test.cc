// Random operations against std::map: keys of 8 bytes, keys of every other length, few and many buckets, memory that
// runs out, rebuilding. Not covered: other threads (concurrency_test).

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tests/kvstore/hash/table_fixture.h"
#include "tests/support/scale.h"

namespace granary::kvstore::hash::test {
namespace {

class ModelTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  ModelTest() : one_(GetParam()) {}

  /// Of 0 to 40 bytes, often 8, in a small space so that they come again.
  std::string random_key() {
    const std::uint64_t number = random_() % 300;
    if (number % 2 == 0) return number_key(number);
    return std::string(number % 41, static_cast<char>('a' + number % 7)) + std::string(number % 3, '\0');
  }

  void step(std::uint64_t turn) {
    const std::string key = random_key();
    const auto known = model_.find(key);
    const Value present = known == model_.end() ? 0 : known->second;
    switch (random_() % 4) {
      case 0: {
        const auto result = one_.table.insert_if_absent(key, one_.value(turn), one_.worker.memory);
        EXPECT_EQ(result.what, present == 0 ? InsertResult::What::kInserted : InsertResult::What::kPresent);
        EXPECT_EQ(result.present, present);
        model_.emplace(key, one_.value(turn));
        break;
      }
      case 1:
        EXPECT_EQ(one_.table.replace(key, present == 0 ? 64 : present, one_.value(turn)), present != 0);
        if (present != 0) known->second = one_.value(turn);
        break;
      case 2:
        EXPECT_EQ(one_.table.remove(key, present == 0 ? 64 : present, one_.worker.memory), present != 0);
        if (present != 0) model_.erase(known);
        break;
      default:
        EXPECT_EQ(one_.table.find(key).value, present);
        EXPECT_FALSE(one_.table.replace(key, one_.value(1 << 18), 64)) << "holds another value";
        EXPECT_FALSE(one_.table.remove(key, one_.value(1 << 18), one_.worker.memory)) << "holds another value";
    }
  }

  void expect_equal() {
    EXPECT_EQ(one_.table.check(), "");
    std::map<std::string, Value> seen;
    one_.table.visit(0, one_.table.buckets(),
                     [&](std::string_view key, Value value) { EXPECT_TRUE(seen.emplace(key, value).second); });
    EXPECT_EQ(seen, model_);
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : model_) keys.push_back(key);
    std::vector<Lookup> found(keys.size());
    one_.table.find_many(keys, found);
    for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(found[i].value, model_[std::string(keys[i])]);
  }

  Fixture one_;
  std::map<std::string, Value> model_;
  std::mt19937_64 random_{GetParam()};
};

TEST_P(ModelTest, AgreesWithAMap) {
  for (std::uint64_t turn = 0; turn < tests::scaled(30000); ++turn) {
    step(turn % 100000);
    if (turn % 16 == 0) one_.worker.rest();
    if (turn % 64 == 0) one_.pool.epochs.tick();
  }
  expect_equal();
}

TEST_P(ModelTest, AgreesAfterRebuilds) {
  for (const std::uint64_t buckets : {3u, 100u, 1u, 17u}) {
    for (std::uint64_t turn = 0; turn < 2000; ++turn) step(turn);
    ASSERT_TRUE(one_.table.rebuild(one_.pool.main_header(buckets), one_.worker.memory));
    EXPECT_EQ(one_.table.buckets(), buckets);
    expect_equal();
  }
}

INSTANTIATE_TEST_SUITE_P(Buckets, ModelTest, ::testing::Values(1, 2, 13, 256));

TEST(HashTable, ChangesNothingWhenMemoryRunsOut) {
  // Room for one extent of headers; each chain of a bucket takes more and more of it.
  Fixture one(1, memory::SlabPool::kExtentBytes);
  std::uint64_t inserted = 0;
  for (InsertResult::What what = InsertResult::What::kInserted; what == InsertResult::What::kInserted;) {
    what = one.table.insert_if_absent(number_key(inserted), one.value(inserted), one.worker.memory).what;
    if (what == InsertResult::What::kInserted) ++inserted;
    ASSERT_NE(what, InsertResult::What::kPresent);
  }
  EXPECT_GT(inserted, 2000u);
  EXPECT_EQ(one.table.check(), "");
  EXPECT_EQ(one.table.statistics().keys, inserted);
  EXPECT_EQ(one.table.find(number_key(inserted)).value, 0u);
  EXPECT_FALSE(one.table.rebuild(one.pool.main_header(1), one.worker.memory)) << "no memory for its headers";
  EXPECT_EQ(one.table.statistics().keys, inserted);
  EXPECT_TRUE(one.table.rebuild(one.pool.main_header(inserted), one.worker.memory)) << "needs no headers";
  EXPECT_EQ(one.table.statistics().keys, inserted);
}

}  // namespace
}  // namespace granary::kvstore::hash::test
