// What two-phase locking allows below serializable, and what it prevents (two_pl_test.cc has the locks themselves).

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

Options weaker_locking_options(const std::string& protocol) {
  Options options = manual_options();
  options.protocol = protocol;
  options.htm = Htm::kOff;
  return options;
}

class TwoPhaseLockingLevels : public testing::TestWithParam<const char*> {
 protected:
  TwoPhaseLockingLevels() {
    for (const char* key : {"x", "y"}) db_.put(table_, key, "old");
  }

  Outcome get(Transaction& t, std::string_view key) {
    std::string value;
    return t.get(table_, key, value);
  }
  static bool commits(Transaction& t) { return t.commit().committed(); }

  ManualDatabase db_{4, weaker_locking_options(GetParam())};
  Table table_ = db_->create_table("rows").value();
};
INSTANTIATE_TEST_SUITE_P(Both, TwoPhaseLockingLevels, testing::Values("no_wait", "dl_detect"),
                         [](const auto& made) { return std::string(made.param); });

TEST_P(TwoPhaseLockingLevels, RepeatableReadLocksNothingThatIsOnlyRead) {
  Transaction reader = db_.begin({.isolation = Isolation::kRepeatableRead}), writer = db_.begin();
  EXPECT_EQ(get(reader, "x"), Outcome::kOk);
  for (const char* key : {"x", "y"}) EXPECT_EQ(writer.update(table_, key, "new"), Outcome::kOk);
  EXPECT_TRUE(commits(writer));
  EXPECT_EQ(get(reader, "y"), Outcome::kOk);
  EXPECT_EQ(reader.put(table_, "z", "1"), Outcome::kOk);
  EXPECT_TRUE(commits(reader)) << "read skew";
}

TEST_P(TwoPhaseLockingLevels, RepeatableReadLosesNoUpdateAndSeesOneVersion) {
  for (const bool writes : {true, false}) {
    Transaction t = db_.begin({.isolation = Isolation::kRepeatableRead});
    EXPECT_EQ(get(t, "x"), Outcome::kOk);
    db_.put(table_, "x", "new");
    EXPECT_EQ(writes ? t.put(table_, "x", "newer") : get(t, "x"), Outcome::kOk);
    EXPECT_FALSE(commits(t)) << writes;
  }
}

TEST_P(TwoPhaseLockingLevels, WriteSkewHappensAtRepeatableReadOnly) {
  for (const Isolation level : {Isolation::kRepeatableRead, Isolation::kSerializable}) {
    const bool weak = level == Isolation::kRepeatableRead;
    Transaction t1 = db_.begin({.isolation = level}), t2 = db_.begin({.isolation = level});
    for (Transaction* t : {&t1, &t2}) {
      EXPECT_EQ(get(*t, "x"), Outcome::kOk);
      EXPECT_EQ(get(*t, "y"), Outcome::kOk);
    }
    EXPECT_EQ(t1.put(table_, "x", "1"), Outcome::kOk);
    EXPECT_EQ(t2.put(table_, "y", "1"), Outcome::kOk);
    EXPECT_EQ(commits(t1), weak) << "else t2 has read x, and holds it";
    EXPECT_TRUE(commits(t2));
  }
}

TEST_P(TwoPhaseLockingLevels, PhantomsHappenAtRepeatableReadOnly) {
  for (const Isolation level : {Isolation::kRepeatableRead, Isolation::kSerializable}) {
    const bool weak = level == Isolation::kRepeatableRead;
    Transaction t = db_.begin({.isolation = level});
    const auto rows = [&] {
      std::size_t count = 0;
      (void)t.scan(table_, {}, [&](std::string_view, std::string_view) { return ++count != 0; });
      return count;
    };
    const std::size_t before = rows();
    db_.put(table_, weak ? "phantom" : "second phantom", "new");
    EXPECT_EQ(rows(), before + 1);
    EXPECT_EQ(commits(t), weak);
  }
}

TEST_P(TwoPhaseLockingLevels, ASnapshotIsSerializable) {
  Transaction t1 = db_.begin({.isolation = Isolation::kSnapshot}), t2 = db_.begin({.isolation = Isolation::kSnapshot});
  for (Transaction* t : {&t1, &t2}) {
    EXPECT_EQ(get(*t, "x"), Outcome::kOk);
    EXPECT_EQ(get(*t, "y"), Outcome::kOk);
  }
  EXPECT_EQ(t1.put(table_, "x", "1"), Outcome::kOk);
  EXPECT_EQ(t2.put(table_, "y", "1"), Outcome::kOk);
  EXPECT_FALSE(commits(t1)) << "t2 has read x, and holds it";
  EXPECT_TRUE(commits(t2));
}

}  // namespace
}  // namespace granary::tests
