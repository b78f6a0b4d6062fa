// Every anomaly by name, by optimistic transactions. "One aborts" means that at least one gets a retryable conflict. By
// transactions that declare what they do: declared_anomalies_test.cc.

#include "tests/cluster/transaction/anomalies.h"

namespace granary::cluster::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Nodes, AcrossAnomalies, all_coordinators(), coordinators_name);

TEST_P(AcrossAnomalies, G0DirtyWrite) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  set_one(one, "0x", "11");
  set_two(two, "0x", "12");
  set_two(two, "1y", "22");
  const bool second = !conflicts(two.commit());
  set_one(one, "1y", "21");
  const bool first = !conflicts(one.commit());
  EXPECT_EQ(now(), first ? "11 21" : second ? "12 22" : "10 20");
}

TEST_P(AcrossAnomalies, G1aAbortedRead) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  set_one(one, "0x", "101");
  EXPECT_EQ(get_two(two, "0x"), "10");
  one.abort();
  EXPECT_EQ(get_two(two, "0x"), "10");
  EXPECT_TRUE(two.commit().committed());
}

/// The abort comes because the second lock cannot be had, when the first is.
TEST_P(AcrossAnomalies, G1aAbortedForALock) {
  auto* const y = reinterpret_cast<cc::Record*>(tables_[1].core()->index().find("1y").value);
  Transaction one = begin_one();
  EXPECT_EQ(get_one(one, "1y"), "20");
  set_one(one, "0x", "101");
  set_one(one, "1y", "102");
  ASSERT_TRUE(y->try_lock(y->tid()));
  EXPECT_TRUE(conflicts(one.commit()));
  y->unlock_unchanged();
  EXPECT_EQ(now(), "10 20");
}

TEST_P(AcrossAnomalies, G1bIntermediateRead) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  set_one(one, "0x", "101");
  EXPECT_EQ(get_two(two, "0x"), "10");
  set_one(one, "0x", "11");
  EXPECT_FALSE(conflicts(one.commit()));
  EXPECT_NE(get_two(two, "0x"), "101");
  (void)two.commit();
}

TEST_P(AcrossAnomalies, G1cCircularInformationFlow) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  set_one(one, "0x", "11");
  set_two(two, "1y", "22");
  EXPECT_EQ(get_one(one, "1y"), "20");
  EXPECT_EQ(get_two(two, "0x"), "10");
  const bool first = conflicts(one.commit());
  const bool second = conflicts(two.commit());
  EXPECT_TRUE(first || second);
}

TEST_P(AcrossAnomalies, ObservedTransactionVanishes) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  set_one(one, "0x", "11");
  set_one(one, "1y", "19");
  set_two(two, "0x", "12");
  set_two(two, "1y", "18");
  EXPECT_FALSE(conflicts(one.commit()));
  Transaction three = begin(2);
  EXPECT_EQ(get(three, 2, "0x"), "11");
  EXPECT_FALSE(conflicts(two.commit()));
  const std::string y = get(three, 2, "1y");
  EXPECT_TRUE(conflicts(three.commit()) || y == "19");
}

TEST_P(AcrossAnomalies, PmpPredicateManyPreceders) {
  if (!ordered()) return;
  Transaction one = begin_one();
  EXPECT_EQ(scan(one, at().one, "2"), "");
  EXPECT_EQ(scan(one, at().one, "1"), at().one == 1 ? "" : "1y=20 ");
  run(at().two, [&](Transaction& t) { EXPECT_EQ(t.insert(tables_[at().two], "2z", "30"), Outcome::kOk); });
  (void)scan(one, at().one, "2");
  set_one(one, "0x", "relies");
  EXPECT_TRUE(conflicts(one.commit()));
}

/// One adds 10 to all, two deletes where v = 20; both do so on two nodes.
TEST_P(AcrossAnomalies, PmpOfWrites) {
  if (!ordered()) return;
  run(0, [&](Transaction& t) { set(t, 0, "0w", "20"); });
  const auto rows = [&] {
    std::string text;
    run(2, [&](Transaction& t) { text = scan(t, 2, "0") + scan(t, 2, "1"); });
    return text;
  };
  Transaction one = begin_one();
  Transaction two = begin_two();
  for (const std::string_view key : {"0w", "0x", "1y"})
    set_one(one, key, std::to_string(std::stoi(get_one(one, key)) + 10));
  remove_where(two, at().two, "20");
  const bool first = !conflicts(one.commit());
  const bool second = !conflicts(two.commit());
  EXPECT_FALSE(first && second);
  EXPECT_EQ(rows(), first ? "0w=30 0x=20 1y=30 " : second ? "0x=10 " : "0w=20 0x=10 1y=20 ");
}

