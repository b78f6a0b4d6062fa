#pragma once
// Checks the consistency conditions of TPC-C (clause 3.3.2) over rows that were read. The audit knows no store.

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "bench/harness/workload.h"
#include "bench/tpcc/parameters.h"
#include "bench/tpcc/population.h"

namespace granary::bench::tpcc {

/// The sums of the payments in history.
struct PaymentSums {
  PaymentSums(std::uint32_t warehouses, const Scale& scale);
  void add(const History& row);
  Cents by_district(std::uint32_t warehouse, std::uint32_t district) const {
    return of_district[(warehouse - 1) * kDistricts + district - 1];
  }
  Cents by_customer(std::uint32_t warehouse, std::uint32_t district, std::uint32_t customer) const {
    return of_customer[place(warehouse, district, customer)];
  }
  /// Returns a customer's place in of_customer.
  std::size_t place(std::uint32_t warehouse, std::uint32_t district, std::uint32_t customer) const {
    return std::size_t{(warehouse - 1) * kDistricts + district - 1} * customers + customer - 1;
  }

  const std::uint32_t warehouses, customers;
  std::uint64_t misplaced = 0;  // rows of warehouses, districts or customers that do not exist
  std::vector<Cents> of_district, of_customer;
};

/// All rows of one district, each table in the order of its keys.
struct DistrictRows {
  std::uint32_t warehouse = 0, number = 0;
  District district{};
  Rows<CustomerKey, Customer> customers;
  Rows<CustomerNameKey, CustomerName> names;
  Rows<OrderKey, Order> orders;
  Rows<OrderKey, Presence> undelivered;
  Rows<CustomerOrderKey, Presence> by_customer;
  Rows<OrderLineKey, OrderLine> lines;
};

/// The sums that order lines took from a warehouse's stock, or those that the stock has.
struct StockSums {
  std::uint64_t quantity = 0, orders = 0;
  bool operator==(const StockSums&) const = default;
};

class Audit {
 public:
  explicit Audit(const Parameters& parameters);

  /// Notes the sums of all rows of history that this process has. Called before any district is checked.
  void expect_payments(const PaymentSums& payments);

  // The following may be called by several threads at the same time.
  void check_district(const DistrictRows& rows, const PaymentSums& payments);
  void check_warehouse(std::uint32_t number, const Warehouse& warehouse, const std::vector<District>& districts,
                       const PaymentSums& payments);
  /// Checks a warehouse's stock. Called after all districts.
  void check_stock(std::uint32_t warehouse, const StockSums& stock);
  /// Notes that a row could not be read at all.
  void fail(std::size_t condition, std::string where);

  /// Returns a finding for each of the twelve conditions and for the additional ones.
  std::vector<Finding> findings() const;

  /// The numbers of the additional conditions, after the twelve.
  static constexpr std::size_t kIndexes = 13, kStock = 14, kConditions = 14;

 private:
  struct Condition {
    std::uint64_t checked = 0, broken = 0;
    std::string first;
  };
  void expect(std::size_t condition, bool holds, const std::string& where);
  void check_numbers(const DistrictRows& rows, const std::string& where);
  void check_lines(const DistrictRows& rows, const PaymentSums& payments, const std::string& where);
  void check_customers(const DistrictRows& rows, const std::vector<Cents>& delivered, const PaymentSums& payments,
                       const std::string& where);
  void sum_payments(const DistrictRows& rows, const std::vector<Cents>& delivered, const PaymentSums& payments);
  void check_indexes(const DistrictRows& rows, const std::string& where);

  const Scale scale_;
  const bool fast_ids_;
  const NodeShare share_;
  mutable std::mutex mutex_;  // guards the following members
  std::array<Condition, kConditions + 1> conditions_;
  std::vector<StockSums> taken_;  // by supplying warehouse; only orders that were not loaded count
  // With several nodes, this node's rows have payments by customers, and orders from stocks, of other nodes'
  // warehouses. So the sums of all customers and of all stocks are compared over all nodes. Each counts with a weight
  // of its own, so that a surplus of one does not make up for a lack of another.
  Tally paid_;
  std::uint64_t stock_found_ = 0;
};

}  // namespace granary::bench::tpcc
