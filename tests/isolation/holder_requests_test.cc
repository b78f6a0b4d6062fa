// What the owner does for another node that writes its records back (src/cc/garbage.h): what it deleted is
// collected. Not covered: the messages.

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/cc/garbage.h"
#include "src/txn/worker_core.h"
#include "tests/isolation/isolation_test.h"
#include "tests/support/at_sync_point.h"
#include "tests/isolation/remote_holder.h"

namespace granary::tests {
namespace {

constexpr std::uint32_t kMaxValue = 200;

class HolderRequests : WithSharedTables, public testing::Test {
 protected:
  HolderRequests() {
    db_.put(table_, "x", "10");
    db_.put(table_, "y", "20");
    db_.pass_snapshot_period();
  }

  record::SharedRecord& record(std::string_view key = "x") { return shared_record(table_, key); }
  epoch::Epoch epoch() { return db_->current_epoch(); }
  cc::WorkerState& owner() { return db_.worker().core()->state(); }
  cc::Index& index() { return table_.core()->index(); }
  record::TidWord write_back(RemoteHolder& holder, std::optional<std::string_view> value) {
    WriteBack back(record(), "x", value, holder.next_tid(epoch()));
    back.rest();
    holder.release();
    return back.tid();
  }

  static Options small_options() {
    Options options = manual_options();
    options.memory_limit_bytes = std::uint64_t{16} << 20;
    return options;
  }

  ManualDatabase db_{1, small_options()};
  Table table_ = db_.table("shared", {.max_value_bytes = kMaxValue, .shared = true});
};

TEST_F(HolderRequests, WhatAHolderHasDeletedIsCollected) {
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  const record::TidWord tid = write_back(holder, std::nullopt);
  db_.collect_everything();
  ASSERT_TRUE(in_index(table_, "x")) << "nobody has said so yet";
  cc::register_removed_by_holder(owner(), index(), "x", tid);
  db_.collect_everything();
  EXPECT_FALSE(in_index(table_, "x"));
  cc::register_removed_by_holder(owner(), index(), "x", tid);  // too late: no such key
}

TEST_F(HolderRequests, WhatHasChangedSinceItsDeletionIsNotCollected) {
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  const record::TidWord tid = write_back(holder, std::nullopt);
  db_.put(table_, "x", "again");
  cc::register_removed_by_holder(owner(), index(), "x", tid);
  db_.collect_everything();
  EXPECT_EQ(db_.value(table_, "x"), "again");
}

}  // namespace
}  // namespace granary::tests
