// What the owner answers about its data, together with the one-sided operations that go on from there. Two simulated
// nodes with real engines: node 0 asks, node 1 owns. Not covered: the commit that uses all this.

#include <algorithm>
#include <set>

#include "kvstore/remote/lookup.h"
#include "kvstore/remote/version_check.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/key_read.h"
#include "src/cluster/record_access/release.h"
#include "src/cluster/record_access/x_lock.h"
#include "tests/cluster/messages/sim_nodes.h"
#include "tests/support/at_sync_point.h"

namespace granary::cluster::messages {
namespace {

using kvstore::remote::RemoteTable;
using kvstore::remote::VersionCheck;

class Data : public testing::Test {
 protected:
  static constexpr rdma::NodeId kOwner = 1;

  TestNode& asking() { return nodes_.node(0); }
  TestNode& owner() { return nodes_.node(kOwner); }
  tests::ManualDatabase& db() { return owner().db(); }
  const Schema& schema() { return owner().schema(); }
  template <typename Request>
  typename Request::Answer ask(const Request& request) {
    return asking().answer(kOwner, request);
  }
  template <typename Request>
  ReplyStatus refused(const Request& request) {
    const QuestionOf<Request> question = asking().ask(kOwner, request);
    EXPECT_EQ(question.outcome(), AskOutcome::kRefused) << name(question.outcome());
    return question.status();
  }

  VersionCheck::Outcome check(const SeenNode& node) {
    VersionCheck check(node.kind, asking().at(kOwner, node.offset), node.version,
                       reinterpret_cast<std::uint64_t*>(asking().buffer()));
    asking().run(check);
    return check.outcome();
  }
  RemoteTable hashed() {
    const DescribeAnswer all = ask(Describe{});
    const TableDescription& about = all.tables.at(0);
    return {.main = asking().at(kOwner, about.main_offset),
            .buckets = about.buckets,
            .owner_base = all.region_base,
            .max_value_bytes = about.max_value_bytes};
  }
  RemoteRecord record(const SeenRecord& seen, std::string_view key, std::uint32_t max_value_bytes) {
    RemoteRecord record =
        RemoteRecord::at_entry(asking().at(kOwner, seen.offset), key, seen.incarnation, max_value_bytes);
    record.incarnation_mask = record::kIncarnationMax;
    return record;
  }
  /// As a coordinator would; no value: deletes. Returns the TID word.
  record::TidWord write(const SeenRecord& seen, std::string_view key, std::uint32_t max_value_bytes,
                        std::optional<std::string_view> value) {
    const LeaseExpired no_lease;
    XLock lock(record(seen, key, max_value_bytes), words_.next(), asking().buffer(), no_lease);
    asking().run(lock);
    EXPECT_EQ(lock.outcome(), cluster::AccessOutcome::kDone) << name(lock.outcome());
    const record::TidWord tid = record::make_tid(db()->current_epoch(), 1000 + ++sequence_) | record::kLatest |
                                (value ? record::TidWord{0} : record::kAbsent);
    Release release(record(seen, key, max_value_bytes), lock.mine(), lock.replaced(), asking().buffer() + 4096);
    release.set_version(tid, lock.incarnation(), value.value_or(std::string_view()));
    asking().run(release);
    EXPECT_EQ(release.outcome(), cluster::AccessOutcome::kDone);
    return tid;
  }

