// Two payments of one warehouse that overlap, under protocols that lock what is read and under others.

#include <atomic>
#include <string>
#include <thread>

#include "src/base/test_hooks.h"
#include "tests/support/scale.h"
#include "tests/tpcc/small_tpcc.h"

namespace granary::bench::tpcc {
namespace {

using Store = store::GranaryStore;

class PaymentLocks : public testing::Test {
 protected:
  void open(const std::string& protocol) {
    workload_ = std::make_unique<TpccWorkload<Store>>(small_parameters(1, 2), [=] {
      Options options = small_options();
      options.protocol = protocol;
      options.htm = Htm::kOff;
      return Store::open(options, /*split=*/false);
    });
    NoProgress progress;
    ASSERT_TRUE(workload_->load(2, progress).ok());
  }
  Worker register_worker() { return *workload_->store().database().register_worker(); }
  store::Verdict pay(Transaction& handle, std::uint32_t customer) {
    PaymentRequest request{};
    request.history = history_key(customer, ++payments_);
    request.customer = {.warehouse = 1, .district = static_cast<std::uint8_t>(customer), .customer = 7, .last = {}};
    request.amount = 1234;
    request.warehouse = 1;
    request.district = static_cast<std::uint8_t>(customer);
    PaymentReply reply;
    store::GranaryTransaction operations(handle);
    return payment<Store>(operations, workload_->tables(), request, reply);
  }

  std::unique_ptr<TpccWorkload<Store>> workload_;
  std::atomic<std::uint64_t> payments_{0};
};

TEST_F(PaymentLocks, TheSecondPaymentMeetsTheLockAtItsFirstAccess) {
  ASSERT_NO_FATAL_FAILURE(open("no_wait"));
  Worker one = register_worker(), two = register_worker();
  Transaction first = one.begin(), second = two.begin();
  EXPECT_EQ(pay(first, 1), store::Verdict::kCommit);
  EXPECT_EQ(pay(second, 2), store::Verdict::kRetry);
  EXPECT_EQ(second.doom(), AbortReason::kRecordBusy);
  EXPECT_TRUE(first.commit().committed()) << "the second payment does not share a lock with it";
  second.abort();
  expect_consistent(*workload_);
}

TEST_F(PaymentLocks, OptimisticPaymentsMeetAtTheCommit) {
  for (const char* protocol : {"silo", "tictoc"}) {
    ASSERT_NO_FATAL_FAILURE(open(protocol));
    Worker one = register_worker(), two = register_worker();
    Transaction first = one.begin(), second = two.begin();
    EXPECT_EQ(pay(first, 1), store::Verdict::kCommit) << protocol;
    EXPECT_EQ(pay(second, 2), store::Verdict::kCommit) << protocol;
    EXPECT_TRUE(first.commit().committed()) << protocol;
    EXPECT_EQ(second.commit().reason, AbortReason::kReadChanged) << protocol;
  }
}

/// Two payments that shared the lock of the warehouse, both in order to upgrade it, would be a deadlock each time.
TEST_F(PaymentLocks, PaymentsThatWaitForEachOtherAreNoDeadlock) {
  ASSERT_NO_FATAL_FAILURE(open("dl_detect"));
  std::atomic<int> circles{0}, ready{0};
  const auto pay_often = [&](std::uint32_t customer) {
    Worker worker = register_worker();
    base::set_sync_hook([&](std::string_view point) { circles += point == "two_pl.circle" ? 1 : 0; });
    ready.fetch_add(1);
    while (ready.load() < 2) std::this_thread::yield();
    for (std::uint32_t i = 0; i < tests::scaled(300); ++i) {
      EXPECT_TRUE(worker.run([&](Transaction& t) {
        if (pay(t, customer) != store::Verdict::kCommit) return;
        std::this_thread::yield();  // so that the other thread comes in between
      }));
    }
    base::set_sync_hook({});
  };
  std::thread other([&] { pay_often(2); });
  pay_often(1);
  other.join();
  EXPECT_EQ(circles.load(), 0);
  expect_consistent(*workload_);
}

}  // namespace
}  // namespace granary::bench::tpcc
