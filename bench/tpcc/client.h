#pragma once
// Runs one worker's terminals: draws requests and carries them out on a store.

#include <deque>
#include <memory>

#include "bench/store/store_workload.h"
#include "bench/tpcc/requests.h"

namespace granary::bench::tpcc {

template <store::Store S>
class TpccClient final : public store::StoreClient<S> {
 public:
  TpccClient(std::unique_ptr<typename S::Session> session, const Tables<S>& tables, RunState& state,
             std::uint32_t worker)
      : store::StoreClient<S>(std::move(session)),
        tables_(tables),
        state_(state),
        source_(state, worker) {}

  /// Runs the next request. Deliveries are deferred (clause 2.7.2): the terminal only queues them, and the worker
  /// carries out the oldest one before its next request. A delivery counts when it has been carried out.
  Request run_one() override {
    reached_ = 0;
    if (!deliveries_.empty()) {
      const DeliveryRequest request = deliveries_.front();
      deliveries_.pop_front();
      return deliver(request);
    }
    Type type = source_.next_type();
    for (; type == Type::kDelivery; type = source_.next_type()) {
      deliveries_.push_back(source_.delivery());
      if (state_.parameters.mix[static_cast<std::size_t>(Type::kDelivery)] == 100) return run_one();
    }
    return run(type);
  }

 private:
  using store::StoreClient<S>::session_;
  using Client::account_;
  using Client::reached_;

  /// Notes that the request needs a warehouse.
  void need(std::uint32_t warehouse) {
    if (account_ == nullptr) [[likely]]
      return;
    const std::uint32_t node = state_.parameters.warehouse_ranges().part_of(warehouse - 1);
    if (node != state_.parameters.share.node) reached_ |= std::uint64_t{1} << node;
  }
  /// Returns the result. `before` counts the transactions of the request that came to their end before its last one.
  static Request result(Type type, Ending ending, std::uint32_t before = 0) {
    return {static_cast<std::uint8_t>(type), ending, before};
  }
  AbortCounts& aborts_of(Type type) { return this->aborts(static_cast<std::uint8_t>(type)); }

  Request run(Type type) {
    switch (type) {
      case Type::kNewOrder: return enter(source_.new_order());
      case Type::kPayment: return pay(source_.payment());
      case Type::kOrderStatus: return show(source_.order_status());
      case Type::kStockLevel: return count(source_.stock_level());
      case Type::kDelivery: break;
    }
    return result(type, Ending::kGaveUp);
  }

  Request enter(const NewOrderRequest& request) {
    store::Footprint footprint{tables_.partition_of(request.warehouse)};
    for (std::size_t i = 0; i < request.line_count; ++i) {
      footprint.add(tables_.partition_of(request.lines[i].supply_warehouse));
      need(request.lines[i].supply_warehouse);
    }
    NewOrderReply reply;
    return result(Type::kNewOrder, session_->run(footprint, aborts_of(Type::kNewOrder),
                                                 [&](auto& t) { return new_order(t, tables_, request, reply); }));
  }

  Request pay(const PaymentRequest& request) {
    PaymentReply reply;
    need(request.customer.warehouse);
    if (state_.parameters.chopping) return pay_in_pieces(request, reply);
    const store::Footprint footprint{tables_.partition_of(request.warehouse),
                                     tables_.partition_of(request.customer.warehouse)};
    return result(Type::kPayment, session_->run(footprint, aborts_of(Type::kPayment),
                                                [&](auto& t) { return payment(t, tables_, request, reply); }));
  }

  /// Runs a payment as a chain of pieces. The request ends with the last piece.
  Request pay_in_pieces(const PaymentRequest& request, PaymentReply& reply) {
    for (std::uint32_t piece = 0;; ++piece) {
      const store::Footprint footprint{
          tables_.partition_of(piece == 0 ? request.customer.warehouse : request.warehouse)};
      const Ending ending = session_->run(footprint, aborts_of(Type::kPayment),
                                          [&](auto& t) { return payment_piece(t, tables_, request, reply, piece); });
      if (ending != Ending::kCommitted || piece + 1 == kPaymentPieces) return result(Type::kPayment, ending, piece);
    }
  }

  Request show(const OrderStatusRequest& request) {
    OrderStatusReply reply;
    return result(Type::kOrderStatus,
                  session_->run({tables_.partition_of(request.customer.warehouse)}, aborts_of(Type::kOrderStatus),
                                [&](auto& t) { return order_status(t, tables_, request, reply); }));
  }

  Request count(const StockLevelRequest& request) {
    StockLevelReply reply;
    const store::Footprint footprint{tables_.partition_of(request.warehouse)};
    AbortCounts& aborted = aborts_of(Type::kStockLevel);
    const auto body = [&](auto& t) { return stock_level(t, tables_, request, reply); };
    return result(Type::kStockLevel, state_.parameters.snapshot_stock_level
                                         ? session_->run_snapshot(footprint, aborted, body)
                                         : session_->run(footprint, aborted, body));
  }

  /// Delivers the oldest order of each of the ten districts. The request ends with the last district.
  Request deliver(DeliveryRequest request) {
    const store::Footprint footprint{tables_.partition_of(request.warehouse)};
    for (std::uint32_t district = 1;; ++district) {
      request.district = static_cast<std::uint8_t>(district);
      std::atomic<std::uint32_t>& hint = state_.undelivered_from(request.warehouse, district);
      // FastIds hands out numbers before orders are entered, so an older order may still come. Then there is no hint.
      request.from_order = state_.parameters.fast_ids ? 0 : hint.load(std::memory_order_relaxed);
      DeliveryReply reply;
      const Ending ending = session_->run(footprint, aborts_of(Type::kDelivery),
                                          [&](auto& t) { return deliver_district(t, tables_, request, reply); });
      if (ending == Ending::kCommitted && reply.order != 0) raise(hint, reply.order + 1);
      if (ending != Ending::kCommitted || district == kDistricts) return result(Type::kDelivery, ending, district - 1);
    }
  }

  static void raise(std::atomic<std::uint32_t>& hint, std::uint32_t to) {
    std::uint32_t now = hint.load(std::memory_order_relaxed);
    while (now < to && !hint.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
    }
  }

  const Tables<S>& tables_;
  RunState& state_;
  RequestSource source_;
  std::deque<DeliveryRequest> deliveries_;
};

}  // namespace granary::bench::tpcc
