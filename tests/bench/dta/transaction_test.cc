// Transactions with intervals of timestamps, stepped on one thread: who may go before whom, and who has to abort.

#include "bench/dta/transaction.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/dta/certifier.h"
#include "tests/bench/dta/rows.h"
#include "tests/support/at_sync_point.h"

namespace granary::bench::dta {
namespace {

constexpr std::size_t kBytes = 16;  // two words, so that a value can be torn

class Dta : public testing::Test {
 protected:
  Transaction transaction(std::uint32_t session) {
    Transaction made(*certifier_, session, kBytes, waiter_);
    made.begin();
    return made;
  }
  /// Returns the value that it reads, or nothing if it has to abort. Both words of a value are the same.
  static std::optional<std::uint64_t> read(Transaction& t, Row& row) {
    std::uint64_t words[2] = {};
    if (!t.read(row, {reinterpret_cast<char*>(words), kBytes})) return std::nullopt;
    EXPECT_EQ(words[0], words[1]) << "torn";
    return words[0];
  }
  /// Writes blindly.
  static void write(Transaction& t, Row& row, std::uint64_t number) {
    const std::uint64_t words[2] = {number, number};
    ASSERT_TRUE(t.claim(row, {}));
    t.write(row, {reinterpret_cast<const char*>(words), kBytes});
  }
  /// Writes one more than it reads.
  static bool add_one(Transaction& t, Row& row) {
    std::uint64_t words[2] = {};
    if (!t.claim(row, {reinterpret_cast<char*>(words), kBytes})) return false;
    ++words[0], ++words[1];
    t.write(row, {reinterpret_cast<const char*>(words), kBytes});
    return true;
  }
  void put(std::initializer_list<std::size_t> rows, std::uint64_t number) {
    Transaction t = transaction(100);
    for (const std::size_t row : rows) write(t, rows_[row], number);
    EXPECT_EQ(t.commit(), AbortReason::kNone);
  }
  std::optional<std::uint64_t> latest(std::size_t row) {
    Transaction t = transaction(101);
    const auto number = read(t, rows_[row]);
    EXPECT_EQ(t.commit(), AbortReason::kNone);
    return number;
  }

  const std::unique_ptr<Certifier> certifier_ = std::make_unique<Certifier>();
  base::BriefWaiter waiter_;
  Rows rows_{40, kBytes};
};

TEST_F(Dta, GoesBeforeWhoHasOverwrittenWhatItRead) {
  Transaction t = transaction(1);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  put({0}, 1);
  put({0}, 2);
  write(t, rows_[1], 5);
  EXPECT_EQ(t.commit(), AbortReason::kNone);
  EXPECT_EQ(latest(0), 2u);
  EXPECT_EQ(latest(1), 5u);
}

TEST_F(Dta, AbortsIfItHasReadBeforeAndBehindAnother) {
  Transaction t = transaction(1);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  put({0, 1}, 1);
  EXPECT_EQ(read(t, rows_[1]), std::nullopt) << "of row 0 it has the version before";
  EXPECT_EQ(t.reason(), AbortReason::kReadChanged);
  EXPECT_EQ(t.commit(), AbortReason::kReadChanged);
}

TEST_F(Dta, AReaderIsBehindTheWriterOfEachVersion) {
  Transaction t = transaction(1);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  put({0}, 1);  // t is before this one
  Transaction chain = transaction(2);
  EXPECT_EQ(read(chain, rows_[0]), 1u);
  write(chain, rows_[1], 1);
  EXPECT_EQ(chain.commit(), AbortReason::kNone);  // which is before this one
  EXPECT_EQ(read(t, rows_[1]), std::nullopt);
  EXPECT_EQ(t.commit(), AbortReason::kReadChanged);
}

TEST_F(Dta, AWriterIsBehindWhoHasReadTheRowAndEnded) {
  Transaction t = transaction(1);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  put({0}, 1);  // t is before this one
  Transaction reader = transaction(2);
  EXPECT_EQ(read(reader, rows_[0]), 1u);
  EXPECT_EQ(read(reader, rows_[1]), 0u);
  EXPECT_EQ(reader.commit(), AbortReason::kNone);  // which is before this one, which has not seen what t writes
  write(t, rows_[1], 7);
  EXPECT_EQ(t.commit(), AbortReason::kReadChanged);
}

TEST_F(Dta, LosesNoUpdate) {
  Transaction t1 = transaction(1), t2 = transaction(2);
  EXPECT_TRUE(add_one(t1, rows_[0]));
  EXPECT_TRUE(add_one(t2, rows_[0]));
  EXPECT_EQ(t2.commit(), AbortReason::kNone);
  EXPECT_EQ(t1.commit(), AbortReason::kReadChanged);
  EXPECT_EQ(latest(0), 1u);
}

TEST_F(Dta, HasNoWriteSkew) {
  Transaction t1 = transaction(1), t2 = transaction(2);
  for (Transaction* const t : {&t1, &t2}) {
    EXPECT_EQ(read(*t, rows_[0]), 0u);
    EXPECT_EQ(read(*t, rows_[1]), 0u);
  }
  write(t1, rows_[0], 1);
  write(t2, rows_[1], 1);
  EXPECT_EQ(t1.commit(), AbortReason::kNone);
  EXPECT_EQ(t2.commit(), AbortReason::kReadChanged);
}

TEST_F(Dta, BlindWritesDoNotConflict) {
  Transaction t1 = transaction(1), t2 = transaction(2);
  write(t1, rows_[0], 1);
  write(t2, rows_[0], 2);
  EXPECT_EQ(t2.commit(), AbortReason::kNone);
  EXPECT_EQ(t1.commit(), AbortReason::kNone);
  EXPECT_EQ(latest(0), 1u);
}

TEST_F(Dta, SeesItsOwnWrites) {
  Transaction t = transaction(1);
  write(t, rows_[0], 7);
  EXPECT_EQ(read(t, rows_[0]), 7u);
  EXPECT_TRUE(add_one(t, rows_[0]));
  EXPECT_EQ(read(t, rows_[0]), 8u);
  t.abort();
  EXPECT_EQ(latest(0), 0u);
}

TEST_F(Dta, WhoHasAbortedIsNobodysReader) {
  Transaction t = transaction(1);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  t.abort();
  t.begin();
  put({0}, 1);
  EXPECT_EQ(certifier_->end_of(1), kNever);
}

/// All of these are before one writer and behind each other, so their intervals become shorter and shorter.
TEST_F(Dta, AnIntervalIsUsedUpInTheEnd) {
  constexpr std::uint32_t kMany = 30;
  std::vector<Transaction> all;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    all.push_back(transaction(i));
    EXPECT_EQ(read(all.back(), rows_[0]), 0u);
  }
  put({0}, 1);
  std::uint32_t committed = 0;
  for (Transaction& t : all) {
    write(t, rows_[1], committed + 1);
    if (t.commit() == AbortReason::kNone) ++committed;
  }
  EXPECT_GE(committed, 10u);
  EXPECT_LT(committed, kMany);
  EXPECT_EQ(latest(1), committed);
}

TEST_F(Dta, SessionsHaveNumbersOfTheirOwn) {
  std::vector<bool> taken(Row::kSessions);
  for (std::uint32_t i = 0; i < Row::kSessions; ++i) {
    const auto session = certifier_->take_session();
    ASSERT_TRUE(session.has_value());
    EXPECT_FALSE(taken[*session]);
    taken[*session] = true;
  }
  EXPECT_EQ(certifier_->take_session(), std::nullopt);
  certifier_->give_session(Row::kSessions - 1);
  EXPECT_EQ(certifier_->take_session(), Row::kSessions - 1);
}

TEST_F(Dta, AReaderOfTheHighestNumberIsFound) {
  Transaction t = transaction(Row::kSessions - 1);
  EXPECT_EQ(read(t, rows_[0]), 0u);
  put({0}, 1);
  EXPECT_LT(certifier_->end_of(Row::kSessions - 1), kNever);
  EXPECT_EQ(t.commit(), AbortReason::kNone);
}

/// Between two certified transactions and what they store, in builds with test hooks.
class DtaInterleaving : public Dta {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without test hooks";
  }
};

