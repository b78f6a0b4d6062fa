// Locks and rows of one node, and requests as they come from others. That nodes keep to them together: nodes_test.cc.

#include <gtest/gtest.h>

#include "bench/store/two_pc/work.h"
#include "src/base/random.h"
#include "tests/support/scale.h"

namespace granary::bench::two_pc {
namespace {

using WriteKind = Write::Kind;

class TwoPcRows : public testing::Test {
 protected:
  TwoPcRows() {
    rows_.parts.emplace_back(false);
    Branch branch(rows_);
    EXPECT_TRUE(finish(branch, {{key(1), WriteKind::kInsert, "one"}, {key(5), WriteKind::kInsert, "five"}}));
  }
  static RowKey key(std::uint64_t number) { return {0, 0, number}; }
  static bool prepare(Branch& branch, std::vector<Write> writes) { return branch.prepare(writes); }
  static bool finish(Branch& branch, std::vector<Write> writes) { return branch.finish(writes); }
  /// What a branch reads: "-" if the key is absent, "lost" if it is locked.
  static std::string read(Branch& branch, std::uint64_t number, bool to_write = false) {
    std::string got = "lost";
    const Wanted wanted{key(number), to_write ? 1u : 0u};
    static_cast<void>(branch.read(
        {&wanted, 1}, [&](std::size_t, bool present, std::string_view value) { got = present ? value : "-"; }));
    return got;
  }
  /// The keys in the range; {0} if it was not to be had.
  static std::vector<std::uint64_t> scan(Branch& branch, const Range& range) {
    std::vector<std::uint64_t> keys;
    const auto take = [&](std::uint64_t found, std::string_view) { keys.push_back(found); };
    return branch.scan(range, take) ? keys : std::vector<std::uint64_t>{0};
  }
  using Keys = std::vector<std::uint64_t>;

