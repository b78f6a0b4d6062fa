// Phantoms: what a transaction did not find must still not be there when it commits (Silo 4.6).

#include "tests/isolation/isolation_test.h"

namespace granary::tests {
namespace {

class Phantoms : public Isolation {
 protected:
  /// Where the engine may already notice the conflict; then the transaction is doomed and cannot commit.
  void insert_or_lose(Transaction& t, std::string_view key, int number) {
    const Outcome inserted = t.insert(table_, key, std::to_string(number));
    EXPECT_TRUE(inserted == Outcome::kOk || (inserted == Outcome::kAborted && !t.commit().committed()))
        << name(inserted);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, Phantoms, testing::Values(1, 4), workers_name);

bool by_three(int number) { return number % 3 == 0; }

TEST_P(Phantoms, PredicateManyPreceders) {
  Transaction t1 = begin();
  EXPECT_EQ(select(t1, [](int n) { return n == 30; }), "");
  db_.put(table_, "z", "30");
  if (select(t1, by_three).empty()) {
    commits(t1);
  } else {
    expect_conflict(t1);
  }
}

TEST_P(Phantoms, PredicateManyPrecedersWrite) {
  Transaction t1 = begin(), t2 = begin();
  for (const char* key : {"x", "y"}) write(t1, key, *read(t1, key) + 10);
  EXPECT_EQ(select(t2, [](int n) { return n == 20; }), "y=20 ");
  remove(t2, "y");
  EXPECT_NE(commits(t1), commits(t2));
}

TEST_P(Phantoms, G2BothInsertWhatTheOtherLookedFor) {
  Transaction t1 = begin(), t2 = begin();
  EXPECT_EQ(select(t1, by_three), "");
  EXPECT_EQ(select(t2, by_three), "");
  insert_or_lose(t1, "k3", 30);
  insert_or_lose(t2, "k4", 42);
  const bool first = commits(t1), second = commits(t2);
  EXPECT_FALSE(first && second);
}

TEST_P(Phantoms, G2BothMissByPointReads) {
  Transaction t1 = begin(), t2 = begin();
  EXPECT_EQ(read(t1, "a"), std::nullopt);
  EXPECT_EQ(read(t2, "b"), std::nullopt);
  insert_or_lose(t1, "b", 1);
  insert_or_lose(t2, "a", 1);
  const bool first = commits(t1), second = commits(t2);
  EXPECT_FALSE(first && second);
}

TEST_P(Phantoms, BothInsertTheSameKey) {
  Transaction t1 = begin(), t2 = begin();
  insert(t1, "z", 1);
  const Outcome second = t2.insert(table_, "z", "2");
  const bool first_committed = commits(t1);
  const bool second_committed = commits(t2) && second == Outcome::kOk;
  EXPECT_NE(first_committed, second_committed);
  EXPECT_EQ(state(), first_committed ? "x=10 y=20 z=1 " : "x=10 y=20 z=2 ");
}

/// The placeholder of the first is taken over by the second, which commits first: the leaf is then as the first left
/// it.
TEST_P(Phantoms, AMissAndThenAPutIsALostUpdateIfAnotherCommitsToThePlaceholder) {
  for (const bool by_scan : {false, true}) {
    const std::string key = by_scan ? "m" : "n";
    Transaction t1 = begin(), t2 = begin();
    if (by_scan) {
      EXPECT_EQ(select(t1, by_three), "");
    } else {
      EXPECT_EQ(read(t1, key), std::nullopt);
    }
    write(t1, key, 1);
    EXPECT_EQ(read(t2, key), std::nullopt);
    write(t2, key, 3);
    expect_commit(t2);
    expect_conflict(t1);
    EXPECT_EQ(db_.value(table_, key), "3");
    db_.remove(table_, key);
  }
}

TEST_P(Phantoms, AFailedInsertUpdateOrRemoveIsAFact) {
  for (const char* what : {"insert", "update", "remove"}) {
    db_.pass_epochs(1);  // no protocol lets the transaction be serial in the epoch of what it sees
    Transaction t1 = begin();
    const bool insert = std::string_view(what) == "insert", update = std::string_view(what) == "update";
    const Outcome failed = insert   ? t1.insert(table_, "x", "1")
                           : update ? t1.update(table_, "z", "1")
                                    : t1.remove(table_, "z");
    EXPECT_EQ(failed, insert ? Outcome::kAlreadyExists : Outcome::kNotFound) << what;
    write(t1, "y", 21);
    if (insert) {
      db_.remove(table_, "x");
    } else {
      db_.put(table_, "z", "30");
    }
    expect_conflict(t1);
    db_.commit([&](Transaction& t) {
      write(t, "x", 10);
      EXPECT_NE(t.remove(table_, "z"), Outcome::kAborted);
    });
  }
}

/// Own inserts change leaves that were scanned: that is no phantom (Silo 4.6), also when they split them.
TEST_P(Phantoms, OwnInsertsAreNoPhantoms) {
  Transaction t1 = begin();
  EXPECT_EQ(select(t1, by_three), "");
  for (int i = 0; i < 200; ++i) insert(t1, "own" + std::to_string(i), i);
  EXPECT_EQ(read(t1, "own7"), 7);
  for (int i = 0; i < 200; i += 2) insert(t1, "a long key with a common prefix " + std::to_string(i), i);
  expect_commit(t1);
}

TEST_P(Phantoms, AForeignInsertBetweenOwnInsertsIsOne) {
  for (const int before : {0, 1, 10, 100}) {
    Transaction t1 = begin();
    const std::string prefix = "p" + std::to_string(before) + "-";
    select(t1, by_three);
    for (int i = 0; i < before; ++i) insert(t1, prefix + std::to_string(i), i);
    db_.put(table_, prefix + "foreign", "1");
    for (int i = 200; i < 200 + before && t1.open(); ++i) insert_or_lose(t1, prefix + std::to_string(i), i);
    EXPECT_FALSE(commits(t1));
  }
}

TEST_P(Phantoms, AnAbortedInsertIsNeverSeen) {
  Transaction t1 = begin(), t2 = begin();
  insert(t1, "z", 30);
  EXPECT_EQ(select(t2, by_three), "");
  t1.abort();
  EXPECT_EQ(select(t2, by_three), "");
  commits(t2);
  EXPECT_EQ(state(), "x=10 y=20 ");
}

TEST_P(Phantoms, RangesThatDoNotMeetDoNotConflict) {
  for (int i = 0; i < 1000; ++i) db_.put(table_, "far" + std::to_string(1000 + i), "1");
  Transaction t1 = begin();
  EXPECT_EQ(scan_text(t1, table_, {.from = "x"}), "x=10 y=20 ");
  db_.put(table_, "far1000a", "1");
  write(t1, "y", 21);
  expect_commit(t1);
}

/// One range, one key that comes into it between scan and commit.
struct Case {
  const char* name;
  std::vector<std::string> before;  // keys that are there
  std::string from;
  std::optional<std::string> to;
  std::vector<std::string> inserted;
};

const std::string kPrefix = "0123456789abcdef";  // two layers of the trie

std::vector<std::string> numbered(const std::string& prefix, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(1000 + i));
  return keys;
}

const Case kCases[] = {
    {"EmptyTable", {}, "", std::nullopt, {"m"}},
    {"EmptyTableEmptyKey", {}, "", std::nullopt, {""}},
    {"BeforeTheFirst", {"m"}, "", std::nullopt, {"a"}},
    {"AfterTheLast", {"m"}, "", std::nullopt, {"z"}},
    {"MinusInfinityOfManyLeaves", numbered("k", 100), "", "k1001", {"a"}},
    {"PlusInfinityOfManyLeaves", numbered("k", 100), "k1099", std::nullopt, {"z"}},
    {"InAnEmptyRange", {"a", "z"}, "m", "n", {"m5"}},
    {"InAnEmptyRangeOfManyLeaves", numbered("k", 100), "k1050a", "k1050c", {"k1050b"}},
    {"LeafSplitBetween", numbered("k", 14), "k1000", "k1002", numbered("k1000x", 30)},
    {"NextLayerIsCreated", {kPrefix + "m"}, kPrefix, kPrefix + "z", {kPrefix + "n"}},
    {"NextLayerIsCreatedByADeepKey", {"m"}, kPrefix, kPrefix + "z", {kPrefix + "n"}},
    {"InALowerLayer", numbered(kPrefix, 40), kPrefix + "1010", kPrefix + "1012", {kPrefix + "1011a"}},
    {"AShorterKeyOfTheSameSlice", {"abcdefgh12"}, "abcdefgh", "abcdefgi", {"abcdefgh"}},
    {"AKeyWithZeros", {"a"}, "", std::nullopt, {std::string("a\0", 2)}},
};

class PhantomCases : public testing::TestWithParam<std::tuple<std::size_t, Order, std::size_t>> {};

TEST_P(PhantomCases, TheScanIsNoLongerTrueAndTheTransactionAborts) {
  const auto& [index, order, workers] = GetParam();
  const Case& one = kCases[index];
  ManualDatabase db(workers);
  const Table rows = db.table("rows"), other = db.table("other");
  for (const std::string& key : one.before) db.put(rows, key, "1");
  const ScanRange range{
      .from = one.from, .to = one.to ? std::optional<std::string_view>(*one.to) : std::nullopt, .order = order};
  for (const bool deleted_before : {false, true}) {
    if (deleted_before) {  // the key's record, and perhaps its leaf, stays for a while after a deletion
      for (const std::string& key : one.inserted) db.remove(rows, key);
      db.pass_epochs(1);  // no protocol lets the transaction be serial in the epoch of the deletion
    }
    Transaction t1 = db.begin();
    const std::string seen = scan_text(t1, rows, range);
    EXPECT_EQ(t1.put(other, "k", seen), Outcome::kOk);
    for (const std::string& key : one.inserted) db.put(rows, key, "2");
    EXPECT_FALSE(t1.commit().committed()) << "after seeing " << seen;
  }
  Transaction again = db.begin();
  const std::string seen = scan_text(again, rows, range);
  EXPECT_EQ(again.put(other, "k", seen), Outcome::kOk);
  EXPECT_TRUE(again.commit().committed()) << "nothing changed this time";
}

/// The same with the deletion collected in between, so that leaves are really empty or gone.
TEST_P(PhantomCases, AlsoAfterTheKeyWasDeletedAndCollected) {
  const auto& [index, order, workers] = GetParam();
  const Case& one = kCases[index];
  ManualDatabase db(workers);
  const Table rows = db.table("rows"), other = db.table("other");
  for (const std::string& key : one.before) db.put(rows, key, "1");
  for (const std::string& key : one.inserted) db.put(rows, key, "1");
  for (const std::string& key : one.inserted) db.remove(rows, key);
  db.collect_everything();
  const ScanRange range{
      .from = one.from, .to = one.to ? std::optional<std::string_view>(*one.to) : std::nullopt, .order = order};
  Transaction t1 = db.begin();
  EXPECT_EQ(t1.put(other, "k", scan_text(t1, rows, range)), Outcome::kOk);
  for (const std::string& key : one.inserted) db.put(rows, key, "2");
  EXPECT_FALSE(t1.commit().committed());
}

INSTANTIATE_TEST_SUITE_P(Ranges, PhantomCases,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(kCases)),
                                          testing::Values(Order::kAscending, Order::kDescending),
                                          testing::Values(1, 3)),
                         [](const auto& made) {
                           return std::string(kCases[std::get<0>(made.param)].name) +
                                  (std::get<1>(made.param) == Order::kAscending ? "Ascending" : "Descending") +
                                  std::to_string(std::get<2>(made.param));
                         });

}  // namespace
}  // namespace granary::tests
