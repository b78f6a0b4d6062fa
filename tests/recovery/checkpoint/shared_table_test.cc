// Covers checkpoints of shared tables: whole records come back, a record that another node holds is never left out. How
// such records are read beside a holder: tests/isolation/shared_read_test.cc.

#include <gtest/gtest.h>

#include "tests/isolation/remote_holder.h"
#include "tests/recovery/checkpoint/checkpoint_fixture.h"

namespace granary::tests {
namespace {

class SharedCheckpoint : public testing::TestWithParam<IndexKind> {
 protected:
  SharedCheckpoint() {
    for (int i = 0; i < kKeys; ++i) database_.put(table_, key(i), std::string(static_cast<std::size_t>(i), 'v'));
    database_.pass_snapshot_period();
  }
  static constexpr int kKeys = 100;
  static std::string key(int number) { return "key " + std::to_string(number); }
  Result<checkpoint::Contents> take() {
    return take_checkpoint(*database_, write_options(directory_ / "c"), {table_.core()});
  }

  TemporaryDirectory directory_;
  const TableOptions options_{.max_value_bytes = kKeys, .index = GetParam(), .expected_keys = 10, .shared = true};
  ManualDatabase database_{1};
  Table table_ = database_.table("t", options_);
};
INSTANTIATE_TEST_SUITE_P(Kinds, SharedCheckpoint, testing::Values(IndexKind::kOrdered, IndexKind::kHash));

TEST_P(SharedCheckpoint, ItsRecordsComeBackWhole) {
  ASSERT_TRUE(take().ok());
  ManualDatabase other(1);
  const Table table = other.table("t", options_);
  ASSERT_TRUE(load(*other, read_options(directory_ / "c"), {table.core()}).ok());
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_EQ(other.value(table, key(i)), std::string(static_cast<std::size_t>(i), 'v'));
    EXPECT_TRUE(is_whole(shared_record(table, key(i)), key(i)));
  }
}

TEST_P(SharedCheckpoint, FailsIfARecordIsHeldAndIsWholeTheNextTime) {
  RemoteHolder holder(shared_record(table_, key(50)));
  ASSERT_TRUE(holder.lock());
  const Status failed = take().status();
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable);
  EXPECT_NE(failed.message().find("table 't'"), std::string::npos) << failed.message();
  holder.release();
  const auto written = take();
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->records, static_cast<std::uint64_t>(kKeys));
}

}  // namespace
}  // namespace granary::tests
