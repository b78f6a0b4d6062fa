#pragma once
// One worker's requests on a store, and what they changed.

#include <atomic>
#include <memory>

#include "bench/harness/workload.h"
#include "bench/smallbank/transactions.h"

namespace granary::bench::smallbank {

/// What clients did; each adds its part once, at its end. Relaxed: read after all have ended.
struct ClientSums {
  std::atomic<Cents> deposited{0};  // less withdrawals; committed transactions only
  std::atomic<std::uint64_t> requests{0}, distributed{0};
};

template <store::Store S>
class BankClient final : public Client {
 public:
  BankClient(std::unique_ptr<typename S::Session> session, const Tables<S>& tables, const Parameters& parameters,
             std::uint32_t worker, ClientSums& sums)
      : session_(std::move(session)),
        tables_(tables),
        source_(parameters, worker),
        sums_(sums) {}

  ~BankClient() override {
    sums_.deposited.fetch_add(deposited_, std::memory_order_relaxed);
    sums_.requests.fetch_add(requests_, std::memory_order_relaxed);
    sums_.distributed.fetch_add(distributed_, std::memory_order_relaxed);
  }

  Request run_one() override {
    const BankRequest request = source_.next();
    const auto type = static_cast<std::uint8_t>(request.type);
    store::Footprint footprint{request.first.partition};
    if (has_two(request.type)) footprint.add(request.second.partition);
    BankReply reply;
    const Ending ending = session_->run(
        footprint, aborts(type), [&]<typename T>(T& t) { return Transactions<S, T>(t, tables_, request).run(reply); });
    if (ending == Ending::kCommitted) deposited_ += reply.deposited;
    ++requests_;
    distributed_ += footprint.size() > 1 ? 1 : 0;
    return {type, ending};
  }

  void idle() override { session_->collect(); }

 private:
  std::unique_ptr<typename S::Session> session_;
  const Tables<S>& tables_;
  RequestSource source_;
  ClientSums& sums_;
  Cents deposited_ = 0;
  std::uint64_t requests_ = 0, distributed_ = 0;
};

}  // namespace granary::bench::smallbank
