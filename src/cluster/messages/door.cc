#include "src/cluster/messages/door.h"

#include <thread>

#include "src/base/test_hooks.h"

namespace granary::cluster::messages {

void Door::open(Service& service, rdma::Endpoint& endpoint) {
  service_ = &service;
  endpoint_ = &endpoint;
  inside_.store(Inside::kNobody, std::memory_order_release);
}

void Door::close() {
  for (;;) {
    Inside seen = Inside::kNobody;
    if (inside_.compare_exchange_strong(seen, Inside::kClosed, std::memory_order_acquire)) return;
    if (seen == Inside::kClosed) return;
    std::this_thread::yield();
  }
}

Service* Door::enter() {
  Inside nobody = Inside::kNobody;
  const bool in = inside_.compare_exchange_strong(nobody, Inside::kWorker, std::memory_order_acquire);
  return in || (base::injected("enter-while-served") && nobody == Inside::kBackstop) ? service_ : nullptr;
}

void Door::leave(bool rouse) {
  const Inside was = inside_.exchange(Inside::kNobody, std::memory_order_release);
  if (rouse || (was == Inside::kWorkerAsked && !base::injected("forget-who-asked"))) endpoint_->rouse();
}

bool Door::enter_or_ask() {
  for (;;) {
    Inside seen = Inside::kNobody;
    if (inside_.compare_exchange_strong(seen, Inside::kBackstop, std::memory_order_acquire)) return true;
    if (seen == Inside::kWorkerAsked) return false;
    if (seen == Inside::kWorker &&
        inside_.compare_exchange_strong(seen, Inside::kWorkerAsked, std::memory_order_relaxed)) {
      return false;
    }
    if (seen == Inside::kClosed || seen == Inside::kBackstop) return false;
  }
}

void Door::leave_as_backstop() { inside_.store(Inside::kNobody, std::memory_order_release); }

}  // namespace granary::cluster::messages