  SimNodes nodes_;
  HolderWords words_{0, 1, 0};
  std::uint64_t sequence_ = 0;
};

TEST_F(Data, DescriptionsAreOfSharedTablesAndTheSameEverywhere) {
  const DescribeAnswer all = ask(Describe{});
  ASSERT_EQ(all.tables.size(), 4u) << "the local one is nobody else's business";
  EXPECT_EQ(all.tables[0].name, "hashed");
  EXPECT_EQ(all.tables[0].kind, TableKind::kHash);
  EXPECT_EQ(all.tables[1].kind, TableKind::kOrdered);
  EXPECT_EQ(all.tables[2].kind, TableKind::kSecondaryIndex);
  EXPECT_EQ(all.tables[2].base, all.tables[1].id);
  const DescribeAnswer other = owner().answer(0, Describe{});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(other.tables[i].fingerprint, all.tables[i].fingerprint);
  EXPECT_NE(all.tables[0].fingerprint, all.tables[1].fingerprint);
}

TEST_F(Data, WhatIsInsertedByMessageIsFoundOneSided) {
  const TableId table = schema().hashed.id();
  for (const std::string key : {"8 bytes!", "a longer name"}) {
    const FindRecordAnswer missed = ask(FindRecord{.table = table, .key = key});
    EXPECT_EQ(missed.record.offset, 0u);
    EXPECT_EQ(check(missed.missed), VersionCheck::Outcome::kUnchanged);
    const FindRecordAnswer made = ask(FindRecord{.table = table, .key = key, .make = true});
    ASSERT_TRUE(made.made);
    EXPECT_TRUE(record::is_absent(made.record.tid));
    ASSERT_EQ(made.changes.size(), 1u);
    EXPECT_EQ(made.changes[0].before, missed.missed.version) << "the coordinator's own node set can follow";
    EXPECT_EQ(check(missed.missed), VersionCheck::Outcome::kChanged);
    EXPECT_EQ(check({made.changes[0].kind, made.changes[0].offset, made.changes[0].after}),
              VersionCheck::Outcome::kUnchanged);
    EXPECT_FALSE(ask(FindRecord{.table = table, .key = key, .make = true}).made) << "it is there already";

    write(made.record, key, 100, "value of " + key);
    EXPECT_EQ(db().value(schema().hashed, key), "value of " + key);
    kvstore::remote::LocationCacheCounters counters;
    const RemoteTable remote = hashed();
    KeyRead read(remote, key, asking().buffer(), nullptr, counters);
    asking().run(read);
    ASSERT_EQ(read.outcome(), cluster::AccessOutcome::kDone) << name(read.outcome());
    EXPECT_EQ(read.read()->value(), "value of " + key);
    const FindRecordAnswer got = ask(FindRecord{.table = table, .key = key, .with_value = true});
    EXPECT_EQ(got.record.value, "value of " + key);
    EXPECT_EQ(got.record.tid, read.read()->tid());
    EXPECT_EQ(got.record.incarnation, read.read()->incarnation());
  }
}

TEST_F(Data, APlaceholderThatNobodyWritesGoesAway) {
  const FindRecordAnswer made = ask(FindRecord{.table = schema().ordered.id(), .key = "k", .make = true});
  nodes_.pass(1'000);
  db().pass_snapshot_period();
  nodes_.pass(1'000);  // the service works: its worker frees
  db().pass_snapshot_period();
  nodes_.pass(1'000);
  EXPECT_EQ(schema().ordered.core()->index().find("k").value, 0u);
  const LeaseExpired no_lease;
  XLock late(record(made.record, "k", 20000), words_.next(), asking().buffer(), no_lease);
  asking().run(late);
  EXPECT_EQ(late.outcome(), cluster::AccessOutcome::kMoved);
}

TEST_F(Data, AnOrderedTableTellsTheLeavesThatAnInsertChanges) {
  const TableId table = schema().ordered.id();
  for (int i = 0; i < 15; ++i) db().put(schema().ordered, "k" + std::to_string(10 + i), "v");
  const FindRecordAnswer missed = ask(FindRecord{.table = table, .key = "k115"});
  ASSERT_EQ(missed.missed.kind, NodeKind::kLeaf);
  EXPECT_EQ(check(missed.missed), VersionCheck::Outcome::kUnchanged);
  const FindRecordAnswer made = ask(FindRecord{.table = table, .key = "k115", .make = true});
  ASSERT_EQ(made.changes.size(), 2u) << "the leaf was full";
  EXPECT_EQ(made.changes[0].offset, missed.missed.offset);
  EXPECT_EQ(made.changes[0].before, missed.missed.version);
  EXPECT_EQ(made.changes[1].before, 0u);
  EXPECT_EQ(made.changes[1].split_from, missed.missed.offset);
  EXPECT_EQ(check(missed.missed), VersionCheck::Outcome::kChanged);
  for (const ChangedNode& change : made.changes) {
    EXPECT_EQ(check({change.kind, change.offset, change.after}), VersionCheck::Outcome::kUnchanged);
  }
}

TEST_F(Data, AScanSeesWhatALocalOneSeesAndASplitBehindItShows) {
  for (int i = 10; i < 60; ++i) db().put(schema().ordered, "k" + std::to_string(i), std::to_string(i));
  db().remove(schema().ordered, "k20");
  const Scan range{.table = schema().ordered.id(), .range = {.from = "k15", .to = "k50"}};
  const ScanAnswer all = ask(range);
  EXPECT_FALSE(all.more);
  ASSERT_EQ(all.entries.size(), 35u) << "the absent one too: a transaction may put it back";
  for (std::size_t i = 0; i < all.entries.size(); ++i) {
    const ScanEntry& entry = all.entries[i];
    EXPECT_EQ(entry.key, "k" + std::to_string(15 + i));
    EXPECT_EQ(record::is_absent(entry.record.tid), entry.key == "k20");
    EXPECT_EQ(entry.record.value, entry.key == "k20" ? "" : entry.key.substr(1));
  }
  const auto changed = [&] {
    return std::count_if(all.nodes.begin(), all.nodes.end(),
                         [&](const SeenNode& node) { return check(node) != VersionCheck::Outcome::kUnchanged; });
  };
  EXPECT_GT(all.nodes.size(), 2u);
  EXPECT_EQ(changed(), 0);
  db().put(schema().ordered, "k155", "an update of no node");
  EXPECT_EQ(changed(), 1) << "a phantom";
  for (int i = 0; i < 20; ++i) db().put(schema().ordered, "k30-" + std::to_string(i), "these split a leaf");
  EXPECT_GE(changed(), 2);
}

TEST_F(Data, AScanDescendsAndEndsAtItsLimit) {
  for (const std::string key : {"a", "b", "c", "d"}) db().put(schema().ordered, key, key);
  db().remove(schema().ordered, "c");
  const ScanAnswer two =
      ask(Scan{.table = schema().ordered.id(), .range = {.to_infinity = true, .descending = true, .limit = 2}});
  ASSERT_EQ(two.entries.size(), 3u);
  std::string keys;
  for (const ScanEntry& entry : two.entries) keys += entry.key;
  EXPECT_EQ(keys, "dcb");
  EXPECT_TRUE(two.more) << "a is still to come";
  EXPECT_TRUE(ask(Scan{.table = schema().ordered.id(), .range = {.to_infinity = true, .limit = 0}}).entries.empty());
}

TEST_F(Data, ALongScanComesInPieces) {
  const std::string value(10'000, 'v'), too_long(Owner::kMostValueBytes + 1, 'l');
  for (int i = 0; i < 20; ++i) db().put(schema().ordered, "k" + std::to_string(10 + i), i == 7 ? too_long : value);
  std::string from, keys;
  int pieces = 0;
  for (bool more = true; more; ++pieces) {
    const ScanAnswer piece = ask(
        Scan{.table = schema().ordered.id(), .range = {.from = from, .from_inclusive = false, .to_infinity = true}});
    ASSERT_FALSE(piece.entries.empty());
    for (const ScanEntry& entry : piece.entries) {
      keys += entry.key;
      EXPECT_EQ(entry.record.has_value, entry.key != "k17") << "it is READ one-sided";
    }
    from = piece.entries.back().key;
    more = piece.more;
  }
  EXPECT_EQ(keys.size(), 60u);
  EXPECT_GT(pieces, 4);
}

TEST_F(Data, ASecondaryIndexBringsTheRecordsThatItLeadsTo) {
  for (const std::string name : {"ada", "bob", "abe"}) db().put(schema().ordered, "id " + name, name);
  const ScanAnswer found = ask(Scan{.table = schema().by_letter.core()->id(), .range = {.from = "a", .to = "b"}});
  ASSERT_EQ(found.entries.size(), 2u);
  const FindRecordAnswer abe = ask(FindRecord{.table = schema().ordered.id(), .key = "id abe", .with_value = true});
  EXPECT_EQ(found.entries[0].record.value, "id abe");
  EXPECT_EQ(found.entries[0].base, abe.record);
}

TEST_F(Data, BlocksForOldVersionsAreLentAndCountAsUsedWhenMoreAreAskedFor) {  // I12
  const LendBlocks some{.table = schema().hashed.id(), .count = 5};
  const std::vector<std::uint64_t> first = ask(some).blocks;
  ASSERT_EQ(first.size(), 5u);
  const std::uint64_t before = db()->statistics().versions_created;
  const std::vector<std::uint64_t> second = ask(some).blocks;
  EXPECT_EQ(db()->statistics().versions_created, before + 5);
  std::set<std::uint64_t> all(first.begin(), first.end());
  all.insert(second.begin(), second.end());
  EXPECT_EQ(all.size(), 10u) << "no block is lent twice while a snapshot may need it";
  (void)ask(LendBlocks{.table = schema().ordered.id(), .count = 1});
  EXPECT_EQ(db()->statistics().versions_created, before + 5) << "those for another table are still unused";
}

TEST_F(Data, AFewBlocksAtATimeWhereValuesAreLarge) {
  const auto lent = [&](TableId table, std::uint32_t count) {
    return ask(LendBlocks{.table = table, .count = count}).blocks.size();
  };
  EXPECT_EQ(lent(schema().ordered.id(), 1000), 3u) << "of 20,000 bytes each";
  EXPECT_EQ(lent(schema().hashed.id(), ~0u), LentBlocks::kMostBytes / record::record_bytes(100));
  EXPECT_EQ(lent(schema().hashed.id(), 0), 1u);
  EXPECT_EQ(refused(LendBlocks{.table = schema().local.id(), .count = 1}), ReplyStatus::kNotShared);
  EXPECT_EQ(refused(LendBlocks{.table = 99, .count = 1}), ReplyStatus::kUnknownTable);
}

TEST_F(Data, WhatACoordinatorDeletesIsCollected) {
  db().put(schema().hashed, "8 bytes!", "value");
  const FindRecordAnswer place = ask(FindRecord{.table = schema().hashed.id(), .key = "8 bytes!"});
  const record::TidWord tid = write(place.record, "8 bytes!", 100, std::nullopt);
  ask(NoteRemoved{.table = schema().hashed.id(), .key = "8 bytes!", .tid = tid});
  for (int i = 0; i < 3; ++i) {
    db().pass_snapshot_period();
    nodes_.pass(1'000);
  }
  EXPECT_EQ(schema().hashed.core()->index().find("8 bytes!").value, 0u);
}

TEST_F(Data, ARecordThatIsThereIsNotCollectedWhateverIsSaid) {
  db().put(schema().hashed, "8 bytes!", "value");
  const std::uint64_t tid = ask(FindRecord{.table = schema().hashed.id(), .key = "8 bytes!"}).record.tid;
  ask(NoteRemoved{.table = schema().hashed.id(), .key = "8 bytes!", .tid = tid});
  for (int i = 0; i < 3; ++i) {
    db().pass_snapshot_period();
    nodes_.pass(1'000);
  }
  EXPECT_EQ(db().value(schema().hashed, "8 bytes!"), "value");
}

TEST_F(Data, WhatCannotBeDoneIsRefusedWithTheReason) {
  EXPECT_EQ(refused(FindRecord{.table = 99, .key = "k"}), ReplyStatus::kUnknownTable);
  EXPECT_EQ(refused(FindRecord{.table = schema().local.id(), .key = "k"}), ReplyStatus::kNotShared);
  EXPECT_EQ(refused(Scan{.table = schema().hashed.id()}), ReplyStatus::kNotOrdered);
  EXPECT_EQ(refused(Call{.procedure = "p"}), ReplyStatus::kNoHandler);
  const std::string key(kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(refused(NoteRemoved{.table = schema().ordered.id(), .key = key}), ReplyStatus::kKeyTooLong);
  const std::string longest(small_layout().most_bytes, 'k');
  EXPECT_EQ(asking().ask(kOwner, Control{.bytes = longest}).outcome(), AskOutcome::kTooLarge);
  // The request fits; the answer says who has asked, too, and does not.
  const std::string long_text(small_layout().most_bytes - rdma::mailbox::Rpc::kHeaderBytes - kFrameBytes - 4, 'k');
  EXPECT_EQ(asking().ask(kOwner, Control{.bytes = long_text}).outcome(), AskOutcome::kAnswerTooLarge);
  EXPECT_EQ(ask(Control{.bytes = "go"}).bytes, "0 says go");
}

/// Its owner alone writes an immutable table (I31).
TEST_F(Data, NothingIsMadeInAnImmutableTable) {
  const TableId id = schema().immutable.id();
  db().put(schema().immutable, "k", "value");
  EXPECT_EQ(ask(FindRecord{.table = id, .key = "k", .with_value = true}).record.value, "value");
  EXPECT_EQ(refused(FindRecord{.table = id, .key = "new", .make = true}), ReplyStatus::kImmutable);
  EXPECT_EQ(refused(LendBlocks{.table = id, .count = 1}), ReplyStatus::kImmutable);
  EXPECT_EQ(refused(NoteRemoved{.table = id, .key = "k", .tid = 1}), ReplyStatus::kImmutable);
  const auto sealed_from = [&] {
    for (const TableDescription& table : ask(Describe{}).tables) {
      if (table.id == id) return table.sealed_from;
    }
    return epoch::Epoch{0};
  };
  EXPECT_EQ(sealed_from(), txn::kNotSealed);
  EXPECT_TRUE(db()->seal(schema().immutable).ok());
  EXPECT_EQ(sealed_from(), db()->current_epoch() + 1);
}

TEST_F(Data, ARecordThatStaysLockedIsBusy) {
  db().put(schema().ordered, "x", "old");
  const FindRecordAnswer place = ask(FindRecord{.table = schema().ordered.id(), .key = "x"});
  const LeaseExpired no_lease;
  XLock lock(record(place.record, "x", 20000), words_.next(), asking().buffer(), no_lease);
  asking().run(lock);
  EXPECT_EQ(refused(FindRecord{.table = schema().ordered.id(), .key = "x", .with_value = true}), ReplyStatus::kBusy);
  Scan scan{.table = schema().ordered.id(), .range = {.to_infinity = true}};
  EXPECT_EQ(refused(scan), ReplyStatus::kBusy);
  scan.held = {lock.mine() - 1, lock.mine() + 1};
  EXPECT_EQ(refused(scan), ReplyStatus::kBusy);
  scan.held = {lock.mine() - 1, lock.mine()};
  const ScanAnswer own = ask(scan);
  ASSERT_EQ(own.entries.size(), 1u);
  SeenRecord known = place.record;
  known.has_value = false;
  known.value = {};
  EXPECT_EQ(own.entries[0].record, known);
}

}  // namespace
}  // namespace granary::cluster::messages
