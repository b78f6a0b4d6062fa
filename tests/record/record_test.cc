// Records: header fields, locking, stable reads, version chains. Threads: tests/record/stable_read_stress_test.cc.

#include "src/record/record.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "src/base/waiter.h"
#include "src/record/stable_read.h"
#include "tests/record/record_box.h"

namespace granary::record {
namespace {

TEST(Record, SizeAndIncarnationShareAWord) {
  RecordBox box(100);
  box->size_word = std::uint64_t{77} << kSizeBits;
  box->set_size(kSizeMask);
  EXPECT_EQ(box->size(), kSizeMask);
  box->set_size(3);
  EXPECT_EQ(box->size(), 3u);
  EXPECT_EQ(box->size_word >> kSizeBits, 77u) << "the incarnation stays";
}

TEST(Record, LockNeedsTheExpectedWord) {
  RecordBox box(8);
  box.set(make_tid(5, 1) | kLatest, "a");
  EXPECT_FALSE(box->try_lock(make_tid(5, 2) | kLatest));
  EXPECT_TRUE(box->try_lock(make_tid(5, 1) | kLatest));
  EXPECT_TRUE(is_locked(box->tid()));
  EXPECT_FALSE(box->try_lock(make_tid(5, 1) | kLatest));
  box->unlock_unchanged();
  EXPECT_EQ(box->tid(), make_tid(5, 1) | kLatest);
}

TEST(Record, BytesAreWholeWords) {
  EXPECT_EQ(record_bytes(0), 24u);
  EXPECT_EQ(record_bytes(1), 32u);
  EXPECT_EQ(record_bytes(8), 32u);
  EXPECT_EQ(record_bytes(100), 128u);
}

class StableReadTest : public testing::Test {
 protected:
  StableRead read(const Record& record, std::size_t room = 200) {
    buffer_.assign(room, '#');
    return read_stable(record, buffer_.data(), room, waiter_);
  }
  StableRead read_at(const Record& record, std::uint64_t snapshot) {
    buffer_.assign(200, '#');
    return read_snapshot(record, snapshot, buffer_.data(), buffer_.size(), waiter_);
  }
  std::string copied(const StableRead& read) const { return buffer_.substr(0, read.size); }

  base::ThreadWaiter waiter_;
  std::string buffer_;
};

TEST_F(StableReadTest, CopiesEverySizeExactly) {
  for (std::size_t size = 0; size <= 150; ++size) {
    RecordBox box(size);
    const std::string value(size, static_cast<char>('a' + size % 26));
    box.set(make_tid(1, 1) | kLatest, value);
    const StableRead got = read(*box, size);
    EXPECT_EQ(got.state, ReadState::kValue);
    EXPECT_EQ(got.tid, make_tid(1, 1) | kLatest);
    EXPECT_EQ(copied(got), value);
  }
}

TEST_F(StableReadTest, TooSmallABufferStaysUntouched) {
  RecordBox box(100);
  box.set(make_tid(1, 1) | kLatest, std::string(100, 'x'));
  const StableRead got = read(*box, 99);
  EXPECT_EQ(got.state, ReadState::kTooSmall);
  EXPECT_EQ(got.size, 100u);
  EXPECT_EQ(buffer_, std::string(99, '#'));
}

TEST_F(StableReadTest, AbsentReplacedAndLockedAreTold) {
  RecordBox box(8);
  box.set(make_tid(1, 1) | kLatest | kAbsent, "");
  EXPECT_EQ(read(*box).state, ReadState::kMissing);
  EXPECT_EQ(read_tid(*box, waiter_).state, ReadState::kMissing);
  box.set(make_tid(1, 1), "a");
  EXPECT_EQ(read(*box).state, ReadState::kReplaced);
  EXPECT_EQ(read_tid(*box, waiter_).state, ReadState::kReplaced);
  box.set(make_tid(1, 1) | kLatest | kLocked, "a");
  EXPECT_EQ(read(*box).state, ReadState::kBusy) << "waits, but not for ever";
  EXPECT_EQ(read_tid(*box, waiter_).state, ReadState::kBusy);
}

TEST_F(StableReadTest, ASnapshotFindsItsVersionInTheChain) {
  RecordBox first(8), second(8), head(8);
  first.set(make_tid(3, 1), "one");
  second.set(make_tid(12, 1), "two");
  head.set(make_tid(27, 9) | kLatest, "three");
  second->set_previous(&*first);
  head->set_previous(&*second);
  EXPECT_EQ(copied(read_at(*head, 40)), "three");
  EXPECT_EQ(copied(read_at(*head, 28)), "three");
  EXPECT_EQ(copied(read_at(*head, 27)), "two") << "sees epochs below its own only";
  EXPECT_EQ(copied(read_at(*head, 13)), "two");
  EXPECT_EQ(copied(read_at(*head, 12)), "one");
  EXPECT_EQ(read_at(*head, 3).state, ReadState::kMissing) << "before its birth";
}

TEST_F(StableReadTest, ASnapshotSeesDeletionsAndBirthsInTheChain) {
  RecordBox born(8), deleted(8), head(8);
  born.set(make_tid(3, 1), "one");
  deleted.set(make_tid(12, 1) | kAbsent, "");
  deleted->set_previous(&*born);
  head.set(make_tid(27, 1) | kLatest, "again");
  head->set_previous(&*deleted);
  EXPECT_EQ(copied(read_at(*head, 10)), "one");
  EXPECT_EQ(read_at(*head, 20).state, ReadState::kMissing);
  EXPECT_EQ(copied(read_at(*head, 30)), "again");
}

TEST_F(StableReadTest, ASnapshotNeedsNoLockedHead) {
  RecordBox old(8), head(8);
  old.set(make_tid(3, 1), "one");
  head.set(make_tid(27, 1) | kLatest | kLocked, "half");
  head->set_previous(&*old);
  EXPECT_EQ(copied(read_at(*head, 10)), "one");
}

}  // namespace
}  // namespace granary::record
