// Scans of ordered tables and secondary indexes of other nodes: order, own writes, phantoms, and indexes kept in step
// from afar.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

class ScansAcrossNodes : public testing::Test {
 protected:
  ScansAcrossNodes() {
    for (std::size_t node = 0; node < 2; ++node) {
      tables_.push_back(cluster_.node(node).table("t", {.max_value_bytes = 16, .shared = true}));
      people_.push_back(cluster_.node(node).table("people", {.max_value_bytes = 16, .shared = true}));
      // The first byte of an entry's key is the record's home again, then comes the value.
      const IndexOptions by_name{.parts = {{.source = IndexPart::Source::kKey, .offset = 0, .length = 1},
                                           {.source = IndexPart::Source::kValue, .offset = 0, .length = 4}}};
      IndexOptions unique = by_name;
      unique.unique = true;
      by_name_.push_back(cluster_.node(node).index(people_.back(), "by_name", by_name));
      unique_table_.push_back(cluster_.node(node).table("unique", {.max_value_bytes = 16, .shared = true}));
      unique_.push_back(cluster_.node(node).index(unique_table_.back(), "unique_by_name", unique));
    }
    cluster_.start();
    cluster_.pass_epochs(2);
  }

  void commit(std::size_t node, FunctionRef<void(Transaction&)> body) {
    Transaction t = cluster_.node(node).worker().begin();
    body(t);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }
  void put(std::size_t node, const std::string& key, const std::string& value) {
    commit(node, [&](Transaction& t) { EXPECT_EQ(t.put(tables_[node], key, value), Outcome::kOk); });
  }
  std::string scan(Transaction& t, const ScanRange& range) { return tests::scan_text(t, tables_[0], range); }

  SimCluster cluster_{2};
  std::vector<Table> tables_, people_, unique_table_;
  std::vector<Index> by_name_, unique_;
};

TEST_F(ScansAcrossNodes, VisitARangeInOrder) {
  for (const std::string key : {"1a", "1b", "1c", "1d", "0a"}) put(0, key, key.substr(1));
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(scan(t, {.from = "1"}), "1a=a 1b=b 1c=c 1d=d ");
    EXPECT_EQ(scan(t, {.from = "1b", .to = "1d"}), "1b=b 1c=c ");
    EXPECT_EQ(scan(t, {.from = "1b", .from_inclusive = false, .to = "1d", .to_inclusive = true}), "1c=c 1d=d ");
    EXPECT_EQ(scan(t, {.from = "1", .order = Order::kDescending}), "1d=d 1c=c 1b=b 1a=a ");
    EXPECT_EQ(scan(t, {.from = "1", .limit = 2}), "1a=a 1b=b ");
    EXPECT_EQ(scan(t, {.from = "1", .order = Order::kDescending, .limit = 1}), "1d=d ");
    EXPECT_EQ(scan(t, {.from = "1x"}), "");
  });
}

TEST_F(ScansAcrossNodes, SeeTheirOwnWrites) {
  for (const std::string key : {"1b", "1d", "1f"}) put(0, key, "old");
  commit(0, [&](Transaction& t) {
    for (const std::string key : {"1a", "1c", "1g"}) EXPECT_EQ(t.insert(tables_[0], key, "new"), Outcome::kOk);
    EXPECT_EQ(t.put(tables_[0], "1d", "mine"), Outcome::kOk);
    EXPECT_EQ(t.remove(tables_[0], "1f"), Outcome::kOk);
    EXPECT_EQ(scan(t, {.from = "1"}), "1a=new 1b=old 1c=new 1d=mine 1g=new ");
    EXPECT_EQ(scan(t, {.from = "1", .order = Order::kDescending}), "1g=new 1d=mine 1c=new 1b=old 1a=new ");
    EXPECT_EQ(scan(t, {.from = "1", .limit = 3}), "1a=new 1b=old 1c=new ");
  });
  commit(1, [&](Transaction& t) {
    EXPECT_EQ(tests::scan_text(t, tables_[1], {.from = "1"}), "1a=new 1b=old 1c=new 1d=mine 1g=new ");
  });
}

