// Look-ups and scans of ordered tables of other nodes by READs of leaves: no messages once the leaves are known, and
// right answers whatever has become of the leaves since. Not covered: a leaf that changes during the READ
// (tests/kvstore/remote/leaf_read_test.cc).

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "kvstore/ordered/leaf_copy.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

class LeavesAcrossNodes : public testing::Test {
 protected:
  LeavesAcrossNodes() {
    for (std::size_t node = 0; node < 2; ++node) {
      tables_.push_back(cluster_.node(node).table("t", {.max_value_bytes = 16, .shared = true}));
      others_.push_back(cluster_.node(node).table("other", {.max_value_bytes = 16, .shared = true}));
      const IndexOptions by_value{.parts = {{.source = IndexPart::Source::kKey, .offset = 0, .length = 1},
                                            {.source = IndexPart::Source::kValue, .offset = 0, .length = 4}},
                                  .unique = true};
      by_value_.push_back(cluster_.node(node).index(others_.back(), "by_value", by_value));
      hashed_.push_back(cluster_.node(node).table(
          "hashed", {.max_value_bytes = 16, .index = IndexKind::kHash, .expected_keys = 64, .shared = true}));
    }
    cluster_.start();
    cluster_.pass_epochs(2);
  }

  /// Keys of node 1.
  static std::string key_of(int number) { return "1" + std::to_string(1000 + number); }
  static std::string value_of(int number) { return std::to_string(number); }

  void commit(std::size_t node, FunctionRef<void(Transaction&)> body) {
    Transaction t = cluster_.node(node).worker().begin();
    body(t);
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
  }
  void put(std::size_t node, const std::vector<Table>& tables, int from, int to, int step = 1) {
    for (int i = from; i < to; i += step) {
      commit(node, [&](Transaction& t) { EXPECT_EQ(t.put(tables[node], key_of(i), value_of(i)), Outcome::kOk); });
    }
  }
  void remove(int from, int to) {
    for (int i = from; i < to; ++i)
      commit(1, [&](Transaction& t) { EXPECT_EQ(t.remove(tables_[1], key_of(i)), Outcome::kOk); });
  }
  /// Lets the owner take records out of their leaves, and free what is empty.
  void collect() {
    for (int i = 0; i < 40; ++i) {
      cluster_.pass_epochs(1);
      epoch::ControlBlock& control = cluster_.node(1).control();
      control.by_leader.snapshot_reclamation.store(control.by_leader.epoch - 1);
      cluster_.node(1).worker().collect_garbage();
      cluster_.node(1).collect_garbage();
    }
  }
  std::string get(Transaction& t, int number) {
    std::string value;
    const Outcome got = t.get(tables_[0], key_of(number), value);
    return got == Outcome::kOk ? value : got == Outcome::kNotFound ? "-" : "(aborted)";
  }
  std::string get_to_write(Transaction& t, int number, const std::vector<Table>* tables = nullptr) {
    std::array<char, 16> buffer;
    const GetResult got = t.get_to_write((tables == nullptr ? tables_ : *tables)[0], key_of(number), buffer);
    if (got) return std::string(buffer.data(), got.size);
    return got.outcome == Outcome::kNotFound ? "-" : "(aborted)";
  }
  /// What node 0 finds of keys [0, count), one transaction a key.
  std::string look(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) commit(0, [&](Transaction& t) { text += get(t, i) + " "; });
    return text;
  }
  static std::string expected(int count, FunctionRef<bool(int)> is_there) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (is_there(i) ? value_of(i) : "-") + " ";
    return text;
  }
  const ReachCounters& counters() { return cluster_.node(0).remote().counters(); }
  std::uint64_t messages_of(FunctionRef<void()> body) {
    const std::uint64_t before = counters().messages;
    body();
    return counters().messages - before;
  }
  static constexpr auto kAll = [](int) { return true; };

  SimCluster cluster_{2};
  std::vector<Table> tables_, others_, hashed_;
  std::vector<Index> by_value_;
};

