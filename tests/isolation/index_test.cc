// Secondary indexes under isolation (Silo 4.7): entries move with their records, in one transaction, and searches in an
// index are as serializable as searches in a table.

#include <array>

#include "tests/isolation/isolation_test.h"

namespace granary::tests {
namespace {

/// People with a town, found by town and by a unique number.
class IndexIsolation : public testing::TestWithParam<std::size_t> {
 protected:
  struct Person {
    char town[8];
    std::uint32_t number;
  };

  IndexIsolation() : db_(GetParam()), people_(db_.table("people")) {
    by_town_ =
        db_->create_index(people_, "by_town", {.parts = {{.offset = 0, .length = 8, .encoding = IndexEncoding::kText}}})
            .value();
    by_number_ =
        db_->create_index(people_, "by_number", {.parts = {value_part(&Person::number)}, .unique = true}).value();
    db_.commit([&](Transaction& t) {
      put(t, "ann", "Bonn", 1);
      put(t, "bob", "Rome", 2);
    });
  }

  static Person person(std::string_view town, std::uint32_t number) {
    Person made{{}, number};
    std::copy(town.begin(), town.end(), made.town);
    return made;
  }
  static std::string_view bytes(const Person& person) {
    return {reinterpret_cast<const char*>(&person), sizeof person};
  }
  Outcome try_put(Transaction& t, std::string_view who, std::string_view town, std::uint32_t number) {
    return t.put(people_, who, bytes(person(town, number)));
  }
  void put(Transaction& t, std::string_view who, std::string_view town, std::uint32_t number) {
    EXPECT_EQ(try_put(t, who, town, number), Outcome::kOk);
  }
  /// Where the engine may already notice a conflict; then the transaction is doomed and cannot commit.
  void put_or_lose(Transaction& t, std::string_view who, std::string_view town, std::uint32_t number) {
    const Outcome done = try_put(t, who, town, number);
    EXPECT_TRUE(done == Outcome::kOk || done == Outcome::kAborted) << name(done);
  }

  /// "ann bob ": who lives there.
  template <typename Reader>
  std::string in_town(Reader& reader, std::string_view town) {
    const std::string prefix(encode_key(std::string(town)).view());
    const std::string end = prefix + '\xff';
    std::string text;
    EXPECT_TRUE(reader.scan(by_town_, {.from = prefix, .to = end}, [&](std::string_view key, std::string_view value) {
      EXPECT_EQ(value.size(), sizeof(Person));
      text.append(key).append(" ");
      return true;
    }));
    return text;
  }
  template <typename Reader>
  std::string with_number(Reader& reader, std::uint32_t number) {
    std::array<char, sizeof(Person)> buffer;
    std::string who;
    const GetResult got = reader.get(by_number_, encode_key(number), buffer, &who);
    return got ? who : "(" + std::string(name(got.outcome)) + ")";
  }

