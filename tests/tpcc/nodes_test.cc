// TPC-C with its warehouses spread over nodes: each loads and drives its own, and what only all of them can judge is
// judged together. All on one database: transactions across nodes are tested elsewhere.

#include <chrono>
#include <set>
#include <thread>

#include "tests/support/shared_database_store.h"
#include "tests/tpcc/small_tpcc.h"

namespace granary::bench::tpcc {
namespace {

using S = store::SharedDatabaseStore;

class TpccNodes : public testing::Test {
 protected:
  static constexpr std::uint32_t kNodes = 2, kWarehouses = 3;

  static Parameters parameters_of(std::uint32_t node) {
    Parameters parameters = small_parameters(kWarehouses, 2);
    parameters.remote_line = 0.2;
    parameters.remote_payment = 0.5;
    parameters.mixed_index = true;
    parameters.share = {.node = node, .nodes = kNodes, .in_cluster = true};
    return parameters;
  }
  void SetUp() override {
    const std::shared_ptr<store::GranaryStore> all = std::move(*store::GranaryStore::open(small_options(), false));
    NoProgress progress;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      nodes_.push_back(std::make_unique<TpccWorkload<S>>(
          parameters_of(node), [=]() -> Result<std::unique_ptr<S>> { return std::make_unique<S>(all, node); }));
      ASSERT_TRUE(nodes_.back()->load(2, progress).ok());
    }
  }
  void drive() {
    std::vector<std::thread> threads;
    for (auto& node : nodes_) {
      threads.emplace_back([&node] {
        auto client = node->make_client(1);
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        while (std::chrono::steady_clock::now() < end) EXPECT_NE((*client)->run_one().ending, Ending::kGaveUp);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::string what_is_wrong() {
    std::vector<std::vector<Finding>> findings;
    for (auto& node : nodes_) findings.push_back(node->verify());
    std::string why;
    store::all_hold(findings, why);
    return why;
  }
  /// Changes a row of the last warehouse.
  template <typename Row, typename Table, typename K>
  void change(const Table& table, K key, void (*alter)(Row&)) {
    auto session = nodes_[0]->store().session(0);
    AbortCounts aborts{};
    EXPECT_EQ((*session)->run({}, aborts,
                              [&](auto& t) {
                                Row row;
                                if (t.get(table, key, row) != Outcome::kOk) return store::Verdict::kRollBack;
                                alter(row);
                                return t.overwrite(table, key, row) == Outcome::kOk ? store::Verdict::kCommit
                                                                                    : store::Verdict::kRetry;
                              }),
              Ending::kCommitted);
  }

  std::vector<std::unique_ptr<TpccWorkload<S>>> nodes_;
};

TEST_F(TpccNodes, TogetherTheyAreConsistent) {
  EXPECT_EQ(what_is_wrong(), "");
  drive();
  EXPECT_EQ(what_is_wrong(), "");
}

TEST_F(TpccNodes, ABalanceThatNobodyPaidForIsFound) {
  change<Customer>(nodes_[0]->tables().customer[2], customer_key(3, 2, 5), [](Customer& row) {
    row.balance -= 100;  // as a payment whose row of history is lost
    row.ytd_payment += 100;
  });
  EXPECT_NE(what_is_wrong().find("3.3.2.10"), std::string::npos);
}

TEST_F(TpccNodes, StockThatNobodyOrderedIsFound) {
  change<Stock>(nodes_[0]->tables().stock[2], stock_key(3, 17), [](Stock& row) { ++row.orders; });
  EXPECT_NE(what_is_wrong().find("S_ORDER_CNT"), std::string::npos);
}

TEST(TpccShare, WarehousesAndOriginsAreDividedAmongNodes) {
  std::set<std::uint16_t> homes;
  std::set<std::uint64_t> origins;
  for (const std::uint32_t node : {0u, 1u, 2u}) {
    Parameters parameters = small_parameters(7, 2);
    parameters.share = {.node = node, .nodes = 3, .in_cluster = true};
    RunState state(parameters);
    for (const std::uint32_t worker : {0u, 1u}) {
      RequestSource source(state, worker);
      for (const std::uint16_t home : source.homes()) {
        EXPECT_TRUE(homes.insert(home).second) << home << " has two homes";
        EXPECT_EQ(parameters.warehouse_ranges().part_of(home - 1u), node);
      }
      EXPECT_TRUE(origins.insert(origin_of(source.payment().history)).second);
      EXPECT_EQ(*origins.rbegin() / parameters.history_origins(), node);
    }
  }
  EXPECT_EQ(homes.size(), 7u);
}

TEST(TpccShare, AllClientsOfAWorkerHaveItsHomes) {
  for (const std::uint32_t warehouses : {1u, 7u}) {
    Parameters parameters = small_parameters(warehouses, 2);
    parameters.workers = 3;
    RunState state(parameters);
    for (const std::uint32_t worker : {0u, 1u, 2u}) {
      for (const std::uint32_t place : {1u, 2u, 15u})
        EXPECT_EQ(RequestSource(state, worker + 256 * place).homes(), RequestSource(state, worker).homes()) << worker;
    }
    EXPECT_NE(RequestSource(state, 256).payment().amount, RequestSource(state, 0).payment().amount)
        << "each client draws requests of its own";
  }
}

}  // namespace
}  // namespace granary::bench::tpcc
