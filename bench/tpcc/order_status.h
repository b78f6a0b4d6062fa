#pragma once
// The Order-Status transaction (clause 2.6) reads a customer's last order and its lines. It writes nothing.

#include <array>

#include "bench/tpcc/customer_choice.h"
#include "bench/tpcc/new_order.h"

namespace granary::bench::tpcc {

struct OrderStatusRequest {
  CustomerChoice customer;
};

/// The values that the terminal shows (clause 2.6.3.4).
struct OrderStatusReply {
  std::uint32_t customer_number;
  std::uint32_t order_number;
  std::uint32_t line_count;
  Cents balance;
  Text<16> first;
  Text<2> middle;
  Text<16> last;
  Order order;
  std::array<OrderLine, kMaxLines> lines;
};

template <store::Store S, typename T>
store::Verdict order_status(T& transaction, const Tables<S>& tables, const OrderStatusRequest& request,
                            OrderStatusReply& reply) {
  using store::Verdict;
  const CustomerChoice& who = request.customer;
  const std::uint32_t part = tables.partition_of(who.warehouse);
  if (choose_customer(transaction, tables, who, reply.customer_number) != Outcome::kOk) return Verdict::kRetry;
  Customer customer;
  const CustomerKey customer_at = customer_key(who.warehouse, who.district, reply.customer_number);
  if (transaction.get(tables.customer[part], customer_at, customer) != Outcome::kOk) return Verdict::kRetry;
  reply.balance = customer.balance;
  reply.first = customer.first;
  reply.middle = customer.middle;
  reply.last = customer.last;

  CustomerOrderKey last_order{};
  Presence presence;
  const CustomerOrderKey from = customer_order_key(who.warehouse, who.district, reply.customer_number, 0);
  const CustomerOrderKey to = customer_order_key(who.warehouse, who.district, reply.customer_number + 1, 0);
  if (transaction.last(tables.order_by_customer[part], from, to, last_order, presence) != Outcome::kOk)
    return Verdict::kRetry;
  reply.order_number = order_of(last_order);
  const OrderKey order_at = order_key(who.warehouse, who.district, reply.order_number);
  if (transaction.get(tables.order[part], order_at, reply.order) != Outcome::kOk) return Verdict::kRetry;

  reply.line_count = 0;
  const auto collect = [&](OrderLineKey, const OrderLine& line) {
    reply.lines[reply.line_count++] = line;
    return reply.line_count < kMaxLines;
  };
  const Outcome scanned =
      transaction.scan(tables.order_line[part], order_line_key(who.warehouse, who.district, reply.order_number, 0),
                       order_line_key(who.warehouse, who.district, reply.order_number + 1, 0), collect);
  return scanned == Outcome::kOk && reply.line_count == reply.order.lines ? Verdict::kCommit : Verdict::kRetry;
}

}  // namespace granary::bench::tpcc
