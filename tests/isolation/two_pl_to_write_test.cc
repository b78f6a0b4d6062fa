// Two-phase locking where a transaction says with its first access that it will write the record: the lock is exclusive
// from then on, and has not to be upgraded.

#include <string>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

Options with_protocol(const std::string& protocol) {
  Options options = manual_options();
  options.protocol = protocol;
  options.htm = Htm::kOff;
  return options;
}

class TwoPhaseLockingToWrite : public testing::TestWithParam<const char*> {
 protected:
  TwoPhaseLockingToWrite() {
    for (const char* key : {"x", "y"}) db_.put(table_, key, "old");
  }
  Outcome get(Transaction& t, std::string_view key) {
    std::string value;
    return t.get(table_, key, value);
  }
  static bool commits(Transaction& t) { return t.commit().committed(); }

  ManualDatabase db_{4, with_protocol(GetParam())};
  Table table_ = db_->create_table("rows").value();
};
INSTANTIATE_TEST_SUITE_P(Both, TwoPhaseLockingToWrite, testing::Values("no_wait", "dl_detect"),
                         [](const auto& made) { return std::string(made.param); });

/// A lock that a read has taken shared could not be upgraded while another transaction shares it.
TEST_P(TwoPhaseLockingToWrite, ARecordThatWillBeWrittenIsNotReadMeanwhile) {
  using Read = Outcome (*)(Transaction&, const Table&, std::span<char>);
  const Read reads[] = {
      [](Transaction& t, const Table& table, std::span<char> to) { return t.get_to_write(table, "x", to).outcome; },
      [](Transaction& t, const Table& table, std::span<char> to) {
        MultiGet both[] = {{.table = table, .key = "y", .buffer = to, .result = {}},
                           {.table = table, .key = "x", .buffer = to, .result = {}, .will_write = true}};
        return t.multi_get(both);
      },
      [](Transaction& t, const Table& table, std::span<char>) { return t.update_part(table, "x", 0, "O"); },
  };
  char bytes[8];
  const std::span<char> room(bytes);
  for (const Read read_to_write : reads) {
    Transaction writer = db_.begin(), reader = db_.begin(), rival = db_.begin();
    EXPECT_EQ(read_to_write(writer, table_, room), Outcome::kOk);
    EXPECT_EQ(get(reader, "y"), Outcome::kOk) << "only one record is locked exclusively";
    EXPECT_EQ(get(reader, "x"), Outcome::kAborted);
    EXPECT_EQ(reader.commit().reason, AbortReason::kRecordBusy);
    EXPECT_EQ(read_to_write(rival, table_, room), Outcome::kAborted);
    EXPECT_EQ(writer.put(table_, "x", "new"), Outcome::kOk);
    EXPECT_TRUE(commits(writer)) << "no other transaction holds the lock";
  }
  Transaction missing = db_.begin();
  EXPECT_EQ(missing.get_to_write(table_, "never", room).outcome, Outcome::kNotFound);
  EXPECT_TRUE(commits(missing));
}

/// A row of a table with an index is read before it is written, to move its index entry.
TEST_P(TwoPhaseLockingToWrite, AnIndexedRowIsLockedExclusivelyByItsFirstAccess) {
  const Table indexed = db_->create_table("indexed").value();
  ASSERT_TRUE(
      db_->create_index(indexed, "by_value", {.parts = {{.offset = 0, .length = 1, .encoding = IndexEncoding::kText}}})
          .ok());
  db_.put(indexed, "x", "old");
  Transaction writer = db_.begin(), rival = db_.begin();
  EXPECT_EQ(writer.put(indexed, "x", "new"), Outcome::kOk);
  EXPECT_EQ(rival.put(indexed, "x", "other"), Outcome::kAborted);
  EXPECT_TRUE(commits(writer));
}

/// The optimistic protocols lock nothing at such a read: the transaction that commits first wins.
TEST(GetToWrite, LocksNothingUnderOptimisticProtocols) {
  for (const char* protocol : {"silo", "tictoc"}) {
    ManualDatabase db(4, with_protocol(protocol));
    const Table table = db->create_table("rows").value();
    db.put(table, "x", "old");
    char room[8];
    Transaction first = db.begin(), second = db.begin();
    for (Transaction* t : {&first, &second}) EXPECT_EQ(t->get_to_write(table, "x", room).outcome, Outcome::kOk);
    EXPECT_EQ(second.put(table, "x", "new"), Outcome::kOk);
    EXPECT_TRUE(second.commit().committed()) << protocol;
    EXPECT_EQ(first.put(table, "x", "other"), Outcome::kOk);
    EXPECT_EQ(first.commit().reason, AbortReason::kReadChanged) << protocol;
  }
}

}  // namespace
}  // namespace granary::tests
