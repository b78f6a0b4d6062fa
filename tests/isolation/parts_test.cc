// Reads and writes of parts of values: of local records without the rest under Silo and TicToc, by way of whole values
// under the other protocols and in shared tables, with the same results. TicToc's times of them: tictoc_parts_test.cc.
// Not covered: other nodes (tests/cluster/transaction),
// directories (tests/durability/parts_test.cc), threads (tests/stress/parts_test.cc).

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "src/base/test_hooks.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"
#include "tests/support/protocol_setting.h"

namespace granary::tests {
namespace {

class Parts : public testing::TestWithParam<IndexKind> {
 protected:
  Parts() { db_.put(table_, "x", kValue); }

  template <typename Reader>
  static std::string part(Reader& reader, const Table& table, std::string_view key, std::size_t from,
                          std::size_t bytes) {
    std::string buffer(bytes, '?');
    const GetResult got = reader.get_part(table, key, from, buffer);
    if (!got) return "(" + std::string(name(got.outcome)) + ")";
    EXPECT_LE(got.size, bytes);
    EXPECT_EQ(buffer.find_first_not_of('?', got.size), std::string::npos) << "nothing behind the part";
    return buffer.substr(0, got.size);
  }
  static std::string value(Transaction& t, const Table& table, std::string_view key) {
    std::string value;
    const Outcome got = t.get(table, key, value);
    return got == Outcome::kOk ? value : "(" + std::string(name(got)) + ")";
  }
  Outcome update(std::string_view key, std::size_t from, std::string_view bytes) {
    Outcome outcome = Outcome::kAborted;
    db_.commit([&](Transaction& t) { outcome = t.update_part(table_, key, from, bytes); });
    return outcome;
  }

  /// The same of a transaction that may have to give up.
  Outcome update_outcome(std::string_view key, std::size_t from, std::string_view bytes) {
    Transaction t = db_.begin();
    const Outcome outcome = t.update_part(table_, key, from, bytes);
    return outcome == Outcome::kOk && !t.commit().committed() ? Outcome::kAborted : outcome;
  }

  /// Reads five bytes of "x" in a transaction that commits. `change` happens behind the copy, where there is such a
  /// moment: reads of parts of local records pass it, and wait for nobody. The others read later.
  std::string part_read_while(const std::function<void()>& change) {
    const bool passes = base::kTestHooks && asked_protocol.reads_parts && !asked_shared_tables;
    if (!passes) change();
    std::optional<AtSyncPoint> at;
    if (passes) at.emplace("read.copied", change);
    Transaction t = db_.begin();
    std::string seen = part(t, table_, "x", 4, 5);
    at.reset();
    EXPECT_TRUE(t.commit().committed());
    return seen;
  }

  inline static const std::string kValue = "The quick brown fox jumps over the lazy dog.";