/// The visitor removes what comes next, so the owner has to be asked for more than the first piece, which ended with
/// the limit. Long keys: the leaves are not remembered, and the owner is asked; short ones: they are.
TEST_F(ScansAcrossNodes, VisitAsManyAsAskedForWhateverTheVisitorRemoves) {
  for (const std::string tail : {"", "-long-key"}) {
    const auto key = [&](char number) { return std::string{'1', number} + tail; };
    for (const char number : {'1', '2', '3', '4', '5'}) put(0, key(number), "v");
    commit(0, [&](Transaction& t) {
      std::string seen;
      const ScanResult scanned =
          t.scan(tables_[0], {.from = "1", .limit = 3}, [&](std::string_view at, std::string_view) {
            seen += at[1];
            if (at[1] == '1') {
              EXPECT_EQ(t.remove(tables_[0], key('2')), Outcome::kOk);
            }
            return true;
          });
      EXPECT_EQ(scanned.count, 3u);
      EXPECT_EQ(seen, "134");
    });
    commit(0, [&](Transaction& t) {
      for (const char number : {'1', '3', '4', '5'}) EXPECT_EQ(t.remove(tables_[0], key(number)), Outcome::kOk);
    });
  }
}

/// Which are x-locked at their owner, by the transaction that scans.
TEST_F(ScansAcrossNodes, SeeWhatTheyHaveDeclared) {
  cluster_.set_time(1'000'000);
  for (const std::string key : {"1a", "1b", "1c", "1d"}) put(0, key, "old");
  commit(0, [&](Transaction& t) {
    const std::array<Declared, 4> keys = {Declared{tables_[0], "1a", true}, Declared{tables_[0], "1b", true},
                                          Declared{tables_[0], "1c", true}, Declared{tables_[0], "1d", false}};
    ASSERT_EQ(t.declare(keys), Outcome::kOk);
    EXPECT_EQ(scan(t, {.from = "1"}), "1a=old 1b=old 1c=old 1d=old ");
    EXPECT_EQ(t.put(tables_[0], "1b", "mine"), Outcome::kOk);
    EXPECT_EQ(t.remove(tables_[0], "1c"), Outcome::kOk);
    EXPECT_EQ(scan(t, {.from = "1"}), "1a=old 1b=mine 1d=old ");
    EXPECT_EQ(scan(t, {.from = "1", .order = Order::kDescending, .limit = 2}), "1d=old 1b=mine ");

    Transaction other = cluster_.node(0).worker(1).begin();
    EXPECT_EQ(scan(other, {.from = "1"}), "(aborted)");
    EXPECT_EQ(other.commit().reason, AbortReason::kRecordBusy) << "locked, for everybody else";
  });
  commit(1,
         [&](Transaction& t) { EXPECT_EQ(tests::scan_text(t, tables_[1], {.from = "1"}), "1a=old 1b=mine 1d=old "); });
}

TEST_F(ScansAcrossNodes, OfAnIndexSeeWhatTheyHaveDeclared) {
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(t.insert(people_[0], "1x", "zoe "), Outcome::kOk);
    EXPECT_EQ(t.insert(people_[0], "1y", "adam"), Outcome::kOk);
  });
  commit(0, [&](Transaction& t) {
    const Declared key{people_[0], "1x", true};
    ASSERT_EQ(t.declare({&key, 1}), Outcome::kOk);
    EXPECT_EQ(tests::scan_text(t, by_name_[0], {.from = "1", .to = "2"}), "1y=adam 1x=zoe  ");
    EXPECT_EQ(t.put(people_[0], "1x", "abel"), Outcome::kOk);
    EXPECT_EQ(tests::scan_text(t, by_name_[0], {.from = "1", .to = "2"}), "1x=abel 1y=adam ");
  });
}