TEST_F(LeavesAcrossNodes, AreReadWithoutAMessageOnceTheyAreKnown) {
  put(1, tables_, 0, 100, 2);
  const auto is_there = [](int i) { return i % 2 == 0; };
  const std::string first = look(100);
  EXPECT_EQ(first, expected(100, is_there));
  EXPECT_EQ(messages_of([&] { EXPECT_EQ(look(100), first); }), 0u);
  const std::uint64_t rounds = counters().rounds[0];
  look(1);
  EXPECT_EQ(counters().rounds[0] - rounds, 2u) << "the leaf, the record";
  EXPECT_GT(counters().leaves.hits, 100u);
  EXPECT_EQ(counters().leaves.stale, 0u);
}

TEST_F(LeavesAcrossNodes, AreMissedOnceWhenARecordIsToBeLockedWithTheRead) {
  commit(0, [&](Transaction& t) { EXPECT_EQ(get_to_write(t, 3), "-"); });
  EXPECT_EQ(counters().leaves.misses, 1u);
  put(1, hashed_, 0, 1);
  for (const unsigned hits : {0u, 1u}) {
    commit(0, [&](Transaction& t) { EXPECT_EQ(get_to_write(t, 0, &hashed_), value_of(0)); });
    EXPECT_EQ(counters().locations.misses, 1u) << "so it is in a hash table";
    EXPECT_EQ(counters().locations.hits, hits);
  }
}

TEST_F(LeavesAcrossNodes, AreMissedByAScanAsOftenAsItAsksTheirOwner) {
  put(1, tables_, 0, 300);
  look(1);
  const std::uint64_t asked =
      messages_of([&] { commit(0, [&](Transaction& t) { (void)tests::scan_text(t, tables_[0], {.from = "1"}); }); });
  EXPECT_GT(asked, 0u);
  EXPECT_EQ(counters().leaves.misses, 1 + asked);
}

TEST_F(LeavesAcrossNodes, GoOnWhenTheyHaveSplit) {
  put(1, tables_, 0, 200, 10);
  look(200);
  put(1, tables_, 0, 200);
  // From the end, since who finds a leaf's first keys learns that it has split.
  for (int i = 199; i >= 0; --i) commit(0, [&](Transaction& t) { EXPECT_EQ(get(t, i), value_of(i)); });
  EXPECT_GT(counters().leaves.stale, 0u);
  EXPECT_EQ(messages_of([&] { look(200); }), 0u);
}

TEST_F(LeavesAcrossNodes, AreNotBelievedWhenTheyAreGone) {
  put(1, tables_, 0, 200);
  look(200);
  remove(10, 190);
  collect();
  const auto is_there = [](int i) { return i < 10 || i >= 190; };
  EXPECT_EQ(look(200), expected(200, is_there));
  EXPECT_GT(counters().leaves.stale, 0u) << "or no leaf has gone";
  put(1, tables_, 0, 200);
  EXPECT_EQ(look(200), expected(200, kAll));
}

TEST_F(LeavesAcrossNodes, AreNotBelievedWhenTheirBlocksAreAnotherTables) {
  put(1, tables_, 0, 200);
  look(200);
  remove(0, 200);
  collect();
  put(1, others_, 0, 200);
  EXPECT_EQ(look(200), expected(200, [](int) { return false; }));
  put(1, tables_, 50, 100);
  EXPECT_EQ(look(200), expected(200, [](int i) { return i >= 50 && i < 100; }));
}

TEST_F(LeavesAcrossNodes, AMissIsCheckedAtTheCommit) {
  put(1, tables_, 0, 20, 2);
  look(20);
  for (const bool comes : {false, true}) {
    Transaction reader = cluster_.node(0).worker(1).begin();
    EXPECT_EQ(messages_of([&] { EXPECT_EQ(get(reader, 7), "-"); }), 0u);
    if (comes) put(1, tables_, 7, 8);
    EXPECT_EQ(reader.put(tables_[0], "0x", "relies on it"), Outcome::kOk);
    EXPECT_EQ(reader.commit().reason, comes ? AbortReason::kNodeChanged : AbortReason::kNone);
  }
}

