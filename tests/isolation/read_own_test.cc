// A transaction sees its own effects, each once, and nobody else sees them before it commits.

#include <array>

#include "tests/isolation/isolation_test.h"

namespace granary::tests {
namespace {

class ReadOwn : public Isolation {
 protected:
  std::string both_orders(Transaction& t) {
    const std::string forward = scan_text(t, table_);
    std::string backward;
    EXPECT_TRUE(t.scan(table_, {.order = Order::kDescending}, [&](std::string_view key, std::string_view value) {
      backward = std::string(key) + "=" + std::string(value) + " " + backward;
      return true;
    }));
    EXPECT_EQ(forward, backward);
    return forward;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ReadOwn, testing::Values(1, 4), workers_name);

TEST_P(ReadOwn, AfterOwnWrite) {
  Transaction t = begin();
  write(t, "x", 11);
  EXPECT_EQ(read(t, "x"), 11);
  EXPECT_EQ(both_orders(t), "x=11 y=20 ");
  EXPECT_EQ(state(), "x=10 y=20 ") << "others do not";
  expect_commit(t);
  EXPECT_EQ(state(), "x=11 y=20 ");
}

TEST_P(ReadOwn, AfterOwnInsert) {
  Transaction t = begin();
  insert(t, "a", 1);
  insert(t, "z", 2);
  EXPECT_EQ(read(t, "a"), 1);
  EXPECT_EQ(both_orders(t), "a=1 x=10 y=20 z=2 ");
  EXPECT_EQ(t.insert(table_, "a", "3"), Outcome::kAlreadyExists);
  EXPECT_EQ(t.update(table_, "a", "4"), Outcome::kOk);
  EXPECT_EQ(both_orders(t), "a=4 x=10 y=20 z=2 ");
  expect_commit(t);
  EXPECT_EQ(state(), "a=4 x=10 y=20 z=2 ");
}

TEST_P(ReadOwn, AfterOwnDelete) {
  Transaction t = begin();
  remove(t, "x");
  EXPECT_EQ(read(t, "x"), std::nullopt);
  EXPECT_EQ(both_orders(t), "y=20 ");
  EXPECT_EQ(t.remove(table_, "x"), Outcome::kNotFound);
  EXPECT_EQ(t.update(table_, "x", "1"), Outcome::kNotFound);
  expect_commit(t);
  EXPECT_EQ(state(), "y=20 ");
}

TEST_P(ReadOwn, UpdateTwice) {
  Transaction t = begin();
  write(t, "x", 11);
  write(t, "x", 12);
  EXPECT_EQ(read(t, "x"), 12);
  EXPECT_EQ(both_orders(t), "x=12 y=20 ");
  expect_commit(t);
  EXPECT_EQ(state(), "x=12 y=20 ");
}

TEST_P(ReadOwn, DeleteThenInsert) {
  Transaction t = begin();
  remove(t, "x");
  insert(t, "x", 11);
  EXPECT_EQ(read(t, "x"), 11);
  EXPECT_EQ(both_orders(t), "x=11 y=20 ");
  expect_commit(t);
  EXPECT_EQ(state(), "x=11 y=20 ");
}

TEST_P(ReadOwn, InsertThenDelete) {
  Transaction t = begin();
  insert(t, "m", 1);
  remove(t, "m");
  EXPECT_EQ(read(t, "m"), std::nullopt);
  EXPECT_EQ(both_orders(t), "x=10 y=20 ");
  expect_commit(t);
  EXPECT_EQ(state(), "x=10 y=20 ");
  db_.collect_everything();
  db_.put(table_, "m", "2");
  EXPECT_EQ(state(), "m=2 x=10 y=20 ");
}

TEST_P(ReadOwn, InsertDeleteInsert) {
  Transaction t = begin();
  insert(t, "m", 1);
  remove(t, "m");
  insert(t, "m", 2);
  EXPECT_EQ(both_orders(t), "m=2 x=10 y=20 ");
  expect_commit(t);
  EXPECT_EQ(state(), "m=2 x=10 y=20 ");
}

TEST_P(ReadOwn, GrowingAndShrinkingOwnValues) {
  Transaction t = begin();
  std::string value;
  for (const std::size_t size : {0u, 5u, 5000u, 1u, 100000u, 64u}) {
    const std::string written(size, 'v');
    EXPECT_EQ(t.put(table_, "x", written), Outcome::kOk);
    EXPECT_EQ(t.get(table_, "x", value), Outcome::kOk);
    EXPECT_EQ(value, written);
  }
  expect_commit(t);
  EXPECT_EQ(db_.value(table_, "x"), std::string(64, 'v'));
}

TEST_P(ReadOwn, MultiGetSeesOwnEffects) {
  Transaction t = begin();
  write(t, "x", 11);
  insert(t, "m", 1);
  remove(t, "y");
  std::array<std::array<char, 8>, 4> buffers;
  std::array<MultiGet, 4> gets{{{table_, "x", buffers[0], {}},
                                {table_, "m", buffers[1], {}},
                                {table_, "y", buffers[2], {}},
                                {table_, "none", buffers[3], {}}}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(std::string_view(buffers[0].data(), gets[0].result.size), "11");
  EXPECT_EQ(std::string_view(buffers[1].data(), gets[1].result.size), "1");
  EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
  EXPECT_EQ(gets[3].result.outcome, Outcome::kNotFound);
  expect_commit(t);
}

TEST_P(ReadOwn, WritesDuringOwnScanDoNotConfuseIt) {
  Transaction t = begin();
  std::string seen;
  EXPECT_TRUE(t.scan(table_, {}, [&](std::string_view key, std::string_view value) {
    seen.append(key).append("=").append(value).append(" ");
    EXPECT_EQ(t.put(table_, std::string(key), "0"), Outcome::kOk);
    return true;
  }));
  EXPECT_EQ(seen, "x=10 y=20 ") << "each row once";
  expect_commit(t);
  EXPECT_EQ(state(), "x=0 y=0 ");
}

TEST_P(ReadOwn, ScansWithLimitsCountOwnRowsOnly) {
  Transaction t = begin();
  remove(t, "x");
  insert(t, "a", 1);
  insert(t, "z", 2);
  EXPECT_EQ(scan_text(t, table_, {.limit = 2}), "a=1 y=20 ");
  EXPECT_EQ(scan_text(t, table_, {.order = Order::kDescending, .limit = 2}), "z=2 y=20 ");
  EXPECT_EQ(scan_text(t, table_, {.from = "a", .from_inclusive = false, .to = "z", .to_inclusive = true}), "y=20 z=2 ");
  EXPECT_EQ(scan_text(t, table_, {.limit = 0}), "");
  t.abort();
}

// --- unborn and dead records ---

TEST_P(ReadOwn, AnUncommittedInsertIsNotFoundByOthers) {
  Transaction t1 = begin(), t2 = begin();
  insert(t1, "m", 1);
  EXPECT_EQ(read(t2, "m"), std::nullopt);
  EXPECT_EQ(t2.update(table_, "m", "2"), Outcome::kNotFound);
  EXPECT_EQ(t2.remove(table_, "m"), Outcome::kNotFound);
  EXPECT_EQ(scan_text(t2, table_), "x=10 y=20 ");
  expect_commit(t2);
  expect_commit(t1);
  EXPECT_EQ(state(), "m=1 x=10 y=20 ");
}

TEST_P(ReadOwn, ThePlaceholderOfAnAbortedInsertIsNotFoundAndCanBeTakenOver) {
  Transaction t1 = begin();
  insert(t1, "m", 1);
  t1.abort();
  EXPECT_EQ(db_.value(table_, "m"), "(none)");
  db_.put(table_, "m", "2");
  db_.collect_everything();  // the aborted transaction's registration must not take it away
  EXPECT_EQ(state(), "m=2 x=10 y=20 ");
}

TEST_P(ReadOwn, ADeletedRecordIsNotFoundAndCanBeBornAgain) {
  db_.remove(table_, "x");
  Transaction t = begin();
  EXPECT_EQ(read(t, "x"), std::nullopt);
  EXPECT_EQ(t.remove(table_, "x"), Outcome::kNotFound);
  EXPECT_EQ(t.update(table_, "x", "1"), Outcome::kNotFound);
  insert(t, "x", 11);
  expect_commit(t);
  db_.collect_everything();  // neither may the deletion's
  EXPECT_EQ(state(), "x=11 y=20 ");
}

TEST_P(ReadOwn, DeletedAndCollectedKeysComeBack) {
  for (int round = 0; round < 5; ++round) {
    db_.remove(table_, "x");
    db_.collect_everything();
    EXPECT_EQ(state(), "y=20 ");
    db_.put(table_, "x", "11");
    EXPECT_EQ(state(), "x=11 y=20 ");
  }
}

TEST_P(ReadOwn, BlindInsertOverAnotherTransactionsPlaceholder) {
  Transaction t1 = begin(), t2 = begin();
  insert(t1, "m", 1);
  EXPECT_EQ(t2.put(table_, "m", "2"), Outcome::kOk);
  t1.abort();
  const bool second = commits(t2);
  EXPECT_EQ(state(), second ? "m=2 x=10 y=20 " : "x=10 y=20 ");
  db_.collect_everything();
  EXPECT_EQ(state(), second ? "m=2 x=10 y=20 " : "x=10 y=20 ");
}

}  // namespace
}  // namespace granary::tests