TEST_P(AcrossAnomalies, P4LostUpdate) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  EXPECT_EQ(get_one(one, "0x"), "10");
  EXPECT_EQ(get_two(two, "0x"), "10");
  set_one(one, "0x", "11");
  set_two(two, "0x", "12");
  const bool first = conflicts(one.commit());
  const bool second = conflicts(two.commit());
  EXPECT_TRUE(first || second);
}

TEST_P(AcrossAnomalies, GSingleReadSkew) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  EXPECT_EQ(get_one(one, "0x"), "10");
  set_two(two, "0x", "12");
  set_two(two, "1y", "18");
  EXPECT_FALSE(conflicts(two.commit()));
  const std::string y = get_one(one, "1y");
  EXPECT_TRUE(conflicts(one.commit())) << "though it only reads; it saw " << y;
}

TEST_P(AcrossAnomalies, GSingleOfWrites) {
  if (!ordered()) return;
  for (const bool finds_one : {false, true}) {
    run(0, [&](Transaction& t) {
      set(t, 0, "0w", finds_one ? "20" : "1");
      set(t, 0, "0x", "10");
      set(t, 0, "1y", "20");
    });
    Transaction one = begin_one();
    Transaction two = begin_two();
    EXPECT_EQ(get_one(one, "0x"), "10");
    set_two(two, "0x", "12");
    set_two(two, "1y", "18");
    EXPECT_FALSE(conflicts(two.commit()));
    remove_where(one, at().one, "20");
    EXPECT_TRUE(conflicts(one.commit()));
    EXPECT_EQ(now(), "12 18");
  }
}

TEST_P(AcrossAnomalies, G2ItemWriteSkew) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  for (const std::string_view key : {"0x", "1y"}) {
    (void)get_one(one, key);
    (void)get_two(two, key);
  }
  set_one(one, "0x", "11");
  set_two(two, "1y", "21");
  const bool first = conflicts(one.commit());
  const bool second = conflicts(two.commit());
  EXPECT_TRUE(first || second);
}

TEST_P(AcrossAnomalies, G2PhantomOfMissedKeys) {
  Transaction one = begin_one();
  Transaction two = begin_two();
  for (const std::string_view key : {"0new", "1new", "2new"}) {
    EXPECT_EQ(get_one(one, key), "(none)");
    EXPECT_EQ(get_two(two, key), "(none)");
  }
  EXPECT_NE(one.insert(tables_[at().one], "1new", "30"), Outcome::kAlreadyExists);
  EXPECT_NE(two.insert(tables_[at().two], "2new", "42"), Outcome::kAlreadyExists);
  const bool first = conflicts(one.commit());
  const bool second = conflicts(two.commit());
  EXPECT_TRUE(first || second);
}

TEST_P(AcrossAnomalies, G2PhantomOfRanges) {
  if (!ordered()) return;
  Transaction one = begin_one();
  Transaction two = begin_two();
  for (const std::string_view home : {"0m", "1z", "2"}) {
    EXPECT_EQ(scan(one, at().one, home), home == "0m" ? "0x=10 " : "");
    EXPECT_EQ(scan(two, at().two, home), home == "0m" ? "0x=10 " : "");
  }
  (void)one.insert(tables_[at().one], "1zz", "30");
  (void)two.insert(tables_[at().two], "2zz", "42");
  const bool first = conflicts(one.commit());
  const bool second = conflicts(two.commit());
  EXPECT_TRUE(first || second);
}

/// Leaves split after both have looked into them, by a third transaction or by one's own inserts, which are no phantoms
/// of its own. What two inserts is then in another leaf than one has seen.
TEST_P(AcrossAnomalies, G2PhantomOfLeavesThatSplit) {
  if (!ordered()) return;
  for (const std::string home : {"1", "2"}) {
    for (const bool by_one : {false, true}) {
      const std::string rest = home + (by_one ? "b" : "a");
      const auto fill = [&](Transaction& t, std::size_t node) {
        for (int i = 0; i < 40; ++i)
          EXPECT_EQ(t.insert(tables_[node], rest + std::to_string(100 + i), "v"), Outcome::kOk);
      };
      Transaction one = begin_one();
      Transaction two = begin_two();
      const std::string from = rest + "z", to = rest + "~";
      const ScanRange range{.from = from, .to = to};
      EXPECT_EQ(tests::scan_text(one, tables_[at().one], range), "");
      EXPECT_EQ(tests::scan_text(two, tables_[at().two], range), "");
      if (by_one) {
        fill(one, at().one);
      } else {
        run(2, [&](Transaction& t) { fill(t, 2); });
      }
      (void)one.insert(tables_[at().one], rest + "z3", "30");
      (void)two.insert(tables_[at().two], rest + "z4", "42");
      const bool first = conflicts(one.commit());
      const bool second = conflicts(two.commit());
      EXPECT_TRUE(first || second) << home << " " << by_one;
    }
  }
}