  ManualDatabase db_{3};
  Table table_ = db_.table("t", {.max_value_bytes = 200, .index = GetParam(), .expected_keys = 4});
};
INSTANTIATE_TEST_SUITE_P(Both, Parts, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& made) { return made.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Parts, AreReadFromAnyByteOn) {
  db_.commit([&](Transaction& t) {
    for (std::size_t from = 0; from <= kValue.size() + 9; ++from) {
      for (std::size_t bytes = 0; bytes < 27; ++bytes) {
        const std::string expected = from < kValue.size() ? kValue.substr(from, bytes) : "";
        ASSERT_EQ(part(t, table_, "x", from, bytes), expected) << from << " " << bytes;
      }
    }
    EXPECT_EQ(part(t, table_, "nobody", 0, 3), "(not_found)");
  });
}

TEST_P(Parts, AreWrittenAndNothingElse) {
  std::string expected = kValue;
  for (std::size_t from = 0; from <= kValue.size(); ++from) {
    for (std::size_t bytes = 0; bytes < 20 && from + bytes <= kValue.size(); ++bytes) {
      const std::string change(bytes, static_cast<char>('A' + (from * 7 + bytes) % 26));
      ASSERT_EQ(update("x", from, change), Outcome::kOk);
      expected.replace(from, bytes, change);
      ASSERT_EQ(db_.value(table_, "x"), expected) << from << " " << bytes;
    }
  }
}

TEST_P(Parts, BeyondTheValueAreNotWritten) {
  EXPECT_EQ(update("x", kValue.size(), "a"), Outcome::kPartBeyondValue);
  EXPECT_EQ(update("x", kValue.size() - 1, "ab"), Outcome::kPartBeyondValue);
  EXPECT_EQ(update("x", ~std::size_t{0}, "ab"), Outcome::kPartBeyondValue);
  EXPECT_EQ(update("x", kValue.size(), ""), Outcome::kOk);
  EXPECT_EQ(update("nobody", 0, "a"), Outcome::kNotFound);
  EXPECT_EQ(db_.value(table_, "x"), kValue);
  EXPECT_EQ(name(Outcome::kPartBeyondValue), "part_beyond_value");
}

TEST_P(Parts, OfOwnWritesAreSeen) {
  db_.put(table_, "y", kValue);
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(t.update_part(table_, "x", 4, "QUICK"), Outcome::kOk);
    EXPECT_EQ(part(t, table_, "x", 2, 9), "e QUICK b");
    EXPECT_EQ(value(t, table_, "x"), "The QUICK brown fox jumps over the lazy dog.");
    EXPECT_EQ(t.update_part(table_, "y", 4, "QUICK"), Outcome::kOk);
    EXPECT_EQ(t.update_part(table_, "y", 8, "q BROWN"), Outcome::kOk);
    EXPECT_EQ(t.update_part(table_, "y", kValue.size(), "q"), Outcome::kPartBeyondValue);
    if (GetParam() == IndexKind::kOrdered) {
      EXPECT_EQ(scan_text(t, table_, {.from = "y"}), "y=The QUICq BROWN fox jumps over the lazy dog. ");
    }
  });
  EXPECT_EQ(db_.value(table_, "x"), "The QUICK brown fox jumps over the lazy dog.");
  EXPECT_EQ(db_.value(table_, "y"), "The QUICq BROWN fox jumps over the lazy dog.");
}

TEST_P(Parts, OfOneTransactionGoTogether) {
  for (std::size_t first = 0; first + 5 <= kValue.size(); ++first) {
    for (std::size_t second = 0; second + 3 <= kValue.size(); ++second) {
      std::string expected = kValue;
      expected.replace(first, 5, "FIRST").replace(second, 3, "2nd");
      db_.commit([&](Transaction& t) {
        EXPECT_EQ(t.put(table_, "y", kValue), Outcome::kOk);
        EXPECT_EQ(t.update_part(table_, "x", first, "FIRST"), Outcome::kOk);
        EXPECT_EQ(t.update_part(table_, "x", second, "2nd"), Outcome::kOk);
        EXPECT_EQ(t.update_part(table_, "x", second, ""), Outcome::kOk);
      });
      ASSERT_EQ(db_.value(table_, "x"), expected) << first << " " << second;
      db_.put(table_, "x", kValue);
    }
  }
}

/// What lies between two parts is read with the second one, and must be of the version that the first was written to.
TEST_P(Parts, OfOneTransactionAreOfOneVersion) {
  db_.put(table_, "y", kValue);
  Transaction t = db_.begin();
  const Outcome first = t.update_part(table_, "x", 0, "ONE");
  const Outcome other = update_outcome("x", 20, "OTHER");
  const Outcome second = t.update_part(table_, "x", 40, "TWO");
  if (other == Outcome::kOk) {
    EXPECT_TRUE(first != Outcome::kOk || second != Outcome::kOk || !t.commit().committed());
    EXPECT_EQ(db_.value(table_, "x"), std::string(kValue).replace(20, 5, "OTHER"));
  } else {
    EXPECT_TRUE(t.commit().committed());
    EXPECT_EQ(db_.value(table_, "x"), std::string(kValue).replace(0, 3, "ONE").replace(40, 3, "TWO"));
  }
}

TEST_P(Parts, AndWholeValuesOfOneKeyGoTogether) {
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(t.update_part(table_, "x", 0, "part"), Outcome::kOk);
    EXPECT_EQ(t.put(table_, "x", "whole"), Outcome::kOk);
    EXPECT_EQ(t.update_part(table_, "x", 1, "HOL"), Outcome::kOk);
    EXPECT_EQ(t.insert(table_, "new", "0123456789"), Outcome::kOk);
    EXPECT_EQ(t.update_part(table_, "new", 3, "abc"), Outcome::kOk);
    EXPECT_EQ(part(t, table_, "new", 2, 5), "2abc6");
  });
  EXPECT_EQ(db_.value(table_, "x"), "wHOLe");
  EXPECT_EQ(db_.value(table_, "new"), "012abc6789");
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(t.update_part(table_, "x", 0, "part"), Outcome::kOk);
    EXPECT_EQ(t.remove(table_, "x"), Outcome::kOk);
    EXPECT_EQ(t.update_part(table_, "x", 0, "part"), Outcome::kNotFound);
    EXPECT_EQ(part(t, table_, "x", 0, 5), "(not_found)");
  });
  EXPECT_EQ(db_.value(table_, "x"), "(none)");
}

