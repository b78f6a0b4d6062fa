// DrTM on Intel TSX: what the simulation cannot show, as an abort puts the thread back to where the region was opened,
// and as the hardware takes every store of the thread for the region's own. A test runs what it asks for many times, as
// regions may abort by chance.

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

  /// Which of two transactions commits first: the one that has read first, or the other one.
  enum class Order : std::uint8_t { kFirstReaderFirst, kSecondReaderFirst };

  /// Begins a transaction of each worker. Both read the counter, and then each writes one more than it has read, and
  /// commits. Returns how many have committed.
  unsigned commit_both(Worker& one, Worker& two, Order order) {
    Transaction first = one.begin();
    Transaction second = two.begin();
    const std::uint64_t seen_by_first = read(first);
    const std::uint64_t seen_by_second = read(second);
    const auto committed = [&](Transaction& t, std::uint64_t seen) {
      write_next(t, seen);
      return t.commit().committed() ? 1u : 0u;
    };
    if (order == Order::kFirstReaderFirst) {
      const unsigned earlier = committed(first, seen_by_first);
      return earlier + committed(second, seen_by_second);
    }
    const unsigned earlier = committed(second, seen_by_second);
    return earlier + committed(first, seen_by_first);
  }
  /// Counts up by two transactions at a time, in both orders, and compares the counter with what has committed.
  void lose_nothing_between(Worker& one, Worker& two) {
    std::uint64_t committed = 0;
    for (int i = 0; i < kTimes; ++i) {
      committed += commit_both(one, two, Order::kSecondReaderFirst);
      committed += commit_both(one, two, Order::kFirstReaderFirst);
    }
    EXPECT_EQ(counted(), committed);
    EXPECT_GE(committed, 2 * std::uint64_t{kTimes});
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

TEST_F(DrTmOnHardware, NothingIsLostBetweenTwoTransactionsOfAWorker) { lose_nothing_between(worker_, worker_); }

TEST_F(DrTmOnHardware, NothingIsLostBetweenTwoWorkersOfAThread) { lose_nothing_between(worker_, other_worker_); }

}  // namespace
}  // namespace granary::tests
