#pragma once
// The fixture of TicToc's tests on one node. In most of these tests a reader R commits at a late time of its epoch,
// since it has read a record that was changed often; a writer W then changes what R saw, and must get a later time
// still. U tells whether it did: it has seen what R overwrites as it was before, and what W wrote, so it is serial
// after W and before R, which is before W.

#include <string>
#include <string_view>

#include "src/cc/protocols.h"
#include "src/db/engine.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"
#include "tests/support/manual_database.h"

namespace granary::tests {

inline Options tictoc_options() {
  Options options = manual_options();
  options.protocol = "tictoc";
  options.htm = Htm::kOff;
  return options;
}

class TicToc : public testing::Test {
 protected:
  explicit TicToc(const Options& options = tictoc_options(), const TableOptions& table = {})
      : db_(4, options),
        table_(db_->create_table("rows", table).value()) {
    db_.put(table_, "x", "old");
    db_.put(table_, "gone", "old");
    write_rows_of_this_epoch();
  }

  virtual std::string get(Transaction& t, std::string_view key) {
    std::string value;
    const Outcome got = t.get(table_, key, value);
    return got == Outcome::kOk ? value : std::string(name(got));
  }
  /// R's part: what it sees of a key holds at a late time, at which it overwrites "r".
  void see_late(Transaction& r, std::string_view key) {
    get(r, key);
    get(r, "hot");
    EXPECT_EQ(r.put(table_, "r", "new"), Outcome::kOk);
  }
  static bool commits(Transaction& t) { return t.commit().committed(); }

  /// R has seen the key at a late time and commits. Then `meanwhile` happens, and W's change of the key, after which
  /// its value is "new".
  void expect_writer_behind_reader(std::string_view key, FunctionRef<Outcome(Transaction&)> change,
                                   FunctionRef<void()> meanwhile) {
    Transaction u = db_.begin(), r = db_.begin(), w = db_.begin();
    EXPECT_EQ(get(u, "r"), "old");
    see_late(r, key);
    EXPECT_TRUE(commits(r));
    meanwhile();
    EXPECT_EQ(change(w), Outcome::kOk);
    EXPECT_TRUE(commits(w));
    EXPECT_EQ(get(u, key), "new");
    EXPECT_FALSE(commits(u));
  }
  void expect_insert_behind_miss(std::string_view key, FunctionRef<void()> meanwhile) {
    expect_writer_behind_reader(
        key, [&](Transaction& w) { return w.insert(table_, key, "new"); }, meanwhile);
  }
  /// A reader commits though another transaction has overwritten x by `write` since, which Silo does not allow.
  void expect_commit_before_overwriter(FunctionRef<Outcome(Transaction&)> write) {
    Transaction reader = db_.begin(), writer = db_.begin();
    EXPECT_EQ(get(reader, "x"), "old");
    EXPECT_EQ(write(writer), Outcome::kOk);
    EXPECT_TRUE(commits(writer));
    EXPECT_EQ(reader.put(table_, "y", "1"), Outcome::kOk);
    EXPECT_TRUE(commits(reader)) << "which Silo aborts";
  }
  record::Record& record_x() { return *record::record_of(table_.core()->index().find("x").value); }
  /// Returns what a check of x's version says, at a time so many epochs ahead.
  AbortReason validate_x(epoch::Epoch ahead) {
    record::Record& x = record_x();
    cc::AccessSet access;
    access.reads.push_back({&x, record::unlocked(x.tid())});
    return cc::validate_now(access, db_.worker().core()->state(), record::make_tid(db_->current_epoch() + ahead, 5));
  }
  /// The rows that R overwrites, and that make its time a late one, are written in the present epoch.
  void write_rows_of_this_epoch() {
    for (int i = 0; i < 5; ++i) db_.put(table_, "r", "old");
    for (int i = 0; i < 100; ++i) db_.put(table_, "hot", std::to_string(i));
  }

  ManualDatabase db_;
  Table table_;
};

inline Options with(bool Options::*optimization) {
  Options options = tictoc_options();
  options.*optimization = true;
  return options;
}

/// The paper's Figure 3. R extends the version that A has read to a late time, and W ends it behind that; A's own time
/// is in between.
class TicTocHistory : public TicToc {
 protected:
  explicit TicTocHistory(const Options& options = with(&Options::tictoc_history)) : TicToc(options) {
    db_.put(table_, "x", "old");
    for (int i = 0; i < 10; ++i) db_.put(table_, "mid", "1");
  }
  /// Whether A commits at the time of this key.
  bool commits_at_time_of(std::string_view key) {
    Transaction a = db_.begin(), r = db_.begin();
    EXPECT_EQ(get(a, "x"), "old");
    see_late(r, "x");
    EXPECT_TRUE(commits(r));
    db_.put(table_, "x", "new");
    for (int i = 0; key == "later" && i < 200; ++i) db_.put(table_, key, "1");
    get(a, key);
    EXPECT_EQ(a.put(table_, "a", "1"), Outcome::kOk);
    return commits(a);
  }
};

}  // namespace granary::tests
