#pragma once
// The Delivery transaction (clause 2.7): delivers the oldest undelivered order of each of the ten districts. Requests
// are queued and carried out later; as clause 2.7 leaves free, each district's order is a transaction of its own.

#include <array>

#include "bench/tpcc/new_order.h"

namespace granary::bench::tpcc {

struct DeliveryRequest {
  Date date;
  std::uint32_t from_order;  ///< where the search begins, because no older order of the district is undelivered
  std::uint16_t warehouse;
  std::uint8_t district;
  std::uint8_t carrier;
};

struct DeliveryReply {
  std::uint32_t order;  ///< 0: the district has no undelivered order
};

/// Sets the delivery date of an order's lines. Returns false if the transaction cannot go on.
template <store::Store S, typename T>
bool deliver_lines(T& transaction, const Tables<S>& tables, const DeliveryRequest& request, std::uint32_t order,
                   std::size_t expected, Cents& sum) {
  const auto& table = tables.order_line[tables.partition_of(request.warehouse)];
  std::array<OrderLine, kMaxLines> lines;
  std::size_t count = 0;
  const auto collect = [&](OrderLineKey, const OrderLine& line) {
    lines[count++] = line;
    return count < kMaxLines;
  };
  const OrderLineKey from = order_line_key(request.warehouse, request.district, order, 0);
  const OrderLineKey to = order_line_key(request.warehouse, request.district, order + 1, 0);
  if (transaction.scan(table, from, to, collect) != Outcome::kOk || count != expected) return false;
  for (std::size_t i = 0; i < count; ++i) {
    sum += lines[i].amount;
    lines[i].delivered = request.date;
    const OrderLineKey key = order_line_key(request.warehouse, request.district, order, i + 1);
    if (transaction.overwrite(table, key, lines[i]) != Outcome::kOk) return false;
  }
  return true;
}

template <store::Store S, typename T>
store::Verdict deliver_district(T& transaction, const Tables<S>& tables, const DeliveryRequest& request,
                                DeliveryReply& reply) {
  using store::Verdict;
  const std::uint32_t part = tables.partition_of(request.warehouse);
  OrderKey oldest{};
  Presence presence;
  reply.order = 0;
  const Outcome found =
      transaction.first(tables.new_order[part], order_key(request.warehouse, request.district, request.from_order),
                        order_key(request.warehouse, request.district, 0xffff'ffff), oldest, presence);
  if (found == Outcome::kNotFound) return Verdict::kCommit;
  if (found != Outcome::kOk || transaction.remove(tables.new_order[part], oldest) != Outcome::kOk)
    return Verdict::kRetry;
  reply.order = order_of(oldest);

  Order order;
  if (store::get_to_write(transaction, tables.order[part], oldest, order) != Outcome::kOk) return Verdict::kRetry;
  order.carrier = request.carrier;
  if (transaction.overwrite(tables.order[part], oldest, order) != Outcome::kOk) return Verdict::kRetry;
  Cents sum = 0;
  if (!deliver_lines(transaction, tables, request, reply.order, order.lines, sum)) return Verdict::kRetry;

  Customer customer;
  const CustomerKey customer_at = customer_key(request.warehouse, request.district, order.customer);
  if (store::get_to_write(transaction, tables.customer[part], customer_at, customer) != Outcome::kOk)
    return Verdict::kRetry;
  customer.balance += sum;
  ++customer.deliveries;
  return transaction.overwrite(tables.customer[part], customer_at, customer) == Outcome::kOk ? Verdict::kCommit
                                                                                             : Verdict::kRetry;
}

}  // namespace granary::bench::tpcc
