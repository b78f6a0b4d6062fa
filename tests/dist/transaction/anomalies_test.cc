// Every anomaly by name with its keys on different nodes: x on node 0, y on node 1, z on node 2. Each history is run with its transactions at
// the owners of what they touch, at other nodes, and at both, since each pair conflicts by another mechanism. "One aborts" means
// that at least one gets a retryable conflict.

#include <gtest/gtest.h>

#include "tests/dist/transaction/sim_cluster.h"

namespace granary::dist::test {
namespace {

using Outcome = granary::Outcome;

/// At which nodes transactions one and two run.
struct Coordinators {
  const char* name;
  std::size_t one, two;
};
constexpr Coordinators kCoordinators[] = {{"OwnerOfXAndOwnerOfY", 0, 1},
                                          {"BothAtTheOwnerOfX", 0, 0},
                                          {"OwnerAndOther", 0, 2},
                                          {"OtherAndOwner", 2, 1},
                                          {"BothElsewhere", 2, 2}};

class AcrossAnomalies : public testing::TestWithParam<std::tuple<Coordinators, IndexKind>> {
 protected:
  AcrossAnomalies()
      : tables_(cluster_.tables("t", {.max_value_bytes = 8, .index = std::get<1>(GetParam()), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    run(0, [&](Transaction& t) {
      set(t, 0, "0x", "10");
      set(t, 0, "1y", "20");
    });
  }

  const Coordinators& at() const { return std::get<0>(GetParam()); }
  bool ordered() const { return std::get<1>(GetParam()) == IndexKind::kOrdered; }
  /// Two workers a node: transactions one and two may share one.
  Transaction begin_one() { return cluster_.node(at().one).worker(0).begin(); }
  Transaction begin_two() { return cluster_.node(at().two).worker(1).begin(); }
  Transaction begin(std::size_t node) { return cluster_.node(node).worker(2).begin(); }

  std::string get(Transaction& t, std::size_t node, std::string_view key) {
    std::string value;
    const Outcome got = t.get(tables_[node], key, value);
    return got == Outcome::kOk ? value : got == Outcome::kNotFound ? "(none)" : "(aborted)";
  }
  std::string get_one(Transaction& t, std::string_view key) { return get(t, at().one, key); }
  std::string get_two(Transaction& t, std::string_view key) { return get(t, at().two, key); }
  void set(Transaction& t, std::size_t node, std::string_view key, std::string_view value) {
    (void)t.put(tables_[node], key, value);
  }
  void set_one(Transaction& t, std::string_view key, std::string_view value) { set(t, at().one, key, value); }
  void set_two(Transaction& t, std::string_view key, std::string_view value) { set(t, at().two, key, value); }
  std::string scan(Transaction& t, std::size_t node, std::string_view home) {
    return tests::scan_text(t, tables_[node], {.from = home});
  }

  void run(std::size_t node, FunctionRef<void(Transaction&)> body) {
    Transaction t = begin(node);
    body(t);
    EXPECT_TRUE(t.commit().committed());
  }
  /// What is there now: "x y".
  std::string now() {
    std::string text;
    run(2, [&](Transaction& t) { text = get(t, 2, "0x") + " " + get(t, 2, "1y"); });
    return text;
  }
  static bool conflicts(const CommitResult& done) {
    EXPECT_TRUE(done.committed() || is_retryable(done.reason)) << name(done.reason);
    return !done.committed();
  }

  SimCluster cluster_{3, 3};
  const std::vector<Table> tables_;
};

INSTANTIATE_TEST_SUITE_P(Nodes, AcrossAnomalies,
                         testing::Combine(testing::ValuesIn(kCoordinators),
                                          testing::Values(IndexKind::kHash, IndexKind::kOrdered)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) +
                                  (std::get<1>(of.param) == IndexKind::kHash ? "Hash" : "Ordered");
                         });

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
}  // namespace granary::dist::test