/// Pieces that come after it.
TEST_F(ScansAcrossNodes, SeeWhatAVisitorDeclares) {
  constexpr int kKeys = 3000;
  const auto key_of = [](int k) { return "1" + std::to_string(10'000 + k); };
  for (int i = 0; i < kKeys; i += 100) {
    commit(1, [&](Transaction& t) {
      for (int k = i; k < i + 100; ++k) EXPECT_EQ(t.put(tables_[1], key_of(k), "some value"), Outcome::kOk);
    });
  }
  commit(0, [&](Transaction& t) {
    const std::string last = key_of(kKeys - 1);
    const Declared declared{tables_[0], last, true};
    int seen = 0;
    const ScanResult scanned = t.scan(tables_[0], {.from = key_of(0)}, [&](std::string_view, std::string_view) {
      if (seen++ == 0) {
        EXPECT_EQ(t.declare({&declared, 1}), Outcome::kOk);
      }
      return true;
    });
    EXPECT_EQ(scanned.outcome, Outcome::kOk);
    EXPECT_EQ(seen, kKeys);
  });
}

TEST_F(ScansAcrossNodes, CrossManyLeavesAndMessages) {
  constexpr int kKeys = 3000;
  for (int i = 0; i < kKeys; i += 100) {
    commit(1, [&](Transaction& t) {
      for (int k = i; k < i + 100; ++k) {
        EXPECT_EQ(t.put(tables_[1], "1" + std::to_string(10'000 + k), "some value"), Outcome::kOk);
      }
    });
  }
  commit(0, [&](Transaction& t) {
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      int expected = order == Order::kAscending ? 0 : kKeys - 1;
      const ScanResult scanned =
          t.scan(tables_[0], {.from = "1", .order = order}, [&](std::string_view key, std::string_view) {
            EXPECT_EQ(key, "1" + std::to_string(10'000 + expected));
            expected += order == Order::kAscending ? 1 : -1;
            return true;
          });
      EXPECT_EQ(scanned.count, static_cast<std::size_t>(kKeys));
    }
  });
}

TEST_F(ScansAcrossNodes, APhantomIsNoticed) {
  put(0, "1m", "there");
  for (const std::size_t writer : {0u, 1u}) {
    const std::string key = "1k" + std::to_string(writer);
    Transaction reader = cluster_.node(0).worker(1).begin();
    EXPECT_EQ(scan(reader, {.from = "1k", .to = "1l"}), writer == 0 ? "" : "1k0=new ");
    put(writer, key, "new");
    EXPECT_EQ(reader.put(tables_[0], "0x", "relies on it"), Outcome::kOk);
    EXPECT_EQ(reader.commit().reason, AbortReason::kNodeChanged);
  }
}

TEST_F(ScansAcrossNodes, AnInsertOfOnesOwnIsNoPhantom) {
  put(0, "1m", "there");
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(scan(t, {.from = "1"}), "1m=there ");
    for (int i = 0; i < 40; ++i) {  // the leaf splits
      EXPECT_EQ(t.insert(tables_[0], "1n" + std::to_string(i), "new"), Outcome::kOk);
    }
  });
}

TEST_F(ScansAcrossNodes, ARecordThatChangedInTheRangeIsNoticed) {
  put(0, "1m", "old");
  Transaction reader = cluster_.node(0).worker(1).begin();
  EXPECT_EQ(scan(reader, {.from = "1"}), "1m=old ");
  put(1, "1m", "new");
  EXPECT_EQ(reader.put(tables_[0], "1m", "newer"), Outcome::kOk);
  EXPECT_EQ(reader.commit().reason, AbortReason::kReadChanged);
}

TEST_F(ScansAcrossNodes, SecondaryIndexesAreKeptInStep) {
  const auto names = [&](std::size_t node) {
    std::string text;
    commit(node, [&](Transaction& t) { text = tests::scan_text(t, by_name_[node], {.from = "1", .to = "2"}); });
    return text;
  };
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(t.insert(people_[0], "1x", "zoe "), Outcome::kOk);
    EXPECT_EQ(t.insert(people_[0], "1y", "adam"), Outcome::kOk);
    EXPECT_EQ(tests::scan_text(t, by_name_[0], {.from = "1", .to = "2"}), "1y=adam 1x=zoe  ") << "its own writes";
  });
  EXPECT_EQ(names(0), "1y=adam 1x=zoe  ");
  EXPECT_EQ(names(1), "1y=adam 1x=zoe  ");
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(t.put(people_[0], "1x", "abel"), Outcome::kOk);
    EXPECT_EQ(t.remove(people_[0], "1y"), Outcome::kOk);
  });
  EXPECT_EQ(names(0), "1x=abel ");
  EXPECT_EQ(names(1), "1x=abel ");
}