  ManualDatabase db_;
  Table people_;
  Index by_town_, by_number_;
};
INSTANTIATE_TEST_SUITE_P(Workers, IndexIsolation, testing::Values(1, 4), workers_name);

TEST_P(IndexIsolation, ARangeBeginsBehindATownAndEndsWithOne) {
  const std::string bonn(encode_key(std::string("Bonn")).view()), rome(encode_key(std::string("Rome")).view());
  std::string text;
  Transaction t = db_.begin();
  const ScanRange range{.from = bonn, .from_inclusive = false, .to = rome, .to_inclusive = true};
  EXPECT_TRUE(t.scan(by_town_, range, [&](std::string_view key, std::string_view) {
    text.append(key).append(" ");
    return true;
  }));
  EXPECT_EQ(text, "bob ");
}

/// "ann", or the outcome: whom get() finds.
template <typename Reader>
std::string found_by(Reader& reader, const Index& index, std::string_view secondary_key) {
  std::array<char, 64> buffer;
  std::string who;
  const GetResult got = reader.get(index, secondary_key, buffer, &who);
  return got ? who : std::string(name(got.outcome));
}

TEST_P(IndexIsolation, GetsWantTheWholeSecondaryKey) {
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  db_.commit([&](Transaction& t) {
    const auto expect_both = [&](const Index& index, std::string_view secondary_key, const std::string& found) {
      EXPECT_EQ(found_by(t, index, secondary_key), found);
      EXPECT_EQ(found_by(snapshot, index, secondary_key), found);
    };
    const auto bonn = encode_key(std::string("Bonn"));
    expect_both(by_town_, bonn.view(), "ann");
    expect_both(by_town_, bonn.view().substr(0, 4), "not_found");
    expect_both(by_town_, "", "not_found");
    expect_both(by_number_, encode_key(std::uint32_t{2}), "bob");
    expect_both(by_number_, encode_key(std::uint32_t{2}).view().substr(0, 3), "not_found");
    expect_both(by_number_, "", "not_found");
  });
}

TEST_P(IndexIsolation, EntriesFollowTheirRecords) {
  db_.commit([&](Transaction& t) {
    put(t, "ann", "Rome", 5);
    EXPECT_EQ(in_town(t, "Rome"), "ann bob ") << "own effects show at once";
    EXPECT_EQ(in_town(t, "Bonn"), "");
    EXPECT_EQ(with_number(t, 1), "(not_found)");
    EXPECT_EQ(with_number(t, 5), "ann");
  });
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(in_town(t, "Rome"), "ann bob ");
    EXPECT_EQ(t.remove(people_, "bob"), Outcome::kOk);
    EXPECT_EQ(in_town(t, "Rome"), "ann ");
    EXPECT_EQ(with_number(t, 2), "(not_found)");
  });
  db_.commit([&](Transaction& t) { EXPECT_EQ(with_number(t, 2), "(not_found)"); });
}

TEST_P(IndexIsolation, AnAbortedMoveLeavesTheOldEntry) {
  Transaction t1 = db_.begin();
  put(t1, "ann", "Rome", 5);
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(in_town(t, "Bonn"), "ann ");
    EXPECT_EQ(in_town(t, "Rome"), "bob ");
  });
  t1.abort();
  db_.collect_everything();
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(in_town(t, "Bonn"), "ann ");
    EXPECT_EQ(with_number(t, 1), "ann");
    EXPECT_EQ(with_number(t, 5), "(not_found)");
  });
}

TEST_P(IndexIsolation, PhantomsInAnIndex) {
  Transaction t1 = db_.begin();
  EXPECT_EQ(in_town(t1, "Oslo"), "");
  db_.commit([&](Transaction& t) { put(t, "cid", "Oslo", 3); });
  put_or_lose(t1, "dora", "Lima", 4);
  EXPECT_FALSE(t1.commit().committed());
}

TEST_P(IndexIsolation, WriteSkewThroughAnIndex) {
  Transaction t1 = db_.begin(), t2 = db_.begin();
  EXPECT_EQ(in_town(t1, "Oslo"), "");
  EXPECT_EQ(in_town(t2, "Lima"), "");
  put_or_lose(t1, "cid", "Lima", 3);
  put_or_lose(t2, "dora", "Oslo", 4);
  const bool first = t1.commit().committed(), second = t2.commit().committed();
  EXPECT_FALSE(first && second);
}

TEST_P(IndexIsolation, ARecordThatMovedAwayIsASkewedRead) {
  Transaction t1 = db_.begin();
  EXPECT_EQ(in_town(t1, "Bonn"), "ann ");
  db_.commit([&](Transaction& t) { put(t, "ann", "Oslo", 1); });
  EXPECT_EQ(in_town(t1, "Rome"), "bob ");
  EXPECT_FALSE(t1.commit().committed());
}

TEST_P(IndexIsolation, AValueThatChangesButKeepsItsEntryIsAConflict) {
  Transaction t1 = db_.begin();
  EXPECT_EQ(in_town(t1, "Bonn"), "ann ");
  db_.commit([&](Transaction& t) { put(t, "ann", "Bonn", 7); });
  put_or_lose(t1, "dora", "Lima", 4);
  EXPECT_FALSE(t1.commit().committed());
}

