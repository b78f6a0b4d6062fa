// Parts of values under TicToc (tictoc_fixture.h): a read of a part holds at the times of its record, and a write of a
// part gets a time behind these. That parts are parts of their values, under every protocol: parts_test.cc. Not
// covered: logs (tests/durability/parts_test.cc), threads (tests/stress/parts_test.cc).

#include <functional>
#include <string>
#include <string_view>

#include "src/base/test_hooks.h"
#include "tests/isolation/tictoc_fixture.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

/// All that these tests read are the first three bytes of values. Of x, there are more.
class TicTocParts : public TicToc {
 protected:
  TicTocParts() { db_.put(table_, "x", "old, and more than this"); }

  std::string get(Transaction& t, std::string_view key) final {
    std::string part(3, '?');
    const GetResult got = t.get_part(table_, key, 0, part);
    return got ? part.substr(0, got.size) : std::string(name(got.outcome));
  }
  Outcome write(Transaction& t, std::size_t from, std::string_view bytes) {
    return t.update_part(table_, "x", from, bytes);
  }
  void write_alone(std::size_t from, std::string_view bytes) {
    db_.commit([&](Transaction& t) { EXPECT_EQ(write(t, from, bytes), Outcome::kOk); });
  }
};

TEST_F(TicTocParts, AReaderCommitsBeforeATransactionThatOverwroteThem) {
  expect_commit_before_overwriter([&](Transaction& t) { return write(t, 0, "new"); });
}

TEST_F(TicTocParts, AreReadInOldVersionsOfOneTime) {
  db_.pass_epochs(2);
  Transaction reader = db_.begin();
  EXPECT_EQ(get(reader, "x"), "old");
  write_alone(0, "new");
  EXPECT_EQ(get(reader, "r"), "old");
  EXPECT_TRUE(commits(reader)) << "both were the latest at the end of the epoch before";
}

TEST_F(TicTocParts, AWriterIsBehindThoseWhoHaveReadWhatItOverwrites) {
  expect_writer_behind_reader(
      "x", [&](Transaction& w) { return write(w, 0, "new"); }, [] {});
}

/// The time of a part is its record's.
TEST_F(TicTocParts, AWriterIsBehindThoseWhoHaveReadAnotherPart) {
  Transaction u = db_.begin(), r = db_.begin(), w = db_.begin();
  EXPECT_EQ(get(u, "r"), "old");
  see_late(r, "x");
  EXPECT_TRUE(commits(r));
  EXPECT_EQ(write(w, 9, "MORE"), Outcome::kOk);
  EXPECT_TRUE(commits(w));
  std::string all(20, '?');
  EXPECT_TRUE(u.get_part(table_, "x", 0, all));
  EXPECT_EQ(all, "old, and MORE than t");
  EXPECT_FALSE(commits(u));
}

TEST_F(TicTocParts, OfAVersionThatWasOverwrittenAreNotExtended) {
  Transaction r = db_.begin(), w = db_.begin();
  see_late(r, "x");
  EXPECT_EQ(get(w, "r"), "old");
  EXPECT_EQ(write(w, 0, "new"), Outcome::kOk);
  EXPECT_TRUE(commits(w));
  EXPECT_FALSE(commits(r)) << "each has read what the other overwrote";
}

TEST_F(TicTocParts, AreNotWrittenToAnotherVersion) {
  Transaction late = db_.begin();
  EXPECT_EQ(write(late, 0, "new"), Outcome::kOk);
  write_alone(9, "MORE");
  EXPECT_EQ(late.commit().reason, AbortReason::kReadChanged);
  EXPECT_EQ(db_.value(table_, "x"), "old, and MORE than this");
}

/// The transaction reads what lies between its two parts with the second one.
TEST_F(TicTocParts, OfOneTransactionAreWrittenToOneVersion) {
  Transaction late = db_.begin();
  EXPECT_EQ(write(late, 0, "new"), Outcome::kOk);
  write_alone(9, "MORE");
  EXPECT_EQ(write(late, 19, "that"), Outcome::kOk);
  EXPECT_EQ(late.commit().reason, AbortReason::kReadChanged);
  EXPECT_EQ(db_.value(table_, "x"), "old, and MORE than this");
}

/// A value of another size has taken the place of the one that the part belongs to.
TEST_F(TicTocParts, AreNotWrittenToAShorterValue) {
  Transaction late = db_.begin();
  EXPECT_EQ(write(late, 19, "that"), Outcome::kOk);
  db_.put(table_, "x", "short");
  EXPECT_EQ(late.commit().reason, AbortReason::kReadChanged);
  EXPECT_EQ(db_.value(table_, "x"), "short");
}

class TicTocPartsThatChange : public TicTocParts {
 protected:
  /// Returns what a reader sees whose record changes when it has copied the part, and before it looks at the TID again.
  std::string get_while(const std::function<void()>& change) {
    Transaction t = db_.begin();
    std::string seen;
    {
      const AtSyncPoint copied("read.copied", change);
      seen = get(t, "x");
    }
    EXPECT_TRUE(commits(t));
    return seen;
  }
};

TEST_F(TicTocPartsThatChange, AreReadAgain) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EXPECT_EQ(get_while([&] { write_alone(0, "new"); }), "new");
}

TEST_F(TicTocPartsThatChange, AreNotThereAfterARemoval) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  EXPECT_EQ(get_while([&] { db_.remove(table_, "x"); }), name(Outcome::kNotFound));
}

}  // namespace
}  // namespace granary::tests