/// What the other inserts is in a leaf of which one knows only that it was made by its own inserts.
TEST_P(AcrossAnomalies, PhantomInALeafThatOnesOwnInsertsHaveSplit) {
  if (!ordered()) return;
  for (const std::string home : {"1", "2"}) {
    run(0, [&](Transaction& t) { set(t, 0, home + "z9", "old"); });
    Transaction one = begin_one();
    EXPECT_EQ(tests::scan_text(one, tables_[at().one], {.from = home + "z"}), home + "z9=old ");
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(one.insert(tables_[at().one], home + "a" + std::to_string(100 + i), "v"), Outcome::kOk);
    run(at().two, [&](Transaction& t) { EXPECT_EQ(t.insert(tables_[at().two], home + "z1", "30"), Outcome::kOk); });
    EXPECT_TRUE(conflicts(one.commit())) << home;
  }
}

/// In the range of a scan, before it and after it: what is inserted again may be born in the record that was deleted,
/// of which no leaf tells.
TEST_P(AcrossAnomalies, G2PhantomOfKeysThatAreDeletedAndInsertedAgain) {
  if (!ordered()) return;
  for (const std::string key : {"0m", "1m", "2m"}) {
    for (const bool deleted_before : {false, true}) {
      const auto insert = [&](std::size_t node) {
        run(node, [&](Transaction& t) { EXPECT_EQ(t.insert(tables_[node], key, "3"), Outcome::kOk); });
      };
      const auto remove = [&](std::size_t node) {
        run(node, [&](Transaction& t) { EXPECT_EQ(t.remove(tables_[node], key), Outcome::kOk); });
      };
      insert(0);
      if (deleted_before) remove(1);
      Transaction one = begin_one();
      EXPECT_EQ(tests::scan_text(one, tables_[at().one], {.from = key, .to = key + "z"}),
                deleted_before ? "" : key + "=3 ");
      if (!deleted_before) remove(at().two);
      insert(at().two);
      set_one(one, key == "0m" ? "1y" : "0x", "relies");
      const bool conflicted = conflicts(one.commit());
      EXPECT_TRUE(conflicted || !tests::asked_protocol.in_real_time) << key << " " << deleted_before;
      remove(2);
    }
  }
}

TEST_P(AcrossAnomalies, DeletedAndInsertedAgainInBetween) {
  Transaction one = begin_one();
  EXPECT_EQ(get_one(one, "1y"), "20");
  run(at().two, [&](Transaction& t) { EXPECT_EQ(t.remove(tables_[at().two], "1y"), Outcome::kOk); });
  run(1, [&](Transaction& t) { EXPECT_EQ(t.insert(tables_[1], "1y", "20"), Outcome::kOk); });
  set_one(one, "0x", "11");
  EXPECT_TRUE(conflicts(one.commit()));
}

TEST_P(AcrossAnomalies, FeketesReadOnlyTransaction) {
  run(0, [&](Transaction& t) {
    set(t, 0, "0x", "0");
    set(t, 0, "1y", "0");
  });
  Transaction two = begin_two();
  EXPECT_EQ(get_two(two, "0x"), "0");
  EXPECT_EQ(get_two(two, "1y"), "0");
  Transaction one = begin_one();
  EXPECT_EQ(get_one(one, "1y"), "0");
  set_one(one, "1y", "20");
  EXPECT_FALSE(conflicts(one.commit()));
  run(2, [&](Transaction& t) {
    EXPECT_EQ(get(t, 2, "0x"), "0");
    EXPECT_EQ(get(t, 2, "1y"), "20");
  });
  set_two(two, "0x", "-11");
  EXPECT_TRUE(conflicts(two.commit()));
}

TEST_P(AcrossAnomalies, LongFork) {
  Transaction three = begin(0);
  Transaction four = begin(1);
  EXPECT_EQ(get(four, 1, "0x"), "10");
  EXPECT_EQ(get(three, 0, "1y"), "20");
  Transaction one = begin_one();
  set_one(one, "0x", "1");
  EXPECT_FALSE(conflicts(one.commit()));
  Transaction two = begin_two();
  set_two(two, "1y", "1");
  EXPECT_FALSE(conflicts(two.commit()));
  const std::string x = get(three, 0, "0x");
  const std::string y = get(four, 1, "1y");
  const bool third = !conflicts(three.commit());
  const bool fourth = !conflicts(four.commit());
  EXPECT_FALSE(third && fourth && x == "1" && y == "1") << "the forks cannot both be";
}

/// What is done is there for whoever begins afterwards, wherever.
TEST_P(AcrossAnomalies, RealTime) {
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i);
    run(at().one, [&](Transaction& t) { set(t, at().one, i % 2 == 0 ? "0x" : "1y", value); });
    run(at().two, [&](Transaction& t) { EXPECT_EQ(get(t, at().two, i % 2 == 0 ? "0x" : "1y"), value); });
  }
}

}  // namespace
}  // namespace granary::cluster::test