/// A snapshot of node 0 sees all nodes as they were, whoever has written since.
TEST_F(ScansAcrossNodes, SnapshotsSeeAllNodesAtOneTime) {
  for (const std::string key : {"0a", "1a", "1b"}) put(0, key, "old");
  commit(0, [&](Transaction& t) { EXPECT_EQ(t.insert(people_[0], "1x", "zoe "), Outcome::kOk); });
  cluster_.pass_epochs(9);
  Snapshot snapshot = cluster_.node(0).worker(1).snapshot();
  for (const std::size_t writer : {0u, 1u}) {
    put(writer, writer == 0 ? "1a" : "1b", "new");
    put(writer, writer == 0 ? "0a" : "1c", "new");
  }
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(t.remove(tables_[0], "1b"), Outcome::kOk);
    EXPECT_EQ(t.put(people_[0], "1x", "abel"), Outcome::kOk);
  });
  std::string value;
  EXPECT_EQ(snapshot.get(tables_[0], "0a", value), Outcome::kOk);
  EXPECT_EQ(value, "old");
  EXPECT_EQ(snapshot.get(tables_[0], "1a", value), Outcome::kOk);
  EXPECT_EQ(value, "old");
  EXPECT_EQ(snapshot.get(tables_[0], "1c", value), Outcome::kNotFound);
  EXPECT_EQ(tests::scan_text(snapshot, tables_[0], {.from = "1"}), "1a=old 1b=old ");
  EXPECT_EQ(tests::scan_text(snapshot, tables_[0], {.from = "1", .order = Order::kDescending}), "1b=old 1a=old ");
  EXPECT_EQ(tests::scan_text(snapshot, by_name_[0], {.from = "1", .to = "2"}), "1x=zoe  ");
  std::array<std::array<char, 16>, 3> buffers;
  std::array<MultiGet, 3> gets = {MultiGet{tables_[0], "1b", buffers[0], {}},
                                  MultiGet{tables_[0], "0a", buffers[1], {}},
                                  MultiGet{tables_[0], "1c", buffers[2], {}}};
  EXPECT_EQ(snapshot.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(std::string_view(buffers[0].data(), gets[0].result.size), "old");
  EXPECT_EQ(std::string_view(buffers[1].data(), gets[1].result.size), "old");
  EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
  cluster_.node(1).crash();
  EXPECT_EQ(snapshot.get(tables_[0], "1a", value), Outcome::kUnreachable);
  EXPECT_EQ(snapshot.get(tables_[0], "0a", value), Outcome::kOk);
}

/// The first key behind the last secondary key that node 0 can have is node 1's.
TEST_F(ScansAcrossNodes, OfAnIndexStayAtTheHomeOfTheirRange) {
  const std::string last = "\xff\xff\xff\xff";
  commit(0, [&](Transaction& t) {
    EXPECT_EQ(t.insert(people_[0], "0x", last), Outcome::kOk);
    EXPECT_EQ(t.insert(people_[0], "1y", "adam"), Outcome::kOk);
  });
  cluster_.pass_epochs(9);
  for (std::size_t node = 0; node < 2; ++node) {
    SCOPED_TRACE(node);
    Snapshot snapshot = cluster_.node(node).worker(1).snapshot();
    const auto expect = [&](bool inclusive, const std::string& records) {
      const std::string from = "0" + last;
      const ScanRange range{.from = from, .from_inclusive = inclusive};
      commit(node, [&](Transaction& t) { EXPECT_EQ(tests::scan_text(t, by_name_[node], range), records); });
      EXPECT_EQ(tests::scan_text(snapshot, by_name_[node], range), records);
    };
    expect(true, "0x=" + last + " ");
    expect(false, "");
  }
}