TEST_F(LeavesAcrossNodes, AnInsertOfOnesOwnFollowsAMiss) {
  put(1, tables_, 0, 100, 2);
  look(100);
  commit(0, [&](Transaction& t) {
    for (int i = 1; i < 100; i += 2) EXPECT_EQ(t.insert(tables_[0], key_of(i), value_of(i)), Outcome::kOk);
  });
  EXPECT_EQ(look(100), expected(100, kAll));
}

TEST_F(LeavesAcrossNodes, LeadToRecordsThatAreLockedWithTheRead) {
  put(1, tables_, 0, 100, 2);
  look(100);
  commit(1, [&](Transaction& t) { EXPECT_EQ(t.put(hashed_[1], "1h", "old"), Outcome::kOk); });
  std::string value;
  commit(0, [&](Transaction& t) { EXPECT_EQ(t.get(hashed_[0], "1h", value), Outcome::kOk); });
  const std::uint64_t before = counters().messages, read = counters().rounds[0], locked = counters().rounds[1];
  commit(0, [&](Transaction& t) {
    std::array<std::array<char, 16>, 5> buffers;
    const std::array keys = {key_of(8), key_of(9), key_of(90), key_of(40), std::string("1h")};
    std::array<MultiGet, 5> gets;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      gets[i] = {.table = i < 4 ? tables_[0] : hashed_[0], .key = keys[i], .buffer = buffers[i], .result = {}};
      gets[i].will_write = i != 3;
    }
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(gets[1].result.outcome, Outcome::kNotFound);
    for (const std::size_t i : {0, 2, 3, 4}) EXPECT_EQ(gets[i].result.outcome, Outcome::kOk);
    EXPECT_EQ(counters().rounds[0] - read, 1u) << "the leaves of all four";
    EXPECT_EQ(counters().rounds[1] - locked, 1u) << "three locks, and the record that is only read";
    EXPECT_EQ(t.put(tables_[0], key_of(90), "new"), Outcome::kOk);
  });
  EXPECT_EQ(counters().messages, before);
  commit(1, [&](Transaction& t) { EXPECT_EQ(t.get(tables_[1], key_of(90), value), Outcome::kOk); });
  EXPECT_EQ(value, "new");
}

/// Whatever has become of the leaves that are known.
TEST_F(LeavesAcrossNodes, LeadToTheRightRecordsToLock) {
  put(1, tables_, 0, 200, 10);
  look(200);
  const auto add_up = [&](int number, bool is_there) {
    commit(0, [&](Transaction& t) {
      EXPECT_EQ(get_to_write(t, number), is_there ? value_of(number) : "-");
      EXPECT_EQ(t.put(tables_[0], key_of(number), value_of(number)), Outcome::kOk);
    });
  };
  put(1, tables_, 0, 200);
  for (int i = 199; i >= 0; --i) add_up(i, true);
  EXPECT_GT(counters().leaves.stale, 0u) << "or no leaf has split";
  const std::uint64_t stale = counters().leaves.stale;
  remove(10, 190);
  collect();
  put(1, others_, 0, 200);
  for (int i = 0; i < 200; ++i) add_up(i, i < 10 || i >= 190);
  EXPECT_GT(counters().leaves.stale, stale) << "or no leaf has gone";
  EXPECT_EQ(look(200), expected(200, kAll));
}

TEST_F(LeavesAcrossNodes, AMissOfWhatWasToBeLockedIsCheckedAtTheCommit) {
  put(1, tables_, 0, 20, 2);
  look(20);
  for (const bool comes : {false, true}) {
    Transaction reader = cluster_.node(0).worker(1).begin();
    EXPECT_EQ(messages_of([&] { EXPECT_EQ(get_to_write(reader, 7), "-"); }), 0u);
    if (comes) put(1, tables_, 7, 8);
    EXPECT_EQ(reader.put(tables_[0], "0x", "relies on it"), Outcome::kOk);
    EXPECT_EQ(reader.commit().reason, comes ? AbortReason::kNodeChanged : AbortReason::kNone);
  }
}

