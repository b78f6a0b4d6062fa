// Covers two loaders that meet at one key, at the worst moment: one has seen what is there and is about to replace it.

#include "recovery/checkpoint/load_record.h"

#include <gtest/gtest.h>

#include "tests/recovery/checkpoint/checkpoint_fixture.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

using checkpoint::Loaded;
using record::make_tid;

/// Into a local table or a shared one, whose records stay where they are.
class LoadRecord : public testing::TestWithParam<bool> {
 protected:
  /// As one of two loaders, with its own memory and epoch slot, would.
  Loaded load(std::size_t loader, record::TidWord tid, std::string_view key, std::string_view value) {
    epochs_.enter(*slots_[loader]);
    const Loaded loaded =
        checkpoint::load_record(*table_.core(), tid, key, value, *workers_.states()[loader], &hints_[loader]);
    epochs_.leave(*slots_[loader]);
    hints_[loader] = {};
    return loaded;
  }

  ManualDatabase database_{1};
  Table table_ =
      database_.table("t", GetParam() ? TableOptions{.max_value_bytes = 100, .shared = true} : TableOptions{});
  EngineWorkers workers_{*database_, 2};
  epoch::EpochManager& epochs_ = workers_.shared().epochs;
  epoch::Slot* slots_[2] = {epochs_.acquire_slot(), epochs_.acquire_slot()};
  kvstore::ordered::LeafHint hints_[2];
};

INSTANTIATE_TEST_SUITE_P(Tables, LoadRecord, testing::Bool(),
                         [](const auto& made) { return made.param ? "Shared" : "Local"; });

TEST_P(LoadRecord, TheGreaterTidStays) {
  EXPECT_EQ(load(0, make_tid(2, 1), "k", "two"), Loaded::kLoaded);
  EXPECT_EQ(load(1, make_tid(1, 9), "k", "one"), Loaded::kOlder);
  EXPECT_EQ(load(1, make_tid(2, 1), "k", "the same"), Loaded::kOlder);
  EXPECT_EQ(database_.value(table_, "k"), "two");
  EXPECT_EQ(load(0, make_tid(2, 2), "k", "three"), Loaded::kLoaded);
  EXPECT_EQ(database_.value(table_, "k"), "three");
}

TEST_P(LoadRecord, ASharedRecordKeepsItsPlace) {  // I3
  load(0, make_tid(1, 1), "k", "first");
  const auto first = table_.core()->index().find("k").value;
  load(0, make_tid(2, 1), "k", "the second");
  EXPECT_EQ(table_.core()->index().find("k").value == first, GetParam()) << "a local one may move, and does here";
  EXPECT_EQ(database_.value(table_, "k"), "the second");
}

TEST_P(LoadRecord, AnOlderOneThatCameBetweenIsReplaced) {
  load(0, make_tid(1, 1), "k", "first");
  const AtSyncPoint other("load_record.present",
                          [&] { EXPECT_EQ(load(1, make_tid(2, 1), "k", "2"), Loaded::kLoaded); });
  EXPECT_EQ(load(0, make_tid(3, 1), "k", "newest"), Loaded::kLoaded);
  EXPECT_EQ(database_.value(table_, "k"), "newest");
}

TEST_P(LoadRecord, ANewerOneThatCameBetweenStays) {
  load(0, make_tid(1, 1), "k", "first");
  const AtSyncPoint other("load_record.present",
                          [&] { EXPECT_EQ(load(1, make_tid(3, 1), "k", "3"), Loaded::kLoaded); });
  EXPECT_EQ(load(0, make_tid(2, 1), "k", "second"), Loaded::kOlder);
  EXPECT_EQ(database_.value(table_, "k"), "3");
}

TEST_P(LoadRecord, WhatWasReplacedIsNotUsedAgainWhileALoaderMayHoldIt) {
  load(0, make_tid(1, 1), "k", "first");
  const AtSyncPoint other("load_record.present", [&] {
    EXPECT_EQ(load(1, make_tid(3, 1), "k", "third"), Loaded::kLoaded);
    // Of the same transaction and size as what "k" had: in its memory it would pass for it.
    EXPECT_EQ(load(1, make_tid(1, 1), "other", "value"), Loaded::kLoaded);
  });
  EXPECT_EQ(load(0, make_tid(2, 1), "k", "second"), Loaded::kOlder);
  EXPECT_EQ(database_.value(table_, "k"), "third");
  EXPECT_EQ(database_.value(table_, "other"), "value");
}

}  // namespace
}  // namespace granary::tests
