#include "src/cluster/messages/service_thread.h"

#include "src/base/threads.h"
#include "src/base/tsc_clock.h"

namespace granary::cluster::messages {

ServiceThread::ServiceThread(Service& service, rdma::Endpoint& endpoint, txn::WorkerCore& worker)
    : service_(service),
      endpoint_(endpoint),
      worker_(worker),
      sleeper_(endpoint, service.receivers()),
      thread_([this] { run(); }) {}

ServiceThread::~ServiceThread() {
  stopping_.store(true, std::memory_order_release);
  endpoint_.rouse();
  thread_.join();
}

void ServiceThread::run() {
  base::name_thread("gr-service");
  worker_.attach();
  for (std::uint32_t turn = 0; !stopping_.load(std::memory_order_acquire);) {
    if (service_.step(base::monotonic_us())) {
      turn = 0;
      continue;
    }
    sleeper_.limit(service_.most_sleep_us());
    sleeper_.pause(turn++);
    sleeps_.store(sleeper_.counts().sleeps, std::memory_order_relaxed);
  }
  worker_.detach();
}

}  // namespace granary::cluster::messages
