// The transactions called by name, with bytes, as an application or a message would; and what they reply.

#include "bench/tpcc/procedures.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tpcc/small_tpcc.h"

namespace granary::bench::tpcc {
namespace {

using Store = store::GranaryStore;

class ProceduresTest : public testing::Test {
 protected:
  void SetUp() override {
    workload_ = small_workload<Store>(small_parameters(1, 1));
    const auto handles = add_procedures(procedures_, workload_->tables());
    ASSERT_TRUE(handles.ok());
    handles_ = *handles;
    auto worker = workload_->store().database().register_worker();
    ASSERT_TRUE(worker.ok());
    worker_ = std::move(*worker);
  }

  template <typename Reply, typename Request>
  RunResult call(const char* name, const Request& request, Reply& reply) {
    std::string bytes;
    const auto result =
        procedures_.call(worker_, name, {reinterpret_cast<const char*>(&request), sizeof request}, bytes);
    EXPECT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(bytes.size(), sizeof reply);
    std::memcpy(&reply, bytes.data(), sizeof reply);
    return *result;
  }
  template <typename Row, typename Table, typename K>
  Row row_of(const Table& table, K key) {
    Row row{};
    const RunResult done = worker_.run([&](Transaction& t) {
      store::GranaryTransaction operations(t);
      EXPECT_EQ(operations.get(table, key, row), Outcome::kOk);
    });
    EXPECT_TRUE(done.committed());
    return row;
  }

  static NewOrderRequest an_order() {
    NewOrderRequest request{};
    request.warehouse = 1;
    request.district = 2;
    request.customer = 3;
    request.date = 1'700'000'000;
    request.line_count = 5;
    for (std::uint32_t i = 0; i < request.line_count; ++i) {
      request.lines[i] = {.item = 10 + i, .supply_warehouse = 1, .quantity = 4};
    }
    request.lines[4] = request.lines[0];  // one item twice
    return request;
  }

