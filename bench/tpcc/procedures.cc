#include "bench/tpcc/procedures.h"

namespace granary::bench::tpcc {

namespace {

/// Registers `body(transaction, tables, request, reply)`, which is one of the transactions.
template <typename Request, typename Reply, typename Body>
Status add(Procedures& procedures, const char* name, const Tables<store::GranaryStore>& tables,
           Procedures::Handle<Request, Reply>& handle, Body body) {
  auto added = procedures.add<Request, Reply>(
      name, [&tables, body](Transaction& transaction, const Request& request, Reply& reply) {
        store::GranaryTransaction operations(transaction);
        const store::Verdict verdict = body(operations, tables, request, reply);
        // A body that could not go on has either been doomed, and the commit will tell, or it ends here.
        if (verdict != store::Verdict::kCommit && transaction.doom() == AbortReason::kNone) transaction.abort();
      });
  if (!added.ok()) return added.status();
  handle = *added;
  return {};
}

}  // namespace

Result<ProcedureHandles> add_procedures(Procedures& procedures, const Tables<store::GranaryStore>& tables) {
  ProcedureHandles handles;
  Status done =
      add(procedures, "tpcc.new_order", tables, handles.new_order, [](auto&... with) { return new_order(with...); });
  if (done.ok()) {
    done = add(procedures, "tpcc.payment", tables, handles.payment, [](auto&... with) { return payment(with...); });
  }
  if (done.ok()) {
    done = add(procedures, "tpcc.order_status", tables, handles.order_status,
               [](auto&... with) { return order_status(with...); });
  }
  if (done.ok()) {
    done = add(procedures, "tpcc.delivery", tables, handles.delivery,
               [](auto&... with) { return deliver_district(with...); });
  }
  if (done.ok()) {
    done = add(procedures, "tpcc.stock_level", tables, handles.stock_level,
               [](auto&... with) { return stock_level(with...); });
  }
  if (!done.ok()) return done;
  return handles;
}

}  // namespace granary::bench::tpcc