TEST_F(LeavesAcrossNodes, AreScannedWithoutAMessageOnceTheyAreKnown) {
  put(1, tables_, 0, 300);
  for (const Order order : {Order::kAscending, Order::kDescending}) {
    for (const std::size_t limit : {1, 7, 40, 1000}) {
      for (const auto& [from, to] : {std::pair(0, 300), {17, 18}, {20, 150}, {5, 299}, {150, 150}}) {
        const ScanRange range{.from = key_of(from), .to = key_of(to), .order = order, .limit = limit};
        const std::string first_key = key_of(from), last_key = key_of(to);
        ScanRange asked = range;
        asked.from = first_key;
        asked.to = last_key;
        std::string here, there;
        commit(1, [&](Transaction& t) { here = tests::scan_text(t, tables_[1], asked); });
        const auto scan = [&] { commit(0, [&](Transaction& t) { there = tests::scan_text(t, tables_[0], asked); }); };
        scan();
        EXPECT_EQ(there, here);
        EXPECT_EQ(messages_of(scan), 0u) << from << " to " << to;
        EXPECT_EQ(there, here);
      }
    }
  }
}

TEST_F(LeavesAcrossNodes, AreScannedRightWhateverHasBecomeOfThem) {
  put(1, tables_, 0, 200, 4);
  const auto check = [&] {
    for (const Order order : {Order::kAscending, Order::kDescending}) {
      std::string here, there;
      const ScanRange all{.from = "1", .order = order};
      commit(1, [&](Transaction& t) { here = tests::scan_text(t, tables_[1], all); });
      commit(0, [&](Transaction& t) { there = tests::scan_text(t, tables_[0], all); });
      EXPECT_EQ(there, here);
    }
  };
  check();
  check();
  put(1, tables_, 0, 200);
  check();
  remove(30, 170);
  check();
  collect();
  check();
  put(1, others_, 0, 200);
  check();
  put(0, tables_, 50, 150);
  check();
}

TEST_F(LeavesAcrossNodes, APhantomInARangeIsNoticed) {
  put(1, tables_, 0, 100, 2);
  const std::string from = key_of(30), to = key_of(60);
  const ScanRange range{.from = from, .to = to};
  commit(0, [&](Transaction& t) { (void)tests::scan_text(t, tables_[0], range); });
  for (const int comes : {75, 51}) {
    Transaction reader = cluster_.node(0).worker(1).begin();
    EXPECT_EQ(messages_of([&] { (void)tests::scan_text(reader, tables_[0], range); }), 0u);
    put(1, tables_, comes, comes + 1);
    EXPECT_EQ(reader.put(tables_[0], "0x", "relies on it"), Outcome::kOk);
    EXPECT_EQ(reader.commit().reason, comes == 75 ? AbortReason::kNone : AbortReason::kNodeChanged);
  }
}

TEST_F(LeavesAcrossNodes, OfAnIndexLeadToTheRecords) {
  put(1, others_, 1000, 1050);
  const auto scan = [&](std::size_t node) {
    std::string text;
    commit(node, [&](Transaction& t) { text = tests::scan_text(t, by_value_[node], {.from = "1", .to = "2"}); });
    return text;
  };
  EXPECT_EQ(scan(0), scan(1));
  std::string warm;
  (void)scan(0);
  EXPECT_EQ(messages_of([&] { warm = scan(0); }), 0u);
  EXPECT_EQ(warm, scan(1));
  commit(1, [&](Transaction& t) { EXPECT_EQ(t.put(others_[1], key_of(1020), "9999"), Outcome::kOk); });
  EXPECT_EQ(scan(0), scan(1));
}

