// Whole runs on threads, every store and variant, judged by the consistency conditions. Speed is not tested.

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/tpcc/small_tpcc.h"

namespace granary::bench::tpcc {
namespace {

using Mix = std::array<double, kTypes>;

struct Totals {
  std::array<std::uint64_t, kTypes> committed{};
  std::uint64_t rolled_back = 0, gave_up = 0;
};

/// Which types have committed anywhere. Any thread writes and reads; relaxed, as each flag stands for itself.
class Committed {
 public:
  explicit Committed(const Mix& mix) : mix_(mix) {}
  void note(std::size_t type) { of_[type].store(true, std::memory_order_relaxed); }
  /// Whether all types of the mix have.
  bool all() const {
    for (std::size_t type = 0; type < kTypes; ++type) {
      if (mix_[type] != 0 && !of_[type].load(std::memory_order_relaxed)) return false;
    }
    return true;
  }

 private:
  const Mix& mix_;
  std::array<std::atomic<bool>, kTypes> of_{};
};

/// Runs for so long, and goes on until each type has committed: on a busy machine that may take longer.
template <store::Store S>
Totals run(TpccWorkload<S>& workload, std::uint32_t workers, std::chrono::milliseconds time,
           const Mix& must_commit = {}) {
  constexpr std::chrono::seconds kLongest(60);
  std::vector<Totals> totals(workers);
  std::vector<std::thread> threads;
  Committed committed(must_commit);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      auto client = workload.make_client(worker);
      ASSERT_TRUE(client.ok()) << client.status().message();
      const auto begun = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() < begun + (committed.all() ? time : kLongest)) {
        const Request request = (*client)->run_one();
        Totals& mine = totals[worker];
        if (request.ending == Ending::kCommitted) {
          ++mine.committed[request.type];
          committed.note(request.type);
        }
        if (request.ending == Ending::kRolledBack) ++mine.rolled_back;
        if (request.ending == Ending::kGaveUp) ++mine.gave_up;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Totals sum;
  for (const Totals& one : totals) {
    for (std::size_t type = 0; type < kTypes; ++type) sum.committed[type] += one.committed[type];
    sum.rolled_back += one.rolled_back;
    sum.gave_up += one.gave_up;
  }
  return sum;
}

template <store::Store S>
void run_and_check(const Parameters& parameters, bool split = false) {
  using std::chrono::milliseconds;
  auto workload = small_workload<S>(parameters, split);
  const Totals totals = run(*workload, parameters.workers, milliseconds(700), parameters.mix);
  for (std::size_t type = 0; type < kTypes; ++type) {
    EXPECT_EQ(totals.committed[type] != 0, parameters.mix[type] != 0) << kTypeNames[type];
  }
  EXPECT_EQ(totals.gave_up, 0u);
  expect_consistent(*workload);
}

TEST(TpccRun, TwoWorkersOnAWarehouseEach) { run_and_check<store::GranaryStore>(small_parameters(2, 2)); }

TEST(TpccRun, FourWorkersOnOneWarehouse) { run_and_check<store::GranaryStore>(small_parameters(1, 4)); }

/// A delivery is a transaction for each district, and a chopped payment one for each piece.
TEST(TpccRun, TransactionsOfRequestsAreThoseOfTheDatabase) {
  Parameters parameters = small_parameters(1, 1);
  parameters.snapshot_stock_level = false;
  parameters.chopping = true;
  Database* database = nullptr;
  TpccWorkload<store::GranaryStore> workload(parameters, [&]() -> Result<std::unique_ptr<store::GranaryStore>> {
    auto store = store::GranaryStore::open(small_options(), false);
    if (store.ok()) database = &(*store)->database();
    return store;
  });
  NoProgress progress;
  ASSERT_TRUE(workload.load(1, progress).ok());
  const auto client = workload.make_client(0).value();
  const auto ended = [&] {
    const Statistics sums = database->statistics();
    return sums.commits + sums.aborts[static_cast<std::size_t>(AbortReason::kUser)];
  };
  std::array<std::uint64_t, kTypes> seen{};
  for (std::uint64_t before = ended(); seen[static_cast<std::size_t>(Type::kDelivery)] < 5;) {
    const Request request = client->run_one();
    ASSERT_EQ(ended() - before, request.transactions()) << kTypeNames[request.type];
    before = ended();
    if (request.ending == Ending::kCommitted && request.type == static_cast<std::uint8_t>(Type::kDelivery)) {
      EXPECT_EQ(request.transactions(), 10u);
    }
    if (request.ending == Ending::kCommitted && request.type == static_cast<std::uint8_t>(Type::kPayment)) {
      EXPECT_EQ(request.transactions(), 3u);
    }
    ++seen[request.type];
  }
}

TEST(TpccRun, StockLevelAsTransaction) {
  Parameters parameters = small_parameters(1, 3);
  parameters.snapshot_stock_level = false;
  run_and_check<store::GranaryStore>(parameters);
}

TEST(TpccRun, SplitTablesAndManyRemoteLines) {
  Parameters parameters = small_parameters(3, 3);
  parameters.remote_line = 0.3;
  parameters.remote_payment = 0.5;
  run_and_check<store::GranaryStore>(parameters, true);
}

TEST(TpccRun, HashTablesWhereNothingIsScanned) {
  for (const bool split : {false, true}) {
    Parameters parameters = small_parameters(2, 3);
    parameters.mixed_index = true;
    run_and_check<store::GranaryStore>(parameters, split);
  }
}

TEST(TpccRun, PaymentInPieces) {
  Parameters parameters = small_parameters(2, 3);
  parameters.chopping = true;
  parameters.remote_payment = 0.5;
  run_and_check<store::GranaryStore>(parameters);
}

TEST(TpccRun, FastIds) {
  Parameters parameters = small_parameters(1, 3);
  parameters.fast_ids = true;
  run_and_check<store::GranaryStore>(parameters);
}

TEST(TpccRun, NewOrdersOnly) {
  Parameters parameters = small_parameters(1, 3);
  parameters.mix = {100, 0, 0, 0, 0};
  run_and_check<store::GranaryStore>(parameters);
}

TEST(TpccRun, DeliveriesUntilNothingIsLeft) {
  Parameters parameters = small_parameters(1, 3);
  parameters.mix = {10, 0, 0, 90, 0};
  run_and_check<store::GranaryStore>(parameters);
}

TEST(TpccRun, PartitionedStore) {
  Parameters parameters = small_parameters(3, 3);
  parameters.snapshot_stock_level = false;
  parameters.remote_line = 0.1;
  run_and_check<store::PartitionedStore>(parameters);
}

Parameters of_tictocs_evaluation(std::uint32_t warehouses, std::uint32_t workers) {
  Parameters parameters = small_parameters(warehouses, workers);
  parameters.mix = {50, 50, 0, 0, 0};
  return parameters;
}

TEST(TpccRun, HekatonOnOneWarehouse) { run_and_check<hekaton::HekatonStore>(of_tictocs_evaluation(1, 4)); }

TEST(TpccRun, HekatonWithHashTablesAndManyRemoteLines) {
  Parameters parameters = of_tictocs_evaluation(3, 3);
  parameters.mixed_index = true;
  parameters.remote_line = 0.1;
  run_and_check<hekaton::HekatonStore>(parameters);
}

TEST(TpccRun, PartitionedStoreWithMoreWorkersThanPartitions) {
  Parameters parameters = small_parameters(1, 3);
  parameters.snapshot_stock_level = false;
  run_and_check<store::PartitionedStore>(parameters);
}

TEST(TpccRun, PartitionsOfSeveralWarehouses) {
  for (const std::uint32_t partitions : {1u, 2u}) {
    Parameters parameters = small_parameters(3, 4);
    parameters.partitions = partitions;
    parameters.remote_line = 0.1;
    run_and_check<store::GranaryStore>(parameters, /*split=*/true);
    parameters.snapshot_stock_level = false;
    run_and_check<store::PartitionedStore>(parameters);
  }
}

TEST(TpccRun, LoadingAgainStartsAfresh) {
  auto workload = small_workload<store::GranaryStore>(small_parameters(1, 1));
  run(*workload, 1, std::chrono::milliseconds(100));
  NoProgress progress;
  ASSERT_TRUE(workload->load(1, progress).ok());
  run(*workload, 1, std::chrono::milliseconds(100));
  expect_consistent(*workload);
}

}  // namespace
}  // namespace granary::bench::tpcc
