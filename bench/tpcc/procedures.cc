#include "bench/tpcc/procedures.h"

namespace granary::bench::tpcc {

namespace {

using Store = store::GranaryStore;

DeclaredAccess reads(const char* table, const char* columns = "") { return {table, AccessMode::kRead, columns}; }
DeclaredAccess writes(const char* table, const char* columns = "") { return {table, AccessMode::kWrite, columns}; }
DeclaredAccess adds(const char* table, const char* columns = "") { return {table, AccessMode::kAdd, columns}; }

// Columns are of four classes: "facts", which are never written (names, addresses, rates, credit); "next order" of a
// district; "sums" of payments in district and warehouse; "account" of a customer.

DeclaredAccesses new_order_accesses() {
  return {reads("warehouse", "facts"),
          reads("district", "facts"),
          writes("district", "next order"),
          reads("customer", "facts"),
          reads("item"),
          writes("stock"),
          reads("stock_text"),
          writes("order_line"),
          writes("oorder"),
          writes("new_order"),
          writes("order_by_customer")};
}
DeclaredAccesses order_status_accesses() {
  return {
      reads("customer_by_name"), reads("customer", "facts"), reads("customer", "account"), reads("order_by_customer"),
      reads("oorder"),           reads("order_line")};
}
DeclaredAccesses delivery_accesses() {
  return {writes("new_order"), writes("oorder"), writes("order_line"), writes("customer", "account")};
}
DeclaredAccesses stock_level_accesses() {
  return {reads("district", "next order"), reads("order_line"), reads("stock")};
}

/// Only payments touch the sums. Rows of history have keys of their own, and no procedure reads them. So at its second
/// and third piece a payment meets only other payments that add there, too, and the result does not depend on their
/// order.
std::array<DeclaredAccesses, kPaymentPieces> payment_accesses() {
  return {DeclaredAccesses{reads("customer_by_name"), reads("customer", "facts"), writes("customer", "account"),
                           writes("customer_data")},
          DeclaredAccesses{reads("district", "facts"), adds("district", "sums")},
          DeclaredAccesses{reads("warehouse", "facts"), adds("warehouse", "sums"), adds("history")}};
}

/// Makes a procedure's body from `body(transaction, tables, request, reply)`, which is one of the transactions, or a
/// piece of one.
template <typename Request, typename Reply, typename Body>
auto procedure(const Tables<Store>& tables, Body body) {
  return [&tables, body](Transaction& transaction, const Request& request, Reply& reply) {
    store::GranaryTransaction operations(transaction);
    const store::Verdict verdict = body(operations, tables, request, reply);
    // If the transaction is doomed, the commit returns the reason. If the body could not go on otherwise, it ends here.
    if (verdict != store::Verdict::kCommit && transaction.doom() == AbortReason::kNone) transaction.abort();
  };
}

/// Keeps the handle of the registered procedure.
template <typename Request, typename Reply>
Status keep(const Result<Procedures::Handle<Request, Reply>>& added, Procedures::Handle<Request, Reply>& handle) {
  if (added.ok()) handle = *added;
  return added.status();
}

template <typename Request, typename Reply, typename Body>
Status add(Procedures& procedures, const char* name, const Tables<Store>& tables, DeclaredAccesses accesses,
           Procedures::Handle<Request, Reply>& handle, Body body) {
  return keep(procedures.add<Request, Reply>(name, procedure<Request, Reply>(tables, body), std::move(accesses)),
              handle);
}

Status add_payment(Procedures& procedures, const Tables<Store>& tables,
                   Procedures::Handle<PaymentRequest, PaymentReply>& handle) {
  std::vector<Piece<PaymentRequest, PaymentReply>> pieces;
  for (DeclaredAccesses& accesses : payment_accesses()) {
    const auto run = [piece = pieces.size()](auto&... with) { return payment_piece(with..., piece); };
    pieces.push_back({std::move(accesses), procedure<PaymentRequest, PaymentReply>(tables, run)});
  }
  return keep(procedures.add_chain<PaymentRequest, PaymentReply>("tpcc.payment", std::move(pieces)), handle);
}

}  // namespace

Result<ProcedureHandles> add_procedures(Procedures& procedures, const Tables<Store>& tables) {
  ProcedureHandles handles;
  Status done = add(procedures, "tpcc.new_order", tables, new_order_accesses(), handles.new_order,
                    [](auto&... with) { return new_order(with...); });
  if (done.ok()) done = add_payment(procedures, tables, handles.payment);
  if (done.ok()) {
    done = add(procedures, "tpcc.order_status", tables, order_status_accesses(), handles.order_status,
               [](auto&... with) { return order_status(with...); });
  }
  if (done.ok()) {
    done = add(procedures, "tpcc.delivery", tables, delivery_accesses(), handles.delivery,
               [](auto&... with) { return deliver_district(with...); });
  }
  if (done.ok()) {
    done = add(procedures, "tpcc.stock_level", tables, stock_level_accesses(), handles.stock_level,
               [](auto&... with) { return stock_level(with...); });
  }
  if (!done.ok()) return done;
  return handles;
}

Status check_chopping() {
  const Tables<Store> tables;  // no tables, because no procedure is called
  Procedures procedures;
  const auto added = add_procedures(procedures, tables);
  return added.ok() ? procedures.check_chains() : added.status();
}

}  // namespace granary::bench::tpcc