  Procedures procedures_;
  std::unique_ptr<TpccWorkload<Store>> workload_;
  ProcedureHandles handles_;
  Worker worker_;
};

TEST_F(ProceduresTest, NewOrderThenItsStatusThenItsDelivery) {
  const Stock before = row_of<Stock>(workload_->tables().stock[0], stock_key(1, 10));
  NewOrderReply entered;
  ASSERT_TRUE(call("tpcc.new_order", an_order(), entered).committed());
  EXPECT_EQ(entered.order, 121u);
  const Stock after = row_of<Stock>(workload_->tables().stock[0], stock_key(1, 10));
  EXPECT_EQ(after.ytd, before.ytd + 8) << "both lines of the item count";
  EXPECT_EQ(after.orders, before.orders + 2);
  Cents sum = 0;
  for (int i = 0; i < 5; ++i) sum += entered.lines[static_cast<std::size_t>(i)].amount;
  EXPECT_GT(entered.total, 0);
  EXPECT_LE(entered.total, sum * 14 / 10);

  OrderStatusReply status;
  const OrderStatusRequest ask{{.warehouse = 1, .district = 2, .customer = 3, .last = {}}};
  ASSERT_TRUE(call("tpcc.order_status", ask, status).committed());
  EXPECT_EQ(status.order_number, 121u);
  EXPECT_EQ(status.line_count, 5u);
  EXPECT_EQ(status.order.carrier, 0);

  std::vector<std::uint32_t> delivered;
  DeliveryReply delivery{};
  do {
    ASSERT_TRUE(call("tpcc.delivery", DeliveryRequest{1'700'000'001, 0, 1, 2, 7}, delivery).committed());
    if (delivery.order != 0) delivered.push_back(delivery.order);
  } while (delivery.order != 0);
  ASSERT_EQ(delivered.size(), 37u) << "36 undelivered ones at first, and ours";
  EXPECT_TRUE(std::is_sorted(delivered.begin(), delivered.end()));
  EXPECT_EQ(delivered.back(), 121u);
  ASSERT_TRUE(call("tpcc.order_status", ask, status).committed());
  EXPECT_EQ(status.order.carrier, 7);
  for (std::uint32_t i = 0; i < status.line_count; ++i) EXPECT_EQ(status.lines[i].delivered, 1'700'000'001u);
  expect_consistent(*workload_);
}

TEST_F(ProceduresTest, AnUnknownItemRollsEverythingBack) {
  NewOrderRequest request = an_order();
  request.lines[4].item = 501;
  NewOrderReply reply;
  EXPECT_EQ(call("tpcc.new_order", request, reply).reason, AbortReason::kUser);
  EXPECT_EQ(row_of<District>(workload_->tables().district[0], district_key(1, 2)).next_order, 121u);
  EXPECT_EQ(row_of<Stock>(workload_->tables().stock[0], stock_key(1, 10)).orders, 0u);
  expect_consistent(*workload_);
}

TEST_F(ProceduresTest, PaymentByLastNameTakesTheMiddleCustomer) {
  const Text<16>& last = last_name(5);
  std::vector<std::pair<std::string, std::uint32_t>> namesakes;
  for (std::uint32_t number = 1; number <= 120; ++number) {
    const Customer customer = row_of<Customer>(workload_->tables().customer[0], customer_key(1, 1, number));
    if (customer.last.view() == last.view()) namesakes.emplace_back(customer.first.view(), number);
  }
  ASSERT_FALSE(namesakes.empty());
  std::sort(namesakes.begin(), namesakes.end());
  const std::uint32_t expected = namesakes[(namesakes.size() + 1) / 2 - 1].second;
  PaymentRequest request{};
  request.history = history_key(77, 1);
  request.customer = {.warehouse = 1, .district = 1, .customer = 0, .last = last};
  request.amount = 1234;
  request.warehouse = 1;
  request.district = 1;
  PaymentReply reply;
  ASSERT_TRUE(call("tpcc.payment", request, reply).committed());
  EXPECT_EQ(reply.customer_number, expected);
  EXPECT_EQ(reply.customer.balance, -1000 - 1234);
  expect_consistent(*workload_);
}

TEST_F(ProceduresTest, PaymentMayRunInPieces) {
  const Status good = procedures_.check_chains();
  ASSERT_TRUE(good.ok()) << good.message();
  PaymentRequest request{};
  request.history = history_key(77, 1);
  request.customer = {.warehouse = 1, .district = 3, .customer = 5, .last = {}};
  request.amount = 1234;
  request.warehouse = 1;
  request.district = 2;
  const Cents before = row_of<Warehouse>(workload_->tables().warehouse[0], warehouse_key(1)).ytd;
  const std::uint64_t commits = workload_->store().database().statistics().commits;
  PaymentReply reply;
  ASSERT_TRUE(call("tpcc.payment", request, reply).committed());
  EXPECT_EQ(workload_->store().database().statistics().commits - commits, kPaymentPieces);
  EXPECT_EQ(row_of<Warehouse>(workload_->tables().warehouse[0], warehouse_key(1)).ytd, before + 1234);
  const History row = row_of<History>(workload_->tables().history[0], request.history);
  const District district = row_of<District>(workload_->tables().district[0], district_key(1, 2));
  EXPECT_TRUE(row.data.view().ends_with(district.name.view())) << "a piece did not find what the one before it left";
  expect_consistent(*workload_);
}

TEST_F(ProceduresTest, WhoeverLooksAtTheSumsForbidsIt) {
  const auto look = [](Transaction&, const PaymentRequest&, PaymentReply&) {};
  const DeclaredAccesses both{{"warehouse", AccessMode::kRead, "sums"}, {"district", AccessMode::kRead, "sums"}};
  ASSERT_TRUE((procedures_.add<PaymentRequest, PaymentReply>("look", look, both).ok()));
  EXPECT_NE(procedures_.check_chains().message().find("'tpcc.payment' may not run in pieces"), std::string::npos);
}

TEST_F(ProceduresTest, BadCreditKeepsANoteOfThePayment) {
  Text<500> data{};
  data.assign(std::string(500, 'x'));
  PaymentRequest request{};
  request.customer = {.warehouse = 9, .district = 8, .customer = 0, .last = {}};
  request.amount = 555;
  request.date = 6;
  request.warehouse = 4;
  request.district = 3;
  prepend_payment(request, 77, data);
  EXPECT_TRUE(data.view().starts_with("77 8 9 3 4 555 6 xxx"));
  EXPECT_EQ(data.view().size(), 500u);
}

TEST_F(ProceduresTest, StockLevelCountsDistinctItems) {
  StockLevelReply all, none;
  ASSERT_TRUE(call("tpcc.stock_level", StockLevelRequest{0, 1'000, 1, 1}, all).committed());
  ASSERT_TRUE(call("tpcc.stock_level", StockLevelRequest{0, 0, 1, 1}, none).committed());
  EXPECT_EQ(none.low_stock, 0u);
  std::set<std::uint32_t> items;
  const RunResult done = worker_.run([&](Transaction& t) {
    store::GranaryTransaction operations(t);
    const auto collect = [&](OrderLineKey, const OrderLine& line) {
      items.insert(line.item);
      return true;
    };
    EXPECT_EQ(operations.scan(workload_->tables().order_line[0], order_line_key(1, 1, 101, 0),
                              order_line_key(1, 1, 121, 0), collect),
              Outcome::kOk);
  });
  ASSERT_TRUE(done.committed());
  EXPECT_EQ(all.low_stock, items.size());
}

TEST_F(ProceduresTest, ByHandle) {
  DeliveryReply reply{};
  const RunResult done = procedures_.call(worker_, handles_.delivery, DeliveryRequest{1, 0, 1, 1, 2}, reply);
  EXPECT_TRUE(done.committed());
  EXPECT_EQ(reply.order, 85u) << "the oldest of the last 30 %";
}

}  // namespace
}  // namespace granary::bench::tpcc