  Rows rows_;
};

TEST_F(TwoPcRows, ReadersShareAndAWriterIsAlone) {
  Branch a(rows_), b(rows_), c(rows_);
  EXPECT_EQ(read(a, 1), "one");
  EXPECT_EQ(read(b, 1), "one");
  EXPECT_FALSE(prepare(a, {{key(1), WriteKind::kUpdate, "a"}})) << "b reads it";
  b.release();
  ASSERT_TRUE(prepare(a, {{key(1), WriteKind::kUpdate, "a"}}));
  EXPECT_EQ(read(b, 1), "lost");
  EXPECT_FALSE(prepare(c, {{key(1), WriteKind::kRemove}}));
  a.commit();
  EXPECT_EQ(read(b, 1), "a");
}

TEST_F(TwoPcRows, WhatIsReadToBeWrittenIsLockedForOneAlone) {
  Branch a(rows_), b(rows_);
  EXPECT_EQ(read(a, 1, true), "one");
  EXPECT_EQ(read(a, 1), "one");
  EXPECT_EQ(read(b, 1), "lost");
  EXPECT_EQ(read(b, 1, true), "lost");
  EXPECT_TRUE(finish(a, {{key(1), WriteKind::kUpdate, "a"}}));
  EXPECT_EQ(read(b, 1, true), "a");
}

TEST_F(TwoPcRows, WhatWasPreparedIsNotThereAfterARelease) {
  Branch a(rows_), b(rows_);
  ASSERT_TRUE(prepare(a, {{key(1), WriteKind::kUpdate, "a"}, {key(2), WriteKind::kInsert, "two"}}));
  a.release();
  EXPECT_EQ(read(b, 1), "one");
  EXPECT_EQ(read(b, 2), "-");
}

TEST_F(TwoPcRows, WhoCannotFinishHoldsNothing) {
  Branch a(rows_), b(rows_);
  EXPECT_FALSE(finish(a, {{key(1), WriteKind::kUpdate, "a"}, {key(2), WriteKind::kUpdate, "there is none"}}));
  EXPECT_EQ(read(b, 1, true), "one");
}

TEST_F(TwoPcRows, AnAbsentKeyIsLockedToo) {
  Branch a(rows_), b(rows_);
  EXPECT_EQ(read(a, 3), "-");
  EXPECT_FALSE(finish(b, {{key(3), WriteKind::kInsert, "b"}}));
  a.release();
  EXPECT_EQ(rows_.parts[0].by_order.size(), 2u) << "it takes no room afterwards";
  EXPECT_TRUE(finish(b, {{key(3), WriteKind::kInsert, "b"}}));
  EXPECT_EQ(read(a, 3), "b");
}

TEST_F(TwoPcRows, ARemovedRowTakesNoRoom) {
  Branch a(rows_);
  EXPECT_TRUE(finish(a, {{key(5), WriteKind::kRemove}}));
  EXPECT_EQ(rows_.parts[0].by_order.size(), 1u);
}

TEST_F(TwoPcRows, PresenceIsWhatTheWriteExpects) {
  Branch a(rows_);
  EXPECT_FALSE(finish(a, {{key(1), WriteKind::kInsert, "a"}}));
  EXPECT_FALSE(finish(a, {{key(2), WriteKind::kUpdate, "b"}}));
  EXPECT_FALSE(finish(a, {{key(2), WriteKind::kRemove}}));
}

TEST_F(TwoPcRows, AScanMeetsNoPhantoms) {
  Branch a(rows_), b(rows_);
  EXPECT_EQ(scan(a, {.from = 0, .to = 10}), (Keys{1, 5}));
  EXPECT_FALSE(finish(b, {{key(3), WriteKind::kInsert, "b"}}));
  EXPECT_FALSE(finish(b, {{key(5), WriteKind::kRemove}}));
  EXPECT_TRUE(finish(b, {{key(10), WriteKind::kInsert, "beyond the range"}}));
  EXPECT_TRUE(prepare(a, {{key(3), WriteKind::kInsert, "a"}})) << "its own scan is not in the way";
  EXPECT_EQ(scan(b, {.from = 2, .to = 5}), Keys{0}) << "nor may others scan where a row is about to come";
  b.release();
  a.commit();
  EXPECT_EQ(scan(b, {.from = 0, .to = 10}), (Keys{1, 3, 5}));
}

TEST_F(TwoPcRows, AScanLocksOnlyAsFarAsItWent) {
  Branch a(rows_), b(rows_);
  EXPECT_EQ(scan(a, {.most = 1, .from = 0, .to = 10}), Keys{1});
  EXPECT_FALSE(finish(b, {{key(0), WriteKind::kInsert, "before the first"}}));
  EXPECT_TRUE(finish(b, {{key(2), WriteKind::kInsert, "behind it"}}));
  a.release();
  EXPECT_EQ(scan(a, {.most = 2, .from = 0, .to = 10, .backwards = 1}), (Keys{5, 2}));
  EXPECT_FALSE(finish(b, {{key(3), WriteKind::kInsert, "between"}}));
  EXPECT_TRUE(finish(b, {{key(0), WriteKind::kInsert, "not reached"}}));
}

TEST_F(TwoPcRows, RequestsThatMakeNoSenseAreRefused) {
  Branch branch(rows_);
  std::string answer;
  using Request = two_pc::Kind;
  EXPECT_FALSE(do_work(branch, Request::kAnswer, "", answer));
  EXPECT_FALSE(do_work(branch, static_cast<Request>(77), "", answer));
  EXPECT_FALSE(do_work(branch, Request::kRead, "half a key", answer));
  EXPECT_FALSE(do_work(branch, Request::kScan, "short", answer));
  std::string body = body_of_writes(std::vector<Write>{{key(1), WriteKind::kUpdate, "text"}});
  body.pop_back();
  EXPECT_FALSE(do_work(branch, Request::kPrepare, body, answer));
  EXPECT_TRUE(do_work(branch, Request::kRead, body_of_read(std::vector<Wanted>{{{9, 0, 1}}}), answer));
  EXPECT_FALSE(is_yes(answer)) << "there is no table 9";
  EXPECT_TRUE(do_work(branch, Request::kScan, body_of_scan({.from = 2, .to = 1}), answer));
  EXPECT_FALSE(is_yes(answer));
}

/// No checks but the sanitizers', and that nothing stays locked.
TEST_F(TwoPcRows, AnyBytesDoNoHarm) {
  base::Random random(1);
  for (std::uint64_t i = 0; i < tests::scaled(20'000); ++i) {
    Branch branch(rows_);
    std::string body(random.below(60), '\0'), answer;
    for (char& byte : body) byte = static_cast<char>(random.below(4) == 0 ? random.below(256) : random.below(2));
    static_cast<void>(do_work(branch, static_cast<two_pc::Kind>(random.below(10)), body, answer));
  }
  for (const auto& [number, row] : rows_.parts[0].by_order) EXPECT_TRUE(row.is_free() && row.present) << number;
  EXPECT_TRUE(rows_.parts[0].scanned.empty());
}

}  // namespace
}  // namespace granary::bench::two_pc