TEST_P(IndexIsolation, AUniqueKeyIsTakenOnce) {
  Transaction t1 = db_.begin();
  EXPECT_NE(try_put(t1, "cid", "Oslo", 1), Outcome::kOk);
  EXPECT_EQ(t1.doom(), AbortReason::kUniqueViolation);
  const CommitResult done = t1.commit();
  EXPECT_EQ(done.reason, AbortReason::kUniqueViolation);
  EXPECT_FALSE(is_retryable(done.reason));
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(with_number(t, 1), "ann");
    EXPECT_EQ(in_town(t, "Oslo"), "") << "no partial effect";
    std::string value;
    EXPECT_EQ(t.get(people_, "cid", value), Outcome::kNotFound);
  });
}

TEST_P(IndexIsolation, TwoTransactionsTakeOneUniqueKey) {
  Transaction t1 = db_.begin(), t2 = db_.begin();
  put(t1, "cid", "Oslo", 9);
  const bool asked = try_put(t2, "dora", "Lima", 9) == Outcome::kOk;
  const bool first = t1.commit().committed();
  const bool second = t2.commit().committed() && asked;
  EXPECT_FALSE(first && second);
  EXPECT_TRUE(first || second);
}

TEST_P(IndexIsolation, SwappingUniqueKeysInOneTransaction) {
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(t.remove(people_, "ann"), Outcome::kOk);
    put(t, "bob", "Rome", 1);
    put(t, "ann", "Bonn", 2);
  });
  db_.commit([&](Transaction& t) {
    EXPECT_EQ(with_number(t, 1), "bob");
    EXPECT_EQ(with_number(t, 2), "ann");
  });
}

TEST_P(IndexIsolation, SnapshotsSeeTheIndexOfTheirTime) {
  db_.pass_snapshot_period();
  Snapshot before = db_.snapshot();
  db_.commit([&](Transaction& t) { put(t, "ann", "Rome", 5); });
  db_.commit([&](Transaction& t) { EXPECT_EQ(t.remove(people_, "bob"), Outcome::kOk); });
  db_.pass_snapshot_period();
  Snapshot after = db_.snapshot();
  for (std::size_t i = 0; i < GetParam(); ++i) db_.worker(i).collect_garbage();
  EXPECT_EQ(in_town(before, "Bonn"), "ann ");
  EXPECT_EQ(in_town(before, "Rome"), "bob ");
  EXPECT_EQ(with_number(before, 1), "ann");
  EXPECT_EQ(with_number(before, 5), "(not_found)");
  EXPECT_EQ(in_town(after, "Bonn"), "");
  EXPECT_EQ(in_town(after, "Rome"), "ann ");
  EXPECT_EQ(with_number(after, 5), "ann");
}

