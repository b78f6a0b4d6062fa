#pragma once
// Draws what a terminal would send (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1).

#include "bench/tpcc/delivery.h"
#include "bench/tpcc/new_order.h"
#include "bench/tpcc/order_status.h"
#include "bench/tpcc/payment.h"
#include "bench/tpcc/run_state.h"
#include "bench/tpcc/stock_level.h"

namespace granary::bench::tpcc {

/// Returns seconds since 1970, to a few milliseconds.
Date now();

class RequestSource {
 public:
  /// Makes a source for the client of this number (bench/harness/client_number.h). Its worker's home warehouses are
  /// every parameters.workers-th of the process's own ones.
  RequestSource(RunState& state, std::uint32_t client);

  Type next_type();
  NewOrderRequest new_order();
  PaymentRequest payment();
  OrderStatusRequest order_status();
  /// Draws a delivery for all districts of a warehouse. Its caller sets `district` and `from_order`.
  DeliveryRequest delivery();
  StockLevelRequest stock_level();

  const std::vector<std::uint16_t>& homes() const { return homes_; }

 private:
  /// Returns the home warehouses in turn.
  std::uint16_t next_home();
  std::uint8_t any_district() { return static_cast<std::uint8_t>(1 + random_.below(kDistricts)); }
  std::uint16_t another_warehouse(std::uint16_t home);
  CustomerChoice choose_customer(std::uint16_t warehouse, std::uint8_t district);

  RunState& state_;
  const Parameters& parameters_;
  const NurandConstants& constants_;
  Random random_;
  std::vector<std::uint16_t> homes_;
  std::size_t turn_ = 0;
  const std::uint64_t history_origin_;
  std::uint64_t history_sequence_ = 0;
  std::array<double, kTypes> until_{};  // running sums of the mix, from 0 to 1
};

}  // namespace granary::bench::tpcc