TEST_P(Parts, OfManyAreReadTogether) {
  db_.put(table_, "y", "0123456789");
  db_.pass_snapshot_period();
  std::array<std::array<char, 5>, 5> rooms;
  const auto get = [&](auto& reader) {
    std::array<MultiGet, 5> gets;
    for (std::size_t i = 0; i < gets.size(); ++i)
      gets[i] = {.table = table_, .key = i % 2 == 0 ? "x" : "y", .buffer = rooms[i], .result = {}, .part_from = 4};
    gets[2].key = "nobody";
    gets[3].part_from = 8;
    gets[4].part_from = MultiGet::kWhole;
    EXPECT_EQ(reader.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(std::string_view(rooms[1].data(), gets[1].result.size), "45678");
    EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
    EXPECT_EQ(std::string_view(rooms[3].data(), gets[3].result.size), "89");
    EXPECT_EQ(gets[4].result.outcome, Outcome::kBufferTooSmall);
    return std::string(rooms[0].data(), gets[0].result.size);
  };
  Snapshot snapshot = db_.snapshot();
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(get(t), "quick");
    EXPECT_EQ(t.update_part(table_, "x", 5, "UICK"), Outcome::kOk);
    EXPECT_EQ(get(t), "qUICK");
  });
  EXPECT_EQ(get(snapshot), "quick");
}

/// A transaction that writes a part relies on the value that the part belongs to.
TEST_P(Parts, OfAValueThatHasChangedAreNotWritten) {
  for (const std::string other : {"short", "The QUICK brown fox jumps over the lazy dog.", ""}) {
    db_.put(table_, "x", kValue);
    Transaction late = db_.begin(), soon = db_.begin();
    const bool wrote = late.update_part(table_, "x", 20, "JUMPS") == Outcome::kOk;
    const Outcome put = other.empty() ? soon.remove(table_, "x") : soon.put(table_, "x", other);
    const bool changed = put == Outcome::kOk && soon.commit().committed();
    const bool committed = wrote && late.commit().committed();
    EXPECT_FALSE(changed && committed);
    if (!committed) late.abort();
    if (!changed) soon.abort();
    std::string expected = kValue;
    if (changed) expected = other.empty() ? "(none)" : other;
    if (committed) expected.replace(20, 5, "JUMPS");
    EXPECT_EQ(db_.value(table_, "x"), expected);
  }
}

TEST_P(Parts, OneOfTwoAtATimeIsWritten) {
  Transaction one = db_.begin(), two = db_.begin();
  const bool first = one.update_part(table_, "x", 0, "one") == Outcome::kOk;
  const bool second = two.update_part(table_, "x", 4, "two") == Outcome::kOk;
  const int committed = (first && one.commit().committed() ? 1 : 0) + (second && two.commit().committed() ? 1 : 0);
  EXPECT_LE(committed, 1);
}

/// Nobody loses a part that another transaction has written, also below serializable.
TEST_P(Parts, AreNotLost) {
  for (const granary::Isolation level :
       {granary::Isolation::kSerializable, granary::Isolation::kSnapshot, granary::Isolation::kRepeatableRead}) {
    db_.put(table_, "x", kValue);
    Transaction late = db_.begin({.isolation = level});
    const Outcome first = late.update_part(table_, "x", 0, "LATE");
    const Outcome other = update_outcome("x", 20, "OTHER");
    const bool committed = first == Outcome::kOk && late.commit().committed();
    EXPECT_FALSE(committed && other == Outcome::kOk);
    std::string expected = kValue;
    if (committed) expected.replace(0, 4, "LATE");
    if (other == Outcome::kOk) expected.replace(20, 5, "OTHER");
    EXPECT_EQ(db_.value(table_, "x"), expected);
  }
}