TEST_F(ScansAcrossNodes, AUniqueIndexThereRefusesASecondRecord) {
  commit(1, [&](Transaction& t) { EXPECT_EQ(t.insert(unique_table_[1], "1x", "same"), Outcome::kOk); });
  Transaction t = cluster_.node(0).worker().begin();
  EXPECT_EQ(t.insert(unique_table_[0], "1y", "same"), Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kUniqueViolation);
}

/// The words of its locks go with each piece of a scan that the owner is asked for. Nor does a value of a snapshot go
/// into any message.
TEST(ScansWithSmallMessages, SayThatWhatIsAskedDoesNotFit) {
  constexpr std::uint64_t kMessageBytes = 40'000, kLockBytes = 8;
  SimCluster cluster(
      2, 1, {.seed = 1}, [](unsigned) { return tests::manual_options(); }, kMessageBytes);
  const std::vector<Table> tables = cluster.tables("t", {.max_value_bytes = 8, .shared = true});
  const std::vector<Table> large = cluster.tables("large", {.max_value_bytes = kMessageBytes, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < kMessageBytes / kLockBytes; ++i)
    keys.push_back("1 too long for a leaf " + std::to_string(i));
  const auto begin = [&](std::size_t node) { return cluster.node(node).worker().begin(); };
  Transaction load = begin(1);
  for (const std::string& key : keys) ASSERT_EQ(load.put(tables[1], key, "v"), Outcome::kOk);
  ASSERT_EQ(load.put(large[1], "1", std::string(kMessageBytes, 'x')), Outcome::kOk);
  ASSERT_TRUE(load.commit().committed());
  Transaction t = begin(0);
  for (const std::string& key : keys) {
    const Declared declared{tables[0], key, true};
    ASSERT_EQ(t.declare({&declared, 1}), Outcome::kOk);
  }
  EXPECT_EQ(t.scan(tables[0], {.from = "1", .limit = 1}, [](auto, auto) { return true; }).outcome, Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kMessageTooLarge);
  cluster.pass_epochs(9);
  std::string value;
  EXPECT_EQ(cluster.node(0).worker().snapshot().get(large[0], "1", value), Outcome::kValueTooLarge);
}

/// Each of the values fits into a message, and no two of them do.
TEST(ScansWithSmallMessages, OfASnapshotSeeValuesThatFitOneByOne) {
  constexpr std::uint64_t kMessageBytes = 40'000;
  SimCluster cluster(
      2, 1, {.seed = 1}, [](unsigned) { return tests::manual_options(); }, kMessageBytes);
  const std::vector<Table> tables = cluster.tables("t", {.max_value_bytes = kMessageBytes, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  Transaction load = cluster.node(1).worker().begin();
  ASSERT_EQ(load.put(tables[1], "1a", std::string(20'000, 'a')), Outcome::kOk);
  ASSERT_EQ(load.put(tables[1], "1b", std::string(30'000, 'b')), Outcome::kOk);
  ASSERT_TRUE(load.commit().committed());
  cluster.pass_epochs(9);
  Snapshot snapshot = cluster.node(0).worker().snapshot();
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    std::string seen;
    const ScanResult scanned =
        snapshot.scan(tables[0], {.from = "1", .order = order}, [&](std::string_view key, std::string_view value) {
          seen += std::string(key) + "=" + std::to_string(value.size()) + " ";
          return true;
        });
    EXPECT_EQ(scanned.outcome, Outcome::kOk) << name(scanned.outcome);
    EXPECT_EQ(seen, order == Order::kAscending ? "1a=20000 1b=30000 " : "1b=30000 1a=20000 ");
  }
}

}  // namespace
}  // namespace granary::cluster::test