TEST(IndexParts, TakeHalfOfTheLargestKeyAtMost) {
  ManualDatabase db(1);
  const Table table = db.table("t");
  const auto created = [&](IndexEncoding encoding, std::uint32_t length) {
    const std::string name = std::to_string(static_cast<int>(encoding)) + " of " + std::to_string(length);
    return db->create_index(table, name, {.parts = {{.length = length, .encoding = encoding}}}).status().code();
  };
  EXPECT_EQ(created(IndexEncoding::kBytes, kMaxKeyBytes / 2), StatusCode::kOk);
  EXPECT_EQ(created(IndexEncoding::kBytes, kMaxKeyBytes / 2 + 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(created(IndexEncoding::kText, kMaxKeyBytes / 2 - 2), StatusCode::kOk) << "its end takes two bytes";
  EXPECT_EQ(created(IndexEncoding::kText, kMaxKeyBytes / 2 - 1), StatusCode::kInvalidArgument);
}

/// Bounds of a range are secondary keys, whatever primary keys stand behind them in the entries (index_range.h): the
/// same records are in it as in the range of a unique index.
TEST(IndexBounds, AreSecondaryKeysAlsoIfTheseAreNotUnique) {
  ManualDatabase db;
  const Table shared_keys = db.table("shared keys"), own_keys = db.table("own keys");
  const IndexPart first_two{.offset = 0, .length = 2};
  const std::array<Index, 2> indexes = {
      db->create_index(shared_keys, "any", {.parts = {first_two}}).value(),
      db->create_index(own_keys, "one", {.parts = {first_two}, .unique = true}).value()};
  const std::vector<std::string> values = {std::string("a\0", 2),  "aa",       "ab",      "a\xff",
                                           std::string("b\0c", 3), "\xff\xfe", "\xff\xff"};
  db.commit([&](Transaction& t) {
    for (const std::string& value : values) {
      for (const Table& table : {shared_keys, own_keys})
        EXPECT_EQ(t.put(table, "primary key of " + value, value), Outcome::kOk);
    }
  });
  const auto visited = [&](auto& reader, const Index& index, const ScanRange& range) {
    std::string text;
    EXPECT_TRUE(reader.scan(index, range, [&](std::string_view, std::string_view value) {
      text.append(value).append(" ");
      return true;
    }));
    return text;
  };
  // Whole secondary keys, parts of them, and bytes that go on behind them.
  const std::vector<std::string> bounds = {"",      "a", "aa",       "aaa",      "ab",       "ab\xff",
                                           "a\xff", "b", "\xff\xfe", "\xff\xff", "\xff\xffz"};
  db.pass_snapshot_period();
  Transaction transaction = db.worker(0).begin();
  Snapshot snapshot = db.worker(1).snapshot();
  for (const std::string& from : bounds) {
    for (const std::string& to : bounds) {
      for (unsigned kind = 0; kind < 8; ++kind) {
        const ScanRange range{.from = from,
                              .from_inclusive = (kind & 1) != 0,
                              .to = to,
                              .to_inclusive = (kind & 2) != 0,
                              .order = (kind & 4) != 0 ? Order::kDescending : Order::kAscending};
        EXPECT_EQ(visited(transaction, indexes[0], range), visited(transaction, indexes[1], range))
            << from << " " << to;
        EXPECT_EQ(visited(snapshot, indexes[0], range), visited(snapshot, indexes[1], range)) << from << " " << to;
      }
    }
  }
}

/// An application looks a row up by encode_key() of a member, and expects the order of its type.
TEST(IndexOfAMember, IsAskedByTheKeyThatItsTypeHas) {
  enum class Plain { kLow = -3, kHigh = 7 };
  enum class Small : std::uint8_t { kLow = 1, kHigh = 200 };
  struct Row {
    Plain plain;
    Small small;
    std::int16_t number;
    bool flag;
    char letters[4];
  };
  ManualDatabase db;
  const Table table = db.table("rows");
  const auto index = [&](std::string_view name, const IndexPart& part) {
    return db->create_index(table, name, {.parts = {part}, .unique = true}).value();
  };
  const Index plain = index("plain", value_part(&Row::plain)), small = index("small", value_part(&Row::small)),
              number = index("number", value_part(&Row::number)), flag = index("flag", value_part(&Row::flag)),
              letters = index("letters", value_part(&Row::letters));
  const Row low{Plain::kLow, Small::kLow, -300, false, "abc"}, high{Plain::kHigh, Small::kHigh, 300, true, "abd"};
  const auto bytes = [](const Row& row) { return std::string_view(reinterpret_cast<const char*>(&row), sizeof row); };
  db.put(table, "high", bytes(high));
  db.put(table, "low", bytes(low));
  Transaction t = db.begin();
  const auto found = [&](const Index& in, std::string_view key) {
    std::array<char, sizeof(Row)> value;
    std::string who;
    return t.get(in, key, value, &who).outcome == Outcome::kOk ? who : "(none)";
  };
  for (const auto& [who, row] : {std::pair("low", low), std::pair("high", high)}) {
    EXPECT_EQ(found(plain, encode_key(row.plain)), who);
    EXPECT_EQ(found(small, encode_key(row.small)), who);
    EXPECT_EQ(found(number, encode_key(row.number)), who);
    EXPECT_EQ(found(flag, encode_key(row.flag)), who);
    EXPECT_EQ(found(letters, encode_key(FixedString<4>(row.letters))), who);
  }
  for (const Index& in : {plain, small, number, flag, letters}) {
    std::string order;
    const auto note = [&](std::string_view key, std::string_view) { return order.append(key).append(" "), true; };
    EXPECT_TRUE(t.scan(in, {}, note));
    EXPECT_EQ(order, "low high ") << in.name();
  }
  EXPECT_TRUE(t.commit().committed());
}

}  // namespace
}  // namespace granary::tests
