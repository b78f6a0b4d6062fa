// Hekaton's transactions, stepped on one thread, and many at once.

#include "bench/hekaton/transaction.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"

namespace granary::bench::hekaton {
namespace {

constexpr std::size_t kBytes = 8;

class Rows {
 public:
  explicit Rows(std::size_t count) : memory_(count) {
    for (auto& row : memory_) {
      row.resize((Row::bytes_for(kBytes) + 7) / 8);
      Row::make({reinterpret_cast<char*>(row.data()), row.size() * 8}, std::string(kBytes, '\0'));
    }
  }
  /// Makes the row anew, as one that is not there.
  void make_absent(std::size_t i, std::uint32_t versions) {
    Row::make_absent({reinterpret_cast<char*>(memory_[i].data()), memory_[i].size() * 8}, kBytes, versions);
  }
  Row& operator[](std::size_t i) { return *reinterpret_cast<Row*>(memory_[i].data()); }

 private:
  std::vector<std::vector<std::uint64_t>> memory_;
};

std::string text_of(std::uint64_t number) { return {reinterpret_cast<const char*>(&number), kBytes}; }

class Hekaton : public testing::TestWithParam<TimestampSource> {
 protected:
  Transaction transaction(std::uint32_t session, Isolation isolation = Isolation::kSerializable) {
    Transaction made(*shared_, session, isolation);
    made.begin();
    return made;
  }
  /// What it reads, or nothing if it has to abort.
  static std::optional<std::uint64_t> read(Transaction& t, Row& row) {
    std::uint64_t number = 0;
    if (!t.read(row, {reinterpret_cast<char*>(&number), kBytes})) return std::nullopt;
    return number;
  }
  static bool write(Transaction& t, Row& row, std::uint64_t number) {
    if (!t.claim(row, {})) return false;
    t.write(row, text_of(number));
    return true;
  }
  void put(Row& row, std::uint64_t number) {
    Transaction t = transaction(100);
    EXPECT_TRUE(write(t, row, number));
    EXPECT_EQ(t.commit(), AbortReason::kNone);
  }

