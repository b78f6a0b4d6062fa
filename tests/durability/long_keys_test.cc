// The longest keys, in an index too, whose entries are longer: everything that committed is there after each way of
// opening. Not shared tables, whose keys are short.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/txn/index_key.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

class LongKeys : public testing::TestWithParam<bool> {
 protected:
  LongKeys() {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
  }

  /// Opens the database and expects the record there, by its key and by the index.
  void expect_all_of_it() {
    ManualDatabase again(1, options_);
    EXPECT_TRUE(again.value(again->table("t").value(), key_) == value_);
    const Index index = again->index("by value").value();
    again.commit([&](Transaction& t) {
      std::string buffer(value_.size(), ' '), primary_key;
      EXPECT_EQ(t.get(index, value_ + std::string(2, '\0'), buffer, &primary_key).outcome, Outcome::kOk);
      EXPECT_TRUE(buffer == value_);
      EXPECT_TRUE(primary_key == key_);
    });
  }

  static constexpr std::uint32_t kTextBytes = txn::kMaxSecondaryKeyBytes - 2;
  const std::string key_ = std::string(kMaxKeyBytes, 'k'), value_ = std::string(kTextBytes, 'v');
  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_ = manual_options();
};

TEST_P(LongKeys, OfAnIndexAreThereAgain) {
  {
    ManualDatabase database(1, options_);
    const Table table = database.table("t");
    const IndexOptions by_value = {.parts = {{.length = kTextBytes, .encoding = IndexEncoding::kText}}};
    ASSERT_TRUE(database->create_index(table, "by value", by_value).ok());
    database.put(table, key_, value_);
    database.pass_snapshot_period();
    if (GetParam()) {
      ASSERT_TRUE(database->checkpoint().ok());
    }
  }
  expect_all_of_it();
  expect_all_of_it();
}

INSTANTIATE_TEST_SUITE_P(From, LongKeys, testing::Bool(),
                         [](const auto& of) { return of.param ? "Checkpoint" : "Log"; });

}  // namespace
}  // namespace granary::tests
