// The consistency check notices: each case breaks one thing in a loaded store and names the conditions that must not
// hold then.

#include <algorithm>
#include <functional>
#include <set>

#include "tests/tpcc/small_tpcc.h"

namespace granary::bench::tpcc {
namespace {

using Store = store::GranaryStore;
using Break = std::function<Outcome(store::GranaryTransaction&, const Tables<Store>&)>;

/// With ordered tables only, and with hash tables where nothing is scanned.
class AuditTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Parameters parameters = small_parameters(1, 1);
    parameters.mixed_index = GetParam();
    workload_ = small_workload<Store>(parameters);
  }

  /// Numbers of the conditions that do not hold after `change`.
  std::set<std::size_t> broken_by(const Break& change) {
    auto session = workload_->store().session(1);
    AbortCounts aborts{};
    const Ending ending = (*session)->run({}, aborts, [&](store::GranaryTransaction& t) {
      return change(t, workload_->tables()) == Outcome::kOk ? store::Verdict::kCommit : store::Verdict::kRollBack;
    });
    EXPECT_EQ(ending, Ending::kCommitted);
    std::set<std::size_t> broken;
    const std::vector<Finding> findings = workload_->verify();
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (!findings[i].holds) broken.insert(i + 1);
    }
    return broken;
  }

  /// Reads a row, changes it and writes it back.
  template <typename Table, typename K, typename Row>
  static Outcome change_row(store::GranaryTransaction& t, const Table& table, K key, void (*change)(Row&)) {
    Row row;
    const Outcome got = t.get(table, key, row);
    if (got != Outcome::kOk) return got;
    change(row);
    return t.overwrite(table, key, row);
  }

  std::unique_ptr<TpccWorkload<Store>> workload_;
};

using Broken = std::set<std::size_t>;

INSTANTIATE_TEST_SUITE_P(Indexes, AuditTest, testing::Bool(),
                         [](const auto& mixed) { return mixed.param ? "Mixed" : "Ordered"; });

TEST_P(AuditTest, FindsNothingInAFreshStore) { expect_consistent(*workload_); }

TEST_P(AuditTest, NoticesAWarehouseThatWasPaidTooMuch) {
  const auto change = [](Warehouse& row) { row.ytd += 1; };
  EXPECT_EQ(
      broken_by([&](auto& t, auto& tables) { return change_row<>(t, tables.warehouse[0], warehouse_key(1), +change); }),
      (Broken{1, 8}));
}

TEST_P(AuditTest, NoticesADistrictThatWasPaidTooMuch) {
  const auto change = [](District& row) { row.ytd += 1; };
  EXPECT_EQ(broken_by([&](auto& t, auto& tables) {
              return change_row<>(t, tables.district[0], district_key(1, 3), +change);
            }),
            (Broken{1, 9}));
}

TEST_P(AuditTest, NoticesASkippedOrderNumber) {
  const auto change = [](District& row) { ++row.next_order; };
  EXPECT_EQ(broken_by([&](auto& t, auto& tables) {
              return change_row<>(t, tables.district[0], district_key(1, 10), +change);
            }),
            (Broken{2}));
}

TEST_P(AuditTest, NoticesAGapInNewOrders) {
  EXPECT_EQ(broken_by([](auto& t, auto& tables) { return t.remove(tables.new_order[0], order_key(1, 1, 110)); }),
            (Broken{3, 5, 11}));
}

TEST_P(AuditTest, NoticesALostOrderLine) {
  EXPECT_EQ(
      broken_by([](auto& t, auto& tables) { return t.remove(tables.order_line[0], order_line_key(1, 1, 120, 5)); }),
      (Broken{4, 6}));
}

TEST_P(AuditTest, NoticesACarrierWithoutDelivery) {
  const auto change = [](Order& row) { row.carrier = 7; };
  EXPECT_EQ(
      broken_by([&](auto& t, auto& tables) { return change_row<>(t, tables.order[0], order_key(1, 2, 120), +change); }),
      (Broken{5, 7}));
}

TEST_P(AuditTest, NoticesADeliveryDateTooMany) {
  const auto change = [](OrderLine& row) {
    row.delivered = 1;
    row.amount = 0;
  };
  EXPECT_EQ(broken_by([&](auto& t, auto& tables) {
              return change_row<>(t, tables.order_line[0], order_line_key(1, 2, 120, 1), +change);
            }),
            (Broken{7}));
}

TEST_P(AuditTest, NoticesAForgedBalance) {
  const auto change = [](Customer& row) { row.balance += 5; };
  EXPECT_EQ(broken_by([&](auto& t, auto& tables) {
              return change_row<>(t, tables.customer[0], customer_key(1, 4, 17), +change);
            }),
            (Broken{10, 12}));
}

TEST_P(AuditTest, NoticesAForgedSumOfPayments) {
  const auto change = [](Customer& row) { row.ytd_payment += 5; };
  EXPECT_EQ(broken_by([&](auto& t, auto& tables) {
              return change_row<>(t, tables.customer[0], customer_key(1, 4, 17), +change);
            }),
            (Broken{12}));
}

TEST_P(AuditTest, NoticesALostPayment) {
  EXPECT_EQ(broken_by([](auto& t, auto& tables) {
              return t.remove(tables.history[0], history_key(0, static_cast<std::uint64_t>(customer_key(1, 4, 17))));
            }),
            (Broken{8, 9, 10}));
}

TEST_P(AuditTest, NoticesADeliveryThatWasNotCounted) {
  const auto change = [](Customer& row) { ++row.deliveries; };
  EXPECT_EQ(broken_by([&](auto& t, auto& tables) {
              return change_row<>(t, tables.customer[0], customer_key(1, 4, 17), +change);
            }),
            (Broken{11}));
}

TEST_P(AuditTest, NoticesAnIndexEntryThatLeadsAstray) {
  EXPECT_EQ(broken_by([](auto& t, auto& tables) {
              return t.insert(tables.order_by_customer[0], customer_order_key(1, 1, 1, 9999), Presence{});
            }),
            (Broken{Audit::kIndexes}));
}

TEST_P(AuditTest, NoticesStockThatNobodyTook) {
  const auto change = [](Stock& row) { row.ytd += 3; };
  EXPECT_EQ(
      broken_by([&](auto& t, auto& tables) { return change_row<>(t, tables.stock[0], stock_key(1, 5), +change); }),
      (Broken{Audit::kStock}));
}

}  // namespace
}  // namespace granary::bench::tpcc
