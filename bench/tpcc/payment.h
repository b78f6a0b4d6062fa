#pragma once
// The Payment transaction (clause 2.5): a customer pays; warehouse, district and customer keep the sums, and history
// keeps the event.
//
// It runs whole, or as a chain of pieces (transaction chopping): the customer, the district, and the warehouse with the
// row of history. So the customer, who may belong to another node, comes before the records at which all payments of
// the warehouse meet. Only the first piece may fail for good, since all others are at the home node. procedures.cc says
// why no other transaction sees it half done.

#include "bench/tpcc/customer_choice.h"

namespace granary::bench::tpcc {

struct PaymentRequest {
  HistoryKey history;  ///< a key that no other row of history has
  CustomerChoice customer;
  Date date;
  std::int32_t amount;
  std::uint16_t warehouse;
  std::uint8_t district;
};

/// The values that the terminal shows (clause 2.5.3.3), and those that a later piece needs of an earlier one.
struct PaymentReply {
  std::uint32_t customer_number;
  Customer customer;
  Address warehouse, district;
  Text<10> district_name;
};

inline constexpr std::size_t kPaymentPieces = 3;

/// The fields that a payment by a customer with bad credit puts before the customer's data (clause 2.5.2.2).
void prepend_payment(const PaymentRequest& request, std::uint32_t customer, Text<500>& data);

template <store::Store S, typename T>
class Payment {
 public:
  Payment(T& transaction, const Tables<S>& tables, const PaymentRequest& request, PaymentReply& reply)
      : t_(transaction),
        tables_(tables),
        request_(request),
        reply_(reply),
        home_(tables_.partition_of(request.warehouse)) {}

  store::Verdict run() {
    return pay_customer() && pay_district() && pay_warehouse() ? store::Verdict::kCommit : store::Verdict::kRetry;
  }
  store::Verdict run_piece(std::size_t piece) {
    const bool done = piece == 0 ? pay_customer() : piece == 1 ? pay_district() : pay_warehouse();
    return done ? store::Verdict::kCommit : store::Verdict::kRetry;
  }

 private:
  bool pay_customer() {
    const CustomerChoice& who = request_.customer;
    const std::uint32_t part = tables_.partition_of(who.warehouse);
    if (choose_customer(t_, tables_, who, reply_.customer_number) != Outcome::kOk) return false;
    const CustomerKey key = customer_key(who.warehouse, who.district, reply_.customer_number);
    Customer& customer = reply_.customer;
    if (store::get_to_write(t_, tables_.customer[part], key, customer) != Outcome::kOk) return false;
    customer.balance -= request_.amount;
    customer.ytd_payment += request_.amount;
    ++customer.payments;
    if (t_.overwrite(tables_.customer[part], key, customer) != Outcome::kOk) return false;
    if (customer.credit.bytes[0] != 'B') return true;
    CustomerData data;
    if (store::get_to_write(t_, tables_.customer_data[part], key, data) != Outcome::kOk) return false;
    prepend_payment(request_, reply_.customer_number, data.text);
    return t_.overwrite(tables_.customer_data[part], key, data) == Outcome::kOk;
  }

  bool pay_district() {
    District district;
    const DistrictKey key = district_key(request_.warehouse, request_.district);
    if (store::get_to_write(t_, tables_.district[home_], key, district) != Outcome::kOk) return false;
    district.ytd += request_.amount;
    reply_.district_name = district.name;
    reply_.district = district.address;
    return t_.overwrite(tables_.district[home_], key, district) == Outcome::kOk;
  }

  bool pay_warehouse() {
    Warehouse warehouse;
    const WarehouseKey key = warehouse_key(request_.warehouse);
    if (store::get_to_write(t_, tables_.warehouse[home_], key, warehouse) != Outcome::kOk) return false;
    warehouse.ytd += request_.amount;
    reply_.warehouse = warehouse.address;
    return t_.overwrite(tables_.warehouse[home_], key, warehouse) == Outcome::kOk && note(warehouse.name);
  }

  bool note(const Text<10>& warehouse_name) {
    constexpr std::string_view kGap = "    ";
    History row{.date = request_.date,
                .amount = request_.amount,
                .customer = static_cast<std::uint16_t>(reply_.customer_number),
                .customer_warehouse = request_.customer.warehouse,
                .warehouse = request_.warehouse,
                .customer_district = request_.customer.district,
                .district = request_.district,
                .data = {}};
    char* to = row.data.bytes;
    for (const std::string_view part : {warehouse_name.view(), kGap, reply_.district_name.view()}) {
      std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
    return t_.insert(tables_.history[home_], request_.history, row) == Outcome::kOk;
  }

  T& t_;
  const Tables<S>& tables_;
  const PaymentRequest& request_;
  PaymentReply& reply_;
  const std::uint32_t home_;
};

template <store::Store S, typename T>
store::Verdict payment(T& transaction, const Tables<S>& tables, const PaymentRequest& request, PaymentReply& reply) {
  return Payment<S, T>(transaction, tables, request, reply).run();
}

template <store::Store S, typename T>
store::Verdict payment_piece(T& transaction, const Tables<S>& tables, const PaymentRequest& request,
                             PaymentReply& reply, std::size_t piece) {
  return Payment<S, T>(transaction, tables, request, reply).run_piece(piece);
}

}  // namespace granary::bench::tpcc