  const std::unique_ptr<Shared> shared_ = std::make_unique<Shared>(GetParam());
  Rows rows_{10};
};
INSTANTIATE_TEST_SUITE_P(Sources, Hekaton,
                         testing::Values(TimestampSource::kMutex, TimestampSource::kFetchAdd,
                                         TimestampSource::kHardwareClock, TimestampSource::kLocalClock));

TEST_P(Hekaton, ReadsAtItsBeginning) {
  Transaction t = transaction(1, Isolation::kSnapshot);
  put(rows_[0], 1);
  put(rows_[0], 2);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  EXPECT_EQ(t.commit(), AbortReason::kNone);
  Transaction later = transaction(1);
  EXPECT_EQ(read(later, rows_[0]), 2u);
  EXPECT_EQ(later.commit(), AbortReason::kNone);
}

TEST_P(Hekaton, AbortsIfItsVersionIsNotKeptAnyMore) {
  Transaction t = transaction(1, Isolation::kSnapshot);
  for (std::uint64_t i = 1; i <= Row::kVersions; ++i) put(rows_[0], i);
  EXPECT_EQ(read(t, rows_[0]), std::nullopt);
  EXPECT_EQ(t.commit(), AbortReason::kReadChanged);
}

TEST_P(Hekaton, TheFirstWriterWins) {
  Transaction t1 = transaction(1), t2 = transaction(2);
  EXPECT_TRUE(write(t1, rows_[0], 1));
  EXPECT_FALSE(write(t2, rows_[0], 2));
  EXPECT_EQ(t2.commit(), AbortReason::kWriteLocked);
  EXPECT_EQ(t1.commit(), AbortReason::kNone);
  Transaction t3 = transaction(3);
  put(rows_[0], 4);
  EXPECT_FALSE(write(t3, rows_[0], 3)) << "it began before what it would overwrite";
  EXPECT_EQ(t3.commit(), AbortReason::kReadChanged);
}

TEST_P(Hekaton, SeesItsOwnWrites) {
  Transaction t = transaction(1);
  EXPECT_TRUE(write(t, rows_[0], 7));
  EXPECT_EQ(read(t, rows_[0]), 7u);
  t.abort();
  Transaction later = transaction(1);
  EXPECT_EQ(read(later, rows_[0]), 0u);
}

TEST_P(Hekaton, WriteSkewHappensAtSnapshotOnly) {
  for (const Isolation isolation : {Isolation::kSerializable, Isolation::kSnapshot}) {
    Transaction t1 = transaction(1, isolation), t2 = transaction(2, isolation);
    for (Transaction* t : {&t1, &t2}) {
      EXPECT_TRUE(read(*t, rows_[0]).has_value());
      EXPECT_TRUE(read(*t, rows_[1]).has_value());
    }
    EXPECT_TRUE(write(t1, rows_[0], 1));
    EXPECT_TRUE(write(t2, rows_[1], 1));
    EXPECT_EQ(t1.commit(), AbortReason::kNone);
    EXPECT_EQ(t2.commit() == AbortReason::kNone, isolation == Isolation::kSnapshot);
  }
}

TEST_P(Hekaton, AnInsertedRowIsThereFromItsCommitOn) {
  for (const std::uint32_t versions : {1u, Row::kVersions}) {
    rows_.make_absent(0, versions);
    Transaction t = transaction(1);
    EXPECT_TRUE(t.insert(rows_[0], text_of(7)));
    EXPECT_EQ(read(t, rows_[0]), 7u);
    EXPECT_FALSE(t.insert(rows_[0], text_of(8))) << "it is there";
    EXPECT_EQ(t.reason(), AbortReason::kNone);
    Transaction meanwhile = transaction(2);
    EXPECT_EQ(read(meanwhile, rows_[0]), std::nullopt);
    EXPECT_EQ(meanwhile.commit(), AbortReason::kNone);
    EXPECT_EQ(t.commit(), AbortReason::kNone);
    Transaction later = transaction(2);
    EXPECT_EQ(read(later, rows_[0]), 7u);
    EXPECT_FALSE(later.insert(rows_[0], text_of(9)));
    EXPECT_EQ(later.commit(), AbortReason::kNone);
  }
}

TEST_P(Hekaton, TheFirstWhoInsertsWins) {
  rows_.make_absent(0, 1);
  Transaction first = transaction(1), second = transaction(2);
  EXPECT_TRUE(first.insert(rows_[0], text_of(1)));
  EXPECT_FALSE(second.insert(rows_[0], text_of(2)));
  EXPECT_EQ(second.commit(), AbortReason::kWriteLocked);
  first.abort();
  Transaction third = transaction(2);
  EXPECT_EQ(read(third, rows_[0]), std::nullopt) << "the insert was taken back";
  EXPECT_TRUE(third.insert(rows_[0], text_of(3)));
  EXPECT_EQ(third.commit(), AbortReason::kNone);
}

/// That a row is not there holds until the reader's end, whether it was read, or a removal or update has met it.
TEST_P(Hekaton, ThatARowIsNotThereIsChecked) {
  for (const std::uint32_t versions : {1u, Row::kVersions}) {
    for (int how = 0; how < 3; ++how) {
      rows_.make_absent(0, versions);
      Transaction t = transaction(1);
      const bool found = how == 0   ? read(t, rows_[0]).has_value()
                         : how == 1 ? t.remove(rows_[0])
                                    : t.claim(rows_[0], {});
      EXPECT_FALSE(found);
      EXPECT_EQ(t.reason(), AbortReason::kNone);
      Transaction other = transaction(2);
      EXPECT_TRUE(other.insert(rows_[0], text_of(1)));
      EXPECT_EQ(other.commit(), AbortReason::kNone);
      EXPECT_EQ(t.commit(), AbortReason::kReadChanged) << how << " " << versions;
    }
  }
}

TEST_P(Hekaton, ARemovedRowIsGoneFromTheCommitOn) {
  put(rows_[0], 5);
  Transaction before = transaction(3, Isolation::kSnapshot);
  Transaction t = transaction(1);
  EXPECT_TRUE(t.remove(rows_[0]));
  EXPECT_EQ(read(t, rows_[0]), std::nullopt);
  EXPECT_FALSE(t.remove(rows_[0]));
  EXPECT_EQ(t.commit(), AbortReason::kNone);
  EXPECT_EQ(read(before, rows_[0]), 5u);
  EXPECT_EQ(before.commit(), AbortReason::kNone);
  Transaction again = transaction(2);
  EXPECT_EQ(read(again, rows_[0]), std::nullopt);
  EXPECT_TRUE(again.insert(rows_[0], text_of(6)));
  EXPECT_TRUE(again.remove(rows_[0]));
  EXPECT_TRUE(again.insert(rows_[0], text_of(7)));
  EXPECT_EQ(again.commit(), AbortReason::kNone);
  Transaction later = transaction(1);
  EXPECT_EQ(read(later, rows_[0]), 7u);
}

/// Transfers keep the sum, and whoever reads all rows sees it.
TEST_P(Hekaton, ManyAtOnceKeepTheSum) {
  constexpr std::uint32_t kThreads = 4;
  constexpr int kTurns = 5000;
  for (std::size_t i = 0; i < 10; ++i) put(rows_[i], 100);
  std::atomic<int> committed{0}, sums{0}, wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      base::Random random(me);
      Transaction t(*shared_, me, Isolation::kSerializable);
      for (int turn = 0; turn < kTurns; ++turn) {
        t.begin();
        if (me == 0) {
          std::uint64_t sum = 0;
          for (std::size_t i = 0; i < 10; ++i) sum += read(t, rows_[i]).value_or(0);
          if (t.commit() != AbortReason::kNone) continue;
          sums.fetch_add(1);
          if (sum != 1000) wrong.fetch_add(1);
          continue;
        }
        Row &from = rows_[random.below(10)], &to = rows_[random.below(10)];
        std::uint64_t number = 0;
        const std::span<char> buffer(reinterpret_cast<char*>(&number), kBytes);
        if (&from == &to) {
          t.abort();
          continue;
        }
        if (t.claim(from, buffer)) t.write(from, text_of(number - 1));
        if (t.claim(to, buffer)) t.write(to, text_of(number + 1));
        if (t.commit() == AbortReason::kNone) committed.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(committed.load(), 100);
  EXPECT_GT(sums.load(), 10);
  std::uint64_t sum = 0;
  Transaction t = transaction(1);
  for (std::size_t i = 0; i < 10; ++i) sum += read(t, rows_[i]).value_or(0);
  EXPECT_EQ(sum, 1000u);
}

}  // namespace
}  // namespace granary::bench::hekaton
