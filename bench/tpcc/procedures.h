#pragma once
// TPC-C's transactions as stored procedures of the engine: callable by name, or by handle. They declare what they
// touch, so that Procedures::check_chains() lets Payment run in pieces.

#include <granary/granary.h>

#include "bench/store/granary_store.h"
#include "bench/tpcc/delivery.h"
#include "bench/tpcc/new_order.h"
#include "bench/tpcc/order_status.h"
#include "bench/tpcc/payment.h"
#include "bench/tpcc/stock_level.h"

namespace granary::bench::tpcc {

struct ProcedureHandles {
  Procedures::Handle<NewOrderRequest, NewOrderReply> new_order;
  Procedures::Handle<PaymentRequest, PaymentReply> payment;
  Procedures::Handle<OrderStatusRequest, OrderStatusReply> order_status;
  Procedures::Handle<DeliveryRequest, DeliveryReply> delivery;  ///< delivers an order of one district
  Procedures::Handle<StockLevelRequest, StockLevelReply> stock_level;
};

/// Registers "tpcc.new_order" and so on. `tables` must live as long as `procedures`.
Result<ProcedureHandles> add_procedures(Procedures& procedures, const Tables<store::GranaryStore>& tables);

/// Checks whether Payment may run in pieces beside the other procedures and itself.
Status check_chopping();

}  // namespace granary::bench::tpcc