/// What TPC-C's payment does of a remote customer who is named: a scan of an ordered table, and an update in a table of
/// either kind.
TEST_F(LeavesAcrossNodes, APaymentByNameAsksNobody) {
  constexpr int kNames = 200;
  const std::string customer = "1c";
  for (int i = 0; i < kNames; ++i)
    commit(1, [&](Transaction& t) { EXPECT_EQ(t.put(tables_[1], key_of(i), customer), Outcome::kOk); });
  for (const std::vector<Table>& customers : {hashed_, others_}) {
    commit(1, [&](Transaction& t) { EXPECT_EQ(t.put(customers[1], customer, "old"), Outcome::kOk); });
    const auto pay = [&](int first) {
      const std::string from = key_of(first), to = key_of(first + 3);
      commit(0, [&](Transaction& t) {
        std::string chosen;
        const auto choose = [&](std::string_view, std::string_view value) { return chosen = value, true; };
        EXPECT_EQ(t.scan(tables_[0], {.from = from, .to = to}, choose).count, 3u);
        std::array<char, 16> buffer;
        EXPECT_EQ(t.get_to_write(customers[0], chosen, buffer).outcome, Outcome::kOk);
        EXPECT_EQ(t.put(customers[0], chosen, "paid"), Outcome::kOk);
      });
    };
    const auto pay_all = [&](int step) {
      for (int i = 0; i + 3 < kNames; i += step) pay(i);
    };
    pay_all(3);
    const std::uint64_t rounds = counters().rounds[0];
    EXPECT_EQ(messages_of([&] { pay_all(1); }), 0u);
    EXPECT_LE(counters().rounds[0] - rounds, (kNames - 3) * 4u) << "leaf and records of the scan, and of the customer";
  }
}

/// I26: such a transaction aborts, and nothing else happens.
TEST_F(LeavesAcrossNodes, AnEntryThatLeadsNowhereIsNoRecord) {
  put(1, tables_, 0, 10);
  const std::string before = look(10);
  const kvstore::ordered::Position at = kvstore::ordered::LayerKey(key_of(3)).at;
  const KnownTable& known = *cluster_.node(0).directory().find(1, tables_[0].core()->id());
  kvstore::remote::LeafCacheCounters unused;
  char* const leaf = cluster_.node(1).database().engine().region().base() + known.leaves->find(at, unused)->offset;
  const std::uint64_t version = reinterpret_cast<const std::uint64_t*>(leaf)[0];
  const std::uint64_t right = kvstore::ordered::LeafCopy(version, leaf, version).find(at).value;
  auto* const entry = std::find(reinterpret_cast<std::uint64_t*>(leaf),
                                reinterpret_cast<std::uint64_t*>(leaf + kvstore::ordered::LeafCopy::kBytes), right);
  const auto base = reinterpret_cast<std::uint64_t>(cluster_.node(1).database().engine().region().base());
  for (const std::uint64_t nonsense : {std::uint64_t{1}, ~std::uint64_t{0}, base, base - 64, right + 1, right + 8,
                                       right + 64, reinterpret_cast<std::uint64_t>(leaf)}) {
    *entry = nonsense;
    Transaction t = cluster_.node(0).worker().begin();
    EXPECT_EQ(get(t, 3), "(aborted)");
    t.abort();
    Transaction locker = cluster_.node(0).worker().begin();
    EXPECT_EQ(get_to_write(locker, 3), "(aborted)");
    locker.abort();
    Transaction scanner = cluster_.node(0).worker().begin();
    EXPECT_NE(tests::scan_text(scanner, tables_[0], {.from = "1"}).find("(aborted)"), std::string::npos);
    scanner.abort();
  }
  *entry = right;
  EXPECT_EQ(look(10), before);
}

/// Which lie in deeper layers, and are asked for.
TEST_F(LeavesAcrossNodes, LongKeysAreFoundAmongShortOnes) {
  put(1, tables_, 0, 50);
  const std::string long_key = key_of(20) + "and much more", longer_key = long_key + " than that";
  for (const std::string& key : {long_key, longer_key})
    commit(1, [&](Transaction& t) { EXPECT_EQ(t.put(tables_[1], key, "long"), Outcome::kOk); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(look(50), expected(50, kAll));
    std::string here, there, value;
    commit(1, [&](Transaction& t) { here = tests::scan_text(t, tables_[1], {.from = "1"}); });
    commit(0, [&](Transaction& t) { there = tests::scan_text(t, tables_[0], {.from = "1"}); });
    EXPECT_EQ(there, here);
    commit(0, [&](Transaction& t) { EXPECT_EQ(t.get(tables_[0], longer_key, value), Outcome::kOk); });
    EXPECT_EQ(value, "long");
  }
}

}  // namespace
}  // namespace granary::cluster::test