TEST_P(Parts, OfTwoVersionsAreNotReadByOneTransaction) {
  for (const granary::Isolation level :
       {granary::Isolation::kSerializable, granary::Isolation::kSnapshot, granary::Isolation::kRepeatableRead}) {
    Transaction t = db_.begin({.isolation = level});
    static_cast<void>(part(t, table_, "x", 0, 3));
    const bool changed = update_outcome("x", 20, "OTHER") == Outcome::kOk;
    static_cast<void>(part(t, table_, "x", 40, 3));
    EXPECT_FALSE(t.commit().committed() && changed);
  }
}

TEST_P(Parts, KeepTheOldValueForSnapshots) {
  db_.pass_snapshot_period();
  Snapshot before = db_.snapshot();
  EXPECT_EQ(update("x", 4, "QUICK"), Outcome::kOk);
  std::string seen;
  EXPECT_EQ(before.get(table_, "x", seen), Outcome::kOk);
  EXPECT_EQ(seen, kValue);
  before.finish();
  db_.pass_snapshot_period();
  Snapshot after = db_.snapshot();
  EXPECT_EQ(after.get(table_, "x", seen), Outcome::kOk);
  EXPECT_EQ(seen, "The QUICK brown fox jumps over the lazy dog.");
}

TEST_P(Parts, AreReadBySnapshots) {
  db_.pass_snapshot_period();
  Snapshot before = db_.snapshot();
  EXPECT_EQ(update("x", 4, "QUICK"), Outcome::kOk);
  db_.pass_snapshot_period();
  Snapshot after = db_.snapshot();
  db_.put(table_, "x", "short");
  db_.pass_snapshot_period();
  Snapshot last = db_.snapshot();
  db_.remove(table_, "x");
  const std::string changed = std::string(kValue).replace(4, 5, "QUICK");
  const std::pair<Snapshot*, std::string> expected[] = {{&before, kValue}, {&after, changed}, {&last, "short"}};
  for (const auto& [snapshot, value] : expected) {
    for (std::size_t from = 0; from <= kValue.size() + 9; ++from) {
      for (std::size_t bytes = 0; bytes < 20; ++bytes) {
        const std::string part_of_it = from < value.size() ? value.substr(from, bytes) : "";
        ASSERT_EQ(part(*snapshot, table_, "x", from, bytes), part_of_it) << from << " " << bytes;
      }
    }
    EXPECT_EQ(part(*snapshot, table_, "nobody", 0, 3), "(not_found)");
    snapshot->finish();
    EXPECT_EQ(part(*snapshot, table_, "x", 0, 3), "(finished)");
  }
  db_.pass_snapshot_period();
  Snapshot behind = db_.snapshot();
  EXPECT_EQ(part(behind, table_, "x", 0, 3), "(not_found)") << "it is removed";
}

TEST_P(Parts, AreReadAsTheyAreInTheEnd) {
  EXPECT_EQ(part_read_while([&] { EXPECT_EQ(update("x", 4, "QUICK"), Outcome::kOk); }), "QUICK");
}

TEST_P(Parts, OfARecordThatIsRemovedMeanwhileAreNotThere) {
  EXPECT_EQ(part_read_while([&] { db_.remove(table_, "x"); }), "(not_found)");
}

TEST_P(Parts, OfTypesAreTheirMembers) {
  struct Row {
    std::int64_t balance;
    char name[13];
    std::int32_t payments;
  };
  const auto rows = db_->create_table<std::uint32_t, Row>("rows").value();
  db_.commit([&](Transaction& t) { EXPECT_EQ(t.put(rows, 7, Row{100, "Ada", 3}), Outcome::kOk); });
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(t.get_part(rows, 7, &Row::payments), 3);
    EXPECT_EQ(t.update_part(rows, 7, &Row::balance, -5), Outcome::kOk);
    EXPECT_EQ(t.get_part(rows, 8, &Row::payments), std::nullopt);
  });
  db_.commit([&](Transaction& t) {
    const auto row = t.get(rows, 7);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->balance, -5);
    EXPECT_STREQ(row->name, "Ada");
    EXPECT_EQ(row->payments, 3);
  });
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  db_.commit([&](Transaction& t) { EXPECT_EQ(t.update_part(rows, 7, &Row::balance, 6), Outcome::kOk); });
  EXPECT_EQ(snapshot.get_part(rows, 7, &Row::balance), -5);
  EXPECT_EQ(snapshot.get_part(rows, 8, &Row::balance), std::nullopt);
}

}  // namespace
}  // namespace granary::tests