TEST_F(DtaInterleaving, NobodyReadsOrOverwritesWhatIsBeingStored) {
  const tests::AtSyncPoint there("dta.certified", [&] {
    Transaction reader = transaction(1), writer = transaction(2);
    EXPECT_EQ(read(reader, rows_[0]), std::nullopt);
    EXPECT_EQ(reader.commit(), AbortReason::kRecordBusy);
    write(writer, rows_[0], 2);
    EXPECT_EQ(writer.commit(), AbortReason::kWriteLocked);
  });
  put({0}, 1);
  EXPECT_EQ(latest(0), 1u);
}

/// The reader comes too late to be found, so it must find the mark.
TEST_F(DtaInterleaving, AReaderBehindTheLookForReadersFindsTheMark) {
  Transaction t = transaction(1);
  {
    const tests::AtSyncPoint there("dta.replacing", [&] { EXPECT_EQ(read(t, rows_[0]), std::nullopt); });
    put({0, 1}, 1);
  }
  EXPECT_EQ(t.commit(), AbortReason::kRecordBusy);
}

TEST_F(DtaInterleaving, AnUpdateBehindTheLookForReadersIsNotLost) {
  Transaction t = transaction(1);
  {
    const tests::AtSyncPoint there("dta.replacing", [&] { EXPECT_FALSE(add_one(t, rows_[0])); });
    put({0}, 10);
  }
  EXPECT_EQ(t.commit(), AbortReason::kRecordBusy);
  EXPECT_EQ(latest(0), 10u);
}

TEST_F(DtaInterleaving, ARowThatIsReplacedDuringTheCopyIsNotBelieved) {
  Transaction t = transaction(1);
  EXPECT_EQ(read(t, rows_[1]), 0u);
  {
    const tests::AtSyncPoint there("dta.copying", [&] { put({0, 1}, 1); });
    EXPECT_EQ(read(t, rows_[0]), std::nullopt) << "it has row 1 from before";
  }
  EXPECT_EQ(t.commit(), AbortReason::kReadChanged);
}

TEST_F(DtaInterleaving, AWriterBehindTheCopyFindsTheReader) {
  Transaction t = transaction(1);
  {
    const tests::AtSyncPoint there("dta.copied", [&] { put({0, 1}, 1); });
    EXPECT_EQ(read(t, rows_[0]).value_or(0), 0u);
  }
  EXPECT_EQ(read(t, rows_[1]), std::nullopt);
  EXPECT_EQ(t.commit(), AbortReason::kReadChanged);
}

}  // namespace
}  // namespace granary::bench::dta
