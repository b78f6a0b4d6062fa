// DrTM on Intel TSX: what the simulation cannot show, as an abort puts the thread back to where the region was opened, and as the hardware
// takes every store of the thread for the region's own. A test runs what it asks for many times, as regions may abort by chance.

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "htm/rtm.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

using Counter = TypedTable<std::uint64_t, std::uint64_t>;

class DrTmOnHardware : public testing::Test {
 protected:
  void SetUp() override {
    if (!htm::rtm_works()) GTEST_SKIP() << "no Intel TSX here";
    Options options = manual_options();
    options.protocol = "drtm";
    options.htm = Htm::kRtm;
    database_ = Database::open(options).value();
    counters_ = database_->create_table<std::uint64_t, std::uint64_t>("counters").value();
    worker_ = database_->register_worker().value();
    other_worker_ = database_->register_worker().value();
    ASSERT_TRUE(worker_.run([&](Transaction& t) { (void)t.put(counters_, 1, std::uint64_t{0}); }).committed());
  }
  /// Reads the counter and writes one more, in two steps.
  std::uint64_t read(Transaction& t) { return t.get(counters_, 1).value_or(0); }
  void write_next(Transaction& t, std::uint64_t seen) { (void)t.put(counters_, 1, seen + 1); }
  std::uint64_t counted() {
    std::uint64_t value = 0;
    EXPECT_TRUE(worker_.run([&](Transaction& t) { value = read(t); }).committed());
    return value;
  }
  std::uint64_t regions() { return database_->statistics().htm.commits; }

  /// Begins a transaction of each worker; both count, the second one before the first has written.
  unsigned commit_both(Worker& one, Worker& two) {
    Transaction first = one.begin();
    Transaction second = two.begin();
    const std::uint64_t seen = read(first);
    write_next(second, read(second));
    unsigned committed = second.commit().committed() ? 1 : 0;
    write_next(first, seen);
    committed += first.commit().committed() ? 1 : 0;
    return committed;
  }
  /// The same, but the one that commits first has also read first.
  unsigned commit_first_reader_first(Worker& one, Worker& two) {
    Transaction first = one.begin();
    Transaction second = two.begin();
    const std::uint64_t seen_by_first = read(first);
    const std::uint64_t seen_by_second = read(second);
    write_next(first, seen_by_first);
    unsigned committed = first.commit().committed() ? 1 : 0;
    write_next(second, seen_by_second);
    committed += second.commit().committed() ? 1 : 0;
    return committed;
  }

  static constexpr int kTimes = 200;
  std::unique_ptr<Database> database_;
  Counter counters_;
  Worker worker_, other_worker_;
};

TEST_F(DrTmOnHardware, ATransactionIsARegion) {
  const std::uint64_t enough = regions() + kTimes;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::uint64_t committed = 0;
  while (regions() < enough && std::chrono::steady_clock::now() < end) {
    Transaction t = worker_.begin();
    write_next(t, read(t));
    EXPECT_TRUE(t.commit().committed());
    ++committed;
  }
  EXPECT_EQ(counted(), committed);
  EXPECT_GE(regions(), enough);
}

TEST_F(DrTmOnHardware, NothingIsLostBetweenTwoTransactionsOfAWorker) {
  std::uint64_t committed = 0;
  for (int i = 0; i < kTimes; ++i) {
    committed += commit_both(worker_, worker_);
    committed += commit_first_reader_first(worker_, worker_);
  }
  EXPECT_EQ(counted(), committed);
  EXPECT_GE(committed, 2 * std::uint64_t{kTimes});
}

TEST_F(DrTmOnHardware, NothingIsLostBetweenTwoWorkersOfAThread) {
  std::uint64_t committed = 0;
  for (int i = 0; i < kTimes; ++i) {
    committed += commit_both(worker_, other_worker_);
    committed += commit_first_reader_first(worker_, other_worker_);
  }
  EXPECT_EQ(counted(), committed);
  EXPECT_GE(committed, 2 * std::uint64_t{kTimes});
}

}  // namespace
}  // namespace granary::tests
